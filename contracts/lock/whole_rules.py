"""The rules for stages and pipelines as wholes: their facts, their order, what is there and what is gone."""

from __future__ import annotations

from batchpact.contracts.lock.change import both, new_data, old_data, pipeline, rule, safe

STAGE_RULES = (
    rule("stage-added", "stage", "A stage was added.", whole=safe("nobody knows it yet")),
    rule(
        "stage-removed",
        "stage",
        "A stage was removed.",
        whole=new_data("old readers of what it wrote do not find it"),
    ),
    rule(
        "stage-renamed",
        "text",
        "A stage has another name.",
        whole=safe("the name stands in messages and figures; batches are the same"),
    ),
    rule(
        "contract-moved",
        "text",
        "A stage or a schema is defined under another name or in another module.",
        whole=safe("batches are the same; only imports have to follow"),
    ),
    rule(
        "rows-changed",
        "stage",
        "A stage does something else to the rows of a batch.",
        whole=both("whoever joins its result by the other fact joins the wrong rows, or is refused"),
    ),
    rule(
        "drop-added",
        "stage",
        "A stage drops a field that it left in the batch.",
        whole=new_data("old readers behind it that need the field do not find it"),
    ),
    rule(
        "drop-removed",
        "stage",
        "A stage leaves a field in the batch that it dropped.",
        whole=safe("readers that do not ask for it do not see it"),
    ),
    rule(
        "pad-safe-withdrawn",
        "stage",
        "A stage no longer takes rows that are marked as padding.",
        whole=old_data("batches that old callers padded are refused"),
    ),
    rule(
        "pad-safe-declared", "stage", "A stage takes rows that are marked as padding.", whole=safe("more is accepted")
    ),
    rule(
        "graph-allowed",
        "stage",
        "Results may carry an autograd graph.",
        whole=new_data("old readers keep the graph alive, or cannot ship it"),
    ),
    rule("graph-refused", "stage", "Results may no longer carry an autograd graph.", whole=safe("values are the same")),
    rule(
        "layouts-narrowed",
        "stage",
        "A stage works on fewer layouts.",
        whole=old_data("what old writers wrote may have another layout"),
    ),
    rule("layouts-widened", "stage", "A stage works on more layouts.", whole=safe("more is accepted")),
    rule("schema-added", "stage", "A schema was added.", whole=safe("nothing keeps to it yet")),
    rule("schema-removed", "stage", "A schema was removed.", whole=safe("nothing is held to it any more")),
    rule(
        "description-changed",
        "text",
        "A description has other words.",
        whole=safe("descriptions are for people"),
    ),
)
"""Every rule that is about a stage or a stand-alone schema as a whole."""

PIPELINE_RULES = (
    rule("pipeline-added", "pipeline", "A pipeline was added.", whole=safe("nobody runs it yet")),
    rule("pipeline-removed", "pipeline", "A pipeline was removed.", whole=pipeline("whoever runs it does not find it")),
    rule(
        "pipeline-broken",
        "pipeline",
        "The check of a pipeline finds errors, and found none before.",
        whole=pipeline("its stages do not fit together; `batchpact check` says where"),
    ),
    rule("output-added", "pipeline", "A pipeline promises one more output.", whole=safe("more is promised")),
    rule(
        "output-removed",
        "pipeline",
        "A pipeline no longer promises an output.",
        whole=new_data("old readers of its result may not find it"),
    ),
    rule(
        "pipeline-stage-added",
        "pipeline",
        "A pipeline has one more stage.",
        whole=safe("it is upgraded as one; the check says whether the stages fit"),
    ),
    rule(
        "pipeline-stage-removed",
        "pipeline",
        "A pipeline has one stage less.",
        whole=safe("it is upgraded as one; the check says whether the stages fit"),
    ),
    rule(
        "pipeline-stage-replaced",
        "pipeline",
        "Another stage stands in a pipeline under the same name.",
        whole=safe("it is upgraded as one; the check says whether the stages fit"),
    ),
    rule(
        "pipeline-reordered",
        "pipeline",
        "The stages of a pipeline run in another order.",
        whole=safe("it is upgraded as one; the check says whether the stages fit"),
    ),
    rule(
        "pipeline-condition-changed",
        "pipeline",
        "A stage of a pipeline runs in other configurations.",
        whole=safe("it is upgraded as one; the check says whether the stages fit"),
    ),
    rule(
        "constraints-narrowed",
        "pipeline",
        "A pipeline promises to run in fewer configurations.",
        whole=pipeline("configurations that were proved are not looked at any more"),
    ),
    rule(
        "constraints-widened",
        "pipeline",
        "A pipeline may run in more configurations.",
        whole=safe("the check looks at them, too"),
    ),
    rule(
        "constraints-replaced",
        "pipeline",
        "A pipeline may run in other configurations.",
        whole=pipeline("configurations that were proved are not looked at any more"),
    ),
)
"""Every rule that is about a pipeline."""
