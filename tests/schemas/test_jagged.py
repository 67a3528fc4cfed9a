"""Jagged tensors made of rows and taken apart, with and without holes. `test_nested.py` has their rows."""

from __future__ import annotations

import pytest
import torch

from batchpact.schemas.axes import offsets_of, ragged_axis
from batchpact.schemas.jagged import build, index_of, like, of_rows, offsets_of_lengths, parts


@pytest.mark.parametrize("axis", [1, 2])
def test_what_is_made_of_rows_is_taken_apart_again(axis: int) -> None:
    rows = [torch.arange(2 * n).reshape((n, 2) if axis == 1 else (2, n)) for n in (3, 0, 1)]

    values, offsets, ragged = parts(of_rows(rows, axis))

    assert values.tolist() == torch.cat(rows, dim=axis - 1).tolist()
    assert (offsets.tolist(), ragged) == ([0, 3, 3, 4], axis - 1)


def test_a_tensor_is_ragged_on_the_axis_it_is_built_on() -> None:
    made = build(torch.arange(6).reshape(2, 3), torch.tensor([0, 1, 3]), 1)

    assert ragged_axis(made) == 2
    assert [row.tolist() for row in made.unbind(0)] == [[[0], [3]], [[1, 2], [4, 5]]]


def test_holes_are_left_out() -> None:
    offsets = torch.tensor([0, 3, 5, 6])
    holes = torch.nested.nested_tensor_from_jagged(torch.arange(6), offsets, lengths=torch.tensor([2, 0, 1]))

    values, ends, axis = parts(holes)

    assert (values.tolist(), ends.tolist(), axis) == ([0, 1, 5], [0, 2, 2, 3], 0)
    assert offsets_of(holes) is offsets


def test_an_index_follows_starts_and_lengths() -> None:
    index, offsets = index_of(torch.tensor([4, 0, 9]), torch.tensor([2, 0, 1]))

    assert (index.tolist(), offsets.tolist()) == ([4, 5, 9], [0, 2, 2, 3])
    assert offsets_of_lengths(torch.tensor([], dtype=torch.int32)).tolist() == [0]
    assert offsets_of_lengths(torch.tensor([1], dtype=torch.int32)).dtype is torch.int32


def test_other_values_in_the_same_rows_share_the_offsets() -> None:
    tensor = of_rows([torch.zeros(2), torch.zeros(3)], 1)
    made = like(tensor, torch.arange(5))

    assert offsets_of(made) is offsets_of(tensor)
    assert [row.tolist() for row in made.unbind()] == [[0, 1], [2, 3, 4]]
