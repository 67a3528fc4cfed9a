"""Union of other rows: refused by their number, with the factor, and by the input rows that they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import plain, refuses


def tensor(**tensors: torch.Tensor) -> DataProto:
    return DataProto.from_dict(tensors)


def columns(**cells: Any) -> DataProto:
    return DataProto.from_dict(non_tensors=cells)


def meta(**values: Any) -> DataProto:
    return DataProto(meta_info=values)


@pytest.mark.parametrize(
    ("left", "right", "line"),
    [
        (
            128,
            640,
            "BP016 rows  batch  128 rows on the left, 640 on the right; a union joins fields of the same rows; "
            "640 is 5 times 128: a repeat(5) of the left side is missing?",
        ),
        (
            6,
            2,
            "BP016 rows  batch  6 rows on the left, 2 on the right; a union joins fields of the same rows; 6 is 3 "
            "times 2: a repeat(3) of the right side is missing?",
        ),
        (10, 12, "BP016 rows  batch  10 rows on the left, 12 on the right; a union joins fields of the same rows"),
        (0, 3, "BP016 rows  batch  0 rows on the left, 3 on the right; a union joins fields of the same rows"),
    ],
)
@pytest.mark.parametrize("on_conflict", ["error", "left", "right"])
def test_other_rows_are_refused_with_the_factor(left: int, right: int, line: str, on_conflict: Any) -> None:
    """Case R1: both sizes, the factor, and what was forgotten."""
    prompts = tensor(prompts=torch.ones(left))

    with refuses("union", line):
        prompts.union(columns(responses=["text"] * right), on_conflict=on_conflict)

    assert plain(prompts) == plain(tensor(prompts=torch.ones(left)))


def test_rows_of_another_order_are_refused_by_their_origin() -> None:
    left, right = tensor(x=torch.arange(3)), tensor(y=torch.arange(3))
    left._marks, right._marks = RowMarks(np.array([0, 1, 2])), RowMarks(np.array([0, 2, 1]))

    with refuses(
        "union",
        "BP016 rows  batch  row 1 is input row 1 on the left and input row 2 on the right; a union joins fields of the "
        "same rows; one side was reordered or selected; do the same to the other",
    ):
        left.union(right)

    right.reorder([0, 2, 1])
    assert left.union(right).batch is not None


def test_origins_are_compared_where_both_sides_have_rows_that_know_them() -> None:
    left = tensor(x=torch.arange(3))
    left._marks = RowMarks(np.array([2, 1, 0]))
    unknown, empty = tensor(y=torch.arange(3)), meta(k=1)
    empty._marks = RowMarks(np.array([0, 1]))

    assert len(left.union(unknown).union(empty)) == 3
