"""What is written for nothing: unread values, values replaced unread, and twins that drift apart."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from jaxtyping import Int64
from torch import Tensor

from batchpact.contracts import when
from batchpact.schemas import Key, Merge, Meta, NonTensor, Repeat, SameAs, When, config, present
from tests.contracts.plans import PerRow, PerToken, declare
from tests.contracts.proof.test_flow_conditions import lines, plan

Mask = Int64[Tensor, "batch response"]
Twin = Annotated[Mask, SameAs("response_mask")]
REJECT = config("algorithm.rejection_sampling")

MAKE = declare("Make", {}, {"scores": PerToken})
USE = declare("Use", {"scores": PerToken}, {"total": PerRow})


# --- unread -----------------------------------------------------------------------------------------------------------


def test_a_value_that_nobody_reads_is_a_warning_where_somebody_says_what_is_wanted() -> None:
    extra = declare("Extra", {}, {"notes": PerRow})

    assert lines(plan(MAKE, USE, extra, outputs=["total"])) == [
        "BP061 unread  extra: notes  nobody reads it; what is written is read later; "
        "leave it out, or name it among the outputs of the pipeline"
    ]
    assert lines(plan(MAKE, USE, extra, outputs=["total", "notes"])) == []
    assert lines(plan(MAKE, USE, extra)) == []


def test_a_value_that_is_read_in_one_configuration_is_read() -> None:
    assert lines(plan(MAKE, when(REJECT, USE), declare("End", {}, {"out": PerRow}), outputs=["out"])) != []
    assert not any("scores" in line for line in lines(plan(MAKE, when(REJECT, USE), outputs=["scores"])))


def test_a_field_that_a_condition_asks_for_is_read() -> None:
    flag = declare("Flag", {}, {"truncated": PerRow})

    assert lines(plan(flag, MAKE, when(present("truncated"), USE), outputs=["scores"])) == [
        "BP061 unread  use: total  nobody reads it; what is written is read later; "
        "leave it out, or name it among the outputs of the pipeline"
    ]


def test_what_is_not_written_in_a_configuration_is_not_unread_in_it() -> None:
    notes = declare("Notes", {"scores": PerToken}, {"total": PerRow, "notes": Annotated[PerRow, When(REJECT)]})
    pipeline = plan(MAKE, notes, outputs=["total"])
    on, off = ({"algorithm": {"rejection_sampling": value}} for value in (True, False))

    assert lines(pipeline) == [
        "BP061 unread  notes: notes  nobody reads it; what is written is read later; "
        "leave it out, or name it among the outputs of the pipeline; with algorithm.rejection_sampling=True"
    ]
    assert len(pipeline.check(on).findings) == 1
    assert pipeline.check(off).findings == ()
    assert plan(MAKE, USE, when(REJECT, notes), outputs=["total"]).check(off).findings == ()


def test_where_a_reader_is_missing_anyway_nothing_is_said() -> None:
    assert all("BP061" not in line for line in lines(plan(MAKE, declare("Wrong", {"score": PerToken}), outputs=["x"])))


# --- replaced ---------------------------------------------------------------------------------------------------------


def test_a_value_that_is_replaced_before_anybody_read_it() -> None:
    again = declare("Again", {}, {"scores": PerToken})

    assert lines(plan(MAKE, again, USE)) == [
        "BP062 replaced  again: scores  it replaces what 'make' wrote, which nobody has read; "
        "a value is read before it is replaced; read it, or leave one of the two out"
    ]
    assert lines(plan(MAKE, USE, again)) == []
    assert lines(plan(MAKE, declare("Again", {"scores": PerToken}, {"scores": PerToken}), USE)) == []


def test_it_is_replaced_in_some_configurations() -> None:
    again = declare("Again", {}, {"scores": PerToken})

    (line,) = lines(plan(MAKE, when(~REJECT, USE), again, declare("Read", {"scores": PerToken})))
    assert line.endswith("with algorithm.rejection_sampling=True")


@pytest.mark.parametrize(
    ("inputs", "writes"),
    [
        ({"scores": PerToken}, {"scores": PerToken}),
        ({}, {"scores": PerToken | None}),
    ],
)
def test_inputs_and_optional_writes_replace_nothing_for_certain(inputs: dict[str, Any], writes: dict[str, Any]) -> None:
    first = [] if inputs else [MAKE]

    assert lines(plan(*first, declare("Again", {}, writes), USE, inputs=inputs)) == []


def test_what_is_merged_is_not_replaced() -> None:
    metrics = Annotated[Meta[dict[str, float]], Merge("collect")]
    one, two = (declare(name, {}, {"metrics": metrics}) for name in ("Critic", "Actor"))

    assert lines(plan(one, two, outputs=["metrics"])) == []


# --- twins ------------------------------------------------------------------------------------------------------------

MASKS = declare("Generate", {}, {"response_mask": Mask, "loss_mask": Twin})
REJECTION = declare("RejectionSampling", {"response_mask": Mask}, {"response_mask": Mask})
LOSS = declare("Loss", {"loss_mask": Mask, "response_mask": Mask})


def test_a_twin_that_is_not_rewritten_with_the_other_drifts_apart() -> None:
    assert lines(plan(MASKS, REJECTION, LOSS)) == [
        "BP063 twins  rejection_sampling: response_mask  it is rewritten, and its twin loss_mask is not; "
        "loss_mask has the same values ('generate' wrote it); "
        "write loss_mask in 'rejection_sampling', too, or drop it there"
    ]


def test_twins_that_come_in_drift_apart_too() -> None:
    (line,) = lines(plan(REJECTION, LOSS, inputs={"response_mask": Mask, "loss_mask": Twin}))
    assert line.startswith("BP063 twins  rejection_sampling: response_mask  it is rewritten, and its twin loss_mask")


def test_it_drifts_apart_where_the_stage_runs() -> None:
    (line,) = lines(plan(MASKS, when(REJECT, REJECTION), LOSS))
    assert line.endswith("with algorithm.rejection_sampling=True")


def test_both_twins_rewritten_or_one_dropped_stay_equal() -> None:
    both = declare("Both", {"response_mask": Mask}, {"response_mask": Mask, "loss_mask": Twin})
    dropped = declare("Dropped", {"response_mask": Mask}, {"response_mask": Mask}, drops=("loss_mask",))

    assert lines(plan(MASKS, both, LOSS)) == []
    assert lines(plan(MASKS, dropped, declare("Loss", {"response_mask": Mask}))) == []


def test_the_first_of_two_twins_has_nothing_to_drift_from() -> None:
    one = declare("One", {}, {"response_mask": Mask})

    assert lines(plan(one, declare("Two", {"response_mask": Mask}, {"loss_mask": Twin}), LOSS)) == []


# --- keys -------------------------------------------------------------------------------------------------------------

Uid = Annotated[NonTensor[str], Key()]


@pytest.mark.parametrize(
    ("rows", "refused"), [(Repeat(4), True), ("select", True), ("permute", False), ("same", False)]
)
def test_a_key_that_several_rows_have_is_none(rows: Any, refused: bool) -> None:
    move = declare("Move", {"scores": PerToken}, {"scores": PerToken}, rows=rows)
    use = declare("Use", {"uid": Uid, "scores": PerToken})

    found = lines(plan(move, use, inputs={"uid": Uid, "scores": PerToken}))
    assert found == (
        [
            "BP023 keys  use: uid  'move' makes several rows of one; one row for one key; "
            "where rows may be copies of one another, the field is a Group()"
        ]
        if refused
        else []
    )
