"""The source of stages and of their pipeline."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from batchpact.contracts.inferring.drafted import SCHEMAS, Drafted, quoted
from batchpact.contracts.inferring.source import WIDTH, docstring, imports_source, schema_source
from batchpact.contracts.tracing.stages import StageDraft

_CONTRACTS = "batchpact.contracts"


def pipeline_source(name: str, inputs: Sequence[Drafted], stages: Sequence[StageDraft], outputs: Sequence[str]) -> str:
    """The source of a module with all stages, and the pipeline that they make.

    Args:
        name: the name of the pipeline.
        inputs: the fields that it starts with.
        stages: the stages, in their order.
        outputs: the keys that nobody reads.
    """
    fields = [*inputs, *(field for stage in stages for field in (*stage.reads, *stage.writes))]
    imports = {pair for field in fields if field.kinds for pair in field.imports}
    imports |= {pair for stage in stages for pair in stage.imports}
    imports |= {(SCHEMAS, "BatchSchema"), (SCHEMAS, "StageSchema"), (_CONTRACTS, "Pipeline")}
    if any(stage.when for stage in stages):
        imports |= {(_CONTRACTS, "when"), (SCHEMAS, "config")}
    taken = {imported for _, imported in imports} | {"Inputs", name}
    for stage in stages:
        while stage.name in taken:
            stage.name += "Stage"
        taken.add(stage.name)
    lines = [*imports_source(imports), "", "", *schema_source("Inputs", "What the loop starts with: a draft.", inputs)]
    for stage in stages:
        lines = [*_without_end(lines), "", "", *_stage(stage)]
    return "\n".join([*_without_end(lines), "", "", *_pipeline(name, stages, outputs)]) + "\n"


def _stage(stage: StageDraft) -> list[str]:
    lines = [f"class {stage.name}(StageSchema):", *docstring(stage.description, "    ")]
    for comment in stage.comments:
        lines += textwrap.wrap(comment, WIDTH, initial_indent="    # ", subsequent_indent="    # ")
    lines += [f"    {fact}" for fact in stage.facts]
    if stage.comments or stage.facts:
        lines.append("")
    for name, fields in (("Reads", stage.reads), ("Writes", stage.writes)):
        if any(field.kinds or field.comments for field in fields):
            lines += [*schema_source(name, "", fields, "    "), ""]
    return _without_end(lines)


def _pipeline(name: str, stages: Sequence[StageDraft], outputs: Sequence[str]) -> list[str]:
    lines = [f"{name} = Pipeline(", f"    {quoted(name)},", "    inputs=Inputs,", "    stages=["]
    for stage in stages:
        lines += _planned(stage)
    lines.append("    ],")
    if outputs:
        written = f"    outputs=[{', '.join(map(quoted, outputs))}],"
        wrapped = ["    outputs=[", *(f"        {quoted(key)}," for key in outputs), "    ],"]
        lines += [written] if len(written) <= WIDTH else wrapped
    return [*lines, ")"]


def _planned(stage: StageDraft) -> list[str]:
    """A stage in the list of a pipeline."""
    if not stage.when:
        return [f"        {stage.name},"]
    line, inside = f"        when({stage.when}, {stage.name}),", f"            {stage.when}, {stage.name}"
    if len(line) <= WIDTH:
        return [line]
    split = [inside] if len(inside) <= WIDTH else [f"            {stage.when},", f"            {stage.name},"]
    return ["        when(", *split, "        ),"]


def _without_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines
