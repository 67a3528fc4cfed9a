"""The static check: every read is written before, in the same place, as what it is read as."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from jaxtyping import Float, Float32, Int64, Shaped
from torch import Tensor

from batchpact.contracts import Pipeline, Report
from batchpact.contracts.proof.flow import check_flow
from batchpact.schemas import Arg, BatchSchema, From, Jagged, Meta, NonTensor, PipelineSpec
from batchpact.schemas.rl import grpo
from tests.contracts.plans import PerRow, PerToken, declare, findings, report

MAKE = declare("MakeScores", {}, {"scores": PerToken})
USE = declare("UseScores", {"scores": PerToken}, {"total": PerRow})
MISSING = 'BP001 missing  use_scores: scores  declared f32 "batch response"; '
GRPO = (
    grpo.Generate,
    grpo.ScoreAnswers,
    grpo.ComputeOldLogProb,
    grpo.ComputeRefLogProb,
    grpo.KlInReward,
    grpo.ComputeAdvantage,
    grpo.UpdateActor,
)


# --- healthy ---------------------------------------------------------------------------------------------------------


def test_the_stages_of_grpo_have_no_findings() -> None:
    pipeline = Pipeline("grpo", inputs=grpo.PromptBatch, stages=GRPO, outputs=("metrics", "returns"))

    assert pipeline.check().findings == ()
    assert str(pipeline.check()).startswith("pipeline 'grpo': 7 stages, ")
    assert str(pipeline.check()).endswith(" fields, no problems")


@pytest.mark.parametrize("left_out", range(7))
def test_no_stage_of_grpo_is_there_for_nothing(left_out: int) -> None:
    """Without one of them something is missing: but for the reference, which the loss can do without."""
    stages = [stage.__batchpact__ for at, stage in enumerate(GRPO) if at != left_out]
    inputs = grpo.PromptBatch.__batchpact__.spec
    spec = PipelineSpec(name="grpo", inputs=inputs, stages=tuple(stages), outputs=("metrics",))

    missing = {finding.field for finding in check_flow(spec, []) if finding.code == "BP001"}
    assert missing
    assert missing <= {field.key for field in GRPO[left_out].__batchpact__.writes.fields}


def test_what_is_read_may_be_rewritten() -> None:
    turn = declare("Turn", {"scores": PerToken}, {"scores": PerRow})

    assert report({}, MAKE, turn, declare("Use", {"scores": PerRow})).findings == ()


@pytest.mark.parametrize(
    "reads",
    [
        {"weight": Arg[float]},
        {"weight": Annotated[Arg[float], From("loss.weight")]},
        {"weight": Annotated[Meta[float], From("loss.weight")]},
        {"weight": PerRow | None},
    ],
    ids=["an argument", "a configured argument", "configured meta", "an optional field"],
)
def test_what_need_not_be_written_is_not_missing(reads: Any) -> None:
    assert report({"x": PerRow}, declare("Use", reads)).findings == ()


# --- missing ---------------------------------------------------------------------------------------------------------


def test_a_field_that_is_written_later() -> None:
    assert findings({"x": PerRow}, USE, MAKE) == [
        MISSING + "nothing before writes it; 'make_scores' writes it, and comes later"
    ]


def test_a_field_that_only_its_own_reader_writes() -> None:
    normalise = declare("Normalise", {"scores": PerToken}, {"scores": PerToken})

    assert findings({"x": PerRow}, normalise) == [
        'BP001 missing  normalise: scores  declared f32 "batch response"; '
        "nothing before writes it, and no known stage does"
    ]


def test_a_field_of_a_stage_that_is_not_in_the_pipeline() -> None:
    assert findings({"x": PerRow}, USE, known=(MAKE,)) == [
        MISSING + "nothing before writes it; 'make_scores' (trainer.MakeScores) would, and is not in the pipeline"
    ]


def test_a_field_of_many_stages_that_are_not_in_the_pipeline() -> None:
    many = tuple(declare(f"Make{at}", {}, {"scores": PerToken}) for at in range(5))

    assert findings({"x": PerRow}, USE, known=many) == [
        MISSING + "nothing before writes it; 'make0' (trainer.Make0), 'make1' (trainer.Make1), "
        "'make2' (trainer.Make2) and 2 more would, and are not in the pipeline"
    ]


@pytest.mark.parametrize(
    ("inputs", "stages", "near"),
    [
        ({"score": PerToken}, (), "; closest name: 'score', in the inputs"),
        ({}, (declare("Judge", {}, {"score": PerToken}),), "; closest name: 'score', written by 'judge'"),
        ({"x": PerRow}, (), ""),
    ],
    ids=["inputs", "a stage", "nothing"],
)
def test_a_field_that_nobody_writes_and_the_closest_name(inputs: Any, stages: Any, near: str) -> None:
    assert findings(inputs, *stages, USE) == [MISSING + "nothing before writes it, and no known stage does" + near]


def test_an_estimator_that_reads_what_no_stage_writes() -> None:
    """Case M5: every run would die in it, minutes after the start."""
    estimate = declare("OptimalBaseline", {"rewards": PerToken, "sum_pi_squared": PerToken}, {"advantages": PerToken})

    assert findings({"rewards": PerToken}, estimate) == [
        'BP001 missing  optimal_baseline: sum_pi_squared  declared f32 "batch response"; '
        "nothing before writes it, and no known stage does"
    ]


def test_a_field_that_was_dropped() -> None:
    drop = declare("FreeMemory", drops=("scores",))

    assert findings({}, MAKE, drop, USE) == [MISSING + "it was there, and dropped by 'free_memory'"]


def test_a_field_that_was_left_behind_by_new_rows() -> None:
    new = declare("Validate", {}, {"x": PerRow}, rows="new")

    assert findings({}, MAKE, new, USE) == [
        MISSING + "it was there, and left behind by 'validate', which makes new rows"
    ]


def test_a_field_that_is_written_again_is_there_again() -> None:
    drop = declare("FreeMemory", drops=("scores",))

    assert report({}, MAKE, drop, MAKE, USE).findings == ()


@pytest.mark.parametrize(
    ("inputs", "stages", "who"),
    [
        ({"scores": PerToken | None}, (), "the inputs"),
        ({}, (declare("Judge", {}, {"scores": PerToken | None}),), "'judge'"),
    ],
    ids=["inputs", "a stage"],
)
def test_an_optional_write_under_a_required_read(inputs: Any, stages: Any, who: str) -> None:
    assert findings(inputs, *stages, USE) == [
        MISSING + f"{who} may leave it out; make it required there or optional here"
    ]


def test_an_optional_write_over_a_field_that_is_there() -> None:
    """Left out, the field is what it was before."""
    maybe = declare("Maybe", {}, {"scores": PerToken | None})

    assert report({}, MAKE, maybe, USE).findings == ()


def test_an_optional_write_under_a_read_that_the_configuration_fills() -> None:
    configured = Annotated[Meta[float], From("rollout.temperature")]

    assert report({"t": Meta[float] | None}, declare("Use", {"t": configured})).findings == ()


def test_an_output_that_nobody_writes() -> None:
    assert findings({}, MAKE, USE, outputs=("total", "metrics")) == [
        "BP001 missing  outputs: metrics  declared an output of the pipeline; "
        "nothing before writes it, and no known stage does"
    ]


# --- as what it is read ----------------------------------------------------------------------------------------------

PER_ROW, FOR_ALL = "non-tensor, one per row", "meta, one for the batch"


@pytest.mark.parametrize(
    ("written", "read", "finding"),
    [
        (
            Meta[float],
            NonTensor[float],
            "BP003 place  {}  the inputs hold meta float; declared non-tensor, one per row",
        ),
        (
            NonTensor[float],
            Meta[float],
            "BP003 place  {}  the inputs hold non-tensor float; declared meta, one for the batch",
        ),
        (
            Meta[float] | PerRow,
            Meta[float],
            'BP003 place  {}  the inputs hold f32 "batch"; declared meta, one for the batch',
        ),
        (Int64[Tensor, "batch"], PerRow, 'BP005 dtype  {}  the inputs hold i64 "batch", declared f32'),
        (PerRow, Int64[Tensor, "batch"], 'BP005 dtype  {}  the inputs hold f32 "batch", declared i64'),
        (Meta[str], Meta[int], "BP006 type  {}  the inputs hold meta str, declared meta int"),
        (NonTensor[int], NonTensor[str], "BP006 type  {}  the inputs hold non-tensor int, declared non-tensor str"),
        (Meta[int | str], Meta[int], "BP006 type  {}  the inputs hold meta int | str, declared meta int"),
        (PerRow, PerToken, 'BP011 rank  {}  the inputs hold f32 "batch", declared "batch response"'),
        (
            Annotated[PerToken, Jagged("response")],
            PerToken,
            'BP015 layout  {}  the inputs hold f32 "batch response" jagged on response, declared f32 "batch response"',
        ),
        (
            PerToken,
            Annotated[PerToken, Jagged("response")],
            'BP015 layout  {}  the inputs hold f32 "batch response", declared f32 "batch response" jagged on response',
        ),
    ],
)
def test_a_field_that_is_read_as_something_else(written: Any, read: Any, finding: str) -> None:
    found = report({"field": written}, declare("Use", {"field": read}))

    assert str(found).splitlines()[2:] == ["  " + finding.format("use: field")]
    assert not found.ok


@pytest.mark.parametrize(
    ("written", "shown"), [(Float[Tensor, "batch"], 'float "batch"'), (Shaped[Tensor, "batch"], 'any "batch"')]
)
def test_a_dtype_that_may_not_be_the_one_is_a_warning(written: Any, shown: str) -> None:
    found = report({"field": written}, declare("Use", {"field": PerRow}))

    assert str(found).splitlines()[2:] == [f"  BP005 dtype  use: field  the inputs hold {shown}, declared f32 alone"]
    assert (found.ok, found.errors) == (True, ())


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (PerRow, Float[Tensor, "batch"]),
        (PerRow, Shaped[Tensor, "batch"]),
        (PerRow, Meta[float] | PerRow),
        (Meta[int], Meta[float]),
        (NonTensor[bool], NonTensor[int]),
        (Meta[list[int]], Meta[list]),
        (Meta[int], Meta[Any]),
        (Meta[int], Meta[int | str]),
        (PerToken, Float32[Tensor, "batch ..."]),
    ],
)
def test_a_field_that_is_read_as_something_wider(written: Any, read: Any) -> None:
    assert report({"field": written}, declare("Use", {"field": read})).findings == ()


# --- the report ------------------------------------------------------------------------------------------------------


def test_the_whole_report() -> None:
    found = report(
        {"uid": Meta[str], "x": Float[Tensor, "batch"]}, USE, declare("Group", {"uid": NonTensor[str], "x": PerRow})
    )

    assert str(found) == (
        "3 problems in pipeline 'plan' (2 stages)\n\n"
        '  BP001 missing  use_scores: scores  declared f32 "batch response"; '
        "nothing before writes it, and no known stage does\n"
        "  BP003 place    group: uid          the inputs hold meta str; declared non-tensor, one per row\n"
        '  BP005 dtype    group: x            the inputs hold float "batch", declared f32 alone'
    )


def test_findings_say_where_in_data() -> None:
    where = report({"x": PerRow}, USE).findings[0].where

    assert (where.pipeline, where.stage, where.boundary) == ("plan", "use_scores", "reads")


def test_a_pipeline_is_checked_once_and_counts_what_it_checked() -> None:
    class Start(BatchSchema):
        scores: PerToken

    pipeline = Pipeline("plan", inputs=Start, stages=[USE])

    assert pipeline.check() is pipeline.check()
    assert pipeline.check() == Report("pipeline 'plan'", "1 stage, 2 fields")
    assert str(pipeline.check()) == "pipeline 'plan': 1 stage, 2 fields, no problems"


def test_an_output_that_may_be_left_out() -> None:
    maybe = declare("Maybe", {}, {"total": PerRow | None})

    assert findings({}, maybe, outputs=("total",)) == [
        "BP001 missing  outputs: total  declared an output of the pipeline; "
        "'maybe' may leave it out; make it required there"
    ]


def test_jagged_on_another_axis() -> None:
    dims = "batch head length"
    written, read = (Annotated[Float32[Tensor, dims], Jagged(name)] for name in ("length", "head"))

    assert findings({}, declare("Write", {}, {"ids": written}), declare("Read", {"ids": read})) == [
        f'BP015 layout  read: ids  \'write\' writes f32 "{dims}" jagged on length, declared f32 "{dims}" jagged on head'
    ]
    renamed = Annotated[Float32[Tensor, "batch h l"], Jagged("l")]
    assert findings({}, declare("Write", {}, {"ids": written}), declare("Read", {"ids": renamed})) == []


def test_an_argument_that_stands_in_the_batch_is_said() -> None:
    """What one call was told reaches the next ones, as `no_lora_adapter` does in verl's newer trainer."""
    write, read = declare("Ref", {}, {"adapter_off": Meta[bool]}), declare("Values", {"adapter_off": Arg[bool]})

    assert findings({}, write, read) == [
        "BP003 place  values: adapter_off  'ref' writes meta bool; declared argument, passed with the call; "
        "what stands in the batch is not handed out for it; give it by keyword, and write nothing under its name"
    ]
    assert report({}, write, read).ok
    assert findings({}, read, write) == []
