"""Jagged nested tensors at a boundary: lengths that reads bound, rows that move, inputs that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import from_rows, stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Jagged, StageSchema
from tests.contracts.stages import CONTAINERS, Container, in_every_container, refusal, stores_of

Tokens = Annotated[Float32[Tensor, "batch length"], Jagged("length")]


class Shift(StageSchema):
    class Reads(BatchSchema):
        tokens: Tokens

    class Writes(BatchSchema):
        shifted: Tokens


class Choose(Shift):
    rows = "select"


def jagged(*rows: list[float]) -> Tensor:
    return torch.nested.nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def batch_of(container: Container) -> Any:
    tensors = {"tokens": jagged([1.0], [2.0, 3.0, 4.0], [5.0, 6.0]), "others": jagged([1.0, 1.0], [2.0], [3.0])}
    return container(tensors, {}, {})


def rows_of(batch: Any, key: str) -> list[list[float]]:
    return [row.tolist() for row in stores_of(batch).tensors[key].unbind(0)]


@in_every_container
def test_a_result_of_the_same_lengths_passes(container: Container) -> None:
    @stage
    def shift(batch: Shift.Reads) -> Shift.Writes:
        return Shift.Writes(shifted=batch.tokens + 1)

    assert rows_of(shift(batch_of(container)), "shifted") == [[2.0], [3.0, 4.0, 5.0], [6.0, 7.0]]


def test_equal_lengths_of_other_offsets_are_the_same_lengths() -> None:
    @stage
    def shift(batch: Shift.Reads) -> Shift.Writes:
        return Shift.Writes(shifted=jagged([0.0], [0.0, 0.0, 0.0], [0.0, 0.0]))

    assert rows_of(shift(batch_of(CONTAINERS["ours"])), "shifted") == [[0.0], [0.0, 0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("shifted", "text"),
    [
        (
            jagged([0.0], [0.0, 0.0], [0.0, 0.0, 0.0]),
            'BP012 shape  shifted  f32[3, jagged], declared "batch length"; '
            "length=ragged lengths in what the stage read\n\n  dims  batch=3 (shifted)",
        ),
        (torch.zeros(3, 2), 'BP015 layout  shifted  f32[3, 2], declared jagged on "length"'),
    ],
    ids=["other lengths", "dense"],
)
def test_a_result_of_other_lengths_or_another_layout_is_refused(shifted: Tensor, text: str) -> None:
    shift = stage(Shift, name="shift")(lambda data: DataProto.from_dict({"shifted": shifted}))

    assert refusal(lambda: shift(batch_of(CONTAINERS["ours"]))) == (
        f"1 problem where stage 'shift' returns its result\n\n  {text}"
    )


@in_every_container
def test_chosen_rows_bring_lengths_of_their_own(container: Container) -> None:
    """What was read had the lengths of the rows that came in."""

    @stage(Choose)
    def choose(data: Any) -> Any:
        return from_rows(Choose.Writes(shifted=jagged([6.0, 7.0], [2.0])), [2, 0])

    result = choose(batch_of(container))

    assert rows_of(result, "shifted") == [[6.0, 7.0], [2.0]]
    assert rows_of(result, "tokens") == [[5.0, 6.0], [1.0]]
    assert rows_of(result, "others") == [[3.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    "change", [lambda tokens: tokens.mul_(2), lambda tokens: tokens.values().mul_(2)], ids=["itself", "its values"]
)
def test_an_input_that_is_changed_in_place_is_found(change: Callable[[Tensor], object]) -> None:
    @stage(Shift, name="shift")
    def shift(data: DataProto) -> None:
        change(data.batch["tokens"])

    assert refusal(lambda: shift(batch_of(CONTAINERS["ours"]))) == (
        "1 problem where stage 'shift' returns its result\n\n"
        "  BP031 changed  tokens  changed in place; the stage reads it and does not write it; "
        "work on a clone, or declare it in Writes; a tensor that shares its memory may be the one"
    )
