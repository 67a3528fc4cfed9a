"""Jagged tensors, on axis 1 and 2: rows taken and put together are what a loop over the rows gives."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from batchpact.dataproto import nested
from batchpact.dataproto.rows import Rows, plan_rows
from tests.dataproto.support import jagged, jagged_on_2, law, offsets, plain_tensor


@st.composite
def nested_tensors(draw: st.DrawFn, axis: int | None = None) -> torch.Tensor:
    """`[batch, jagged]`, `[batch, jagged, 2]` or `[batch, 2, jagged]`, with rows of length 0 among them."""
    lengths = draw(st.lists(st.integers(0, 3), max_size=5))
    total = sum(lengths)
    shape = draw(st.sampled_from([(total,), (total, 2), (2, total), (2, total, 3)]))
    ragged = shape.index(total, 1 if len(shape) > 1 and shape[0] == 2 else 0)
    values = torch.arange(torch.Size(shape).numel(), dtype=draw(st.sampled_from([torch.int64, torch.bfloat16])))
    dtype = draw(st.sampled_from([torch.int64, torch.int32]))
    return torch.nested.nested_tensor_from_jagged(
        values.reshape(shape), offsets(lengths).to(dtype), jagged_dim=ragged + 1
    )


def rows_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The reference: values cut by offsets, one row after the other."""
    values, ends = tensor.values(), tensor.offsets().tolist()  # type: ignore[attr-defined]
    axis = tensor._ragged_idx - 1  # type: ignore[attr-defined]
    return [values.narrow(axis, start, stop - start) for start, stop in pairwise(ends)]


def assert_rows(result: torch.Tensor, expected: list[torch.Tensor], like: torch.Tensor) -> None:
    assert result.layout is torch.jagged
    assert result.dtype == like.dtype
    assert result._ragged_idx == like._ragged_idx  # type: ignore[attr-defined]
    assert result.offsets().dtype == like.offsets().dtype  # type: ignore[attr-defined]
    assert [row.tolist() for row in rows_of(result)] == [row.tolist() for row in expected]
    assert [tuple(row.shape) for row in rows_of(result)] == [tuple(row.shape) for row in expected]


@law
@given(nested_tensors(), st.data())
def test_an_index_takes_rows_in_any_order_and_any_number_of_times(tensor: torch.Tensor, data: st.DataObject) -> None:
    rows = rows_of(tensor)
    index = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6)) if rows else []

    taken = nested.take(tensor, plan_rows("op", index, len(rows)))

    assert_rows(taken, [rows[row] for row in index], tensor)


@law
@given(nested_tensors(), st.slices(6))
def test_a_slice_takes_the_rows_of_a_list(tensor: torch.Tensor, cut: slice) -> None:
    rows = rows_of(tensor)

    taken = nested.take(tensor, plan_rows("op", cut, len(rows)))

    assert_rows(taken, rows[cut], tensor)


@law
@given(nested_tensors(), st.integers(1, 3))
def test_cat_puts_the_rows_of_all_parts_together(tensor: torch.Tensor, times: int) -> None:
    joined = nested.cat([tensor] * times, {})

    assert_rows(joined, rows_of(tensor) * times, tensor)


def test_parts_of_other_lengths_are_put_together() -> None:
    one = torch.nested.nested_tensor_from_jagged(torch.arange(3), offsets([1, 2]))
    other = torch.nested.nested_tensor_from_jagged(torch.arange(10, 14), offsets([0, 4]))

    assert [row.tolist() for row in nested.cat([one, other], {}).unbind()] == [[0], [1, 2], [], [10, 11, 12, 13]]


def test_a_slice_is_a_view_of_the_values() -> None:
    tensor = torch.nested.nested_tensor_from_jagged(torch.arange(6), offsets([1, 2, 3]))

    nested.take(tensor, Rows(span=slice(1, 2), length=3)).values().add_(100)

    assert tensor.values().tolist() == [0, 101, 102, 3, 4, 5]


def test_the_gradient_flows_through_rows_and_parts() -> None:
    values = torch.arange(4.0, requires_grad=True)
    tensor = torch.nested.nested_tensor_from_jagged(values, offsets([1, 3]))

    taken = nested.cat(
        [nested.take(tensor, plan_rows("op", [1, 1], 2)), nested.take(tensor, plan_rows("op", slice(1), 2))], {}
    )
    taken.values().sum().backward()

    assert values.grad is not None
    assert values.grad.tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("rows", [[1, 0], slice(0, 1), slice(None)])
def test_a_tensor_with_holes_is_taken_without_them(rows: list[int] | slice) -> None:
    """`narrow` leaves elements between the rows that belong to none."""
    padded = torch.arange(8).reshape(2, 4)
    holey = torch.nested.narrow(
        padded, dim=1, start=torch.tensor([0, 1]), length=torch.tensor([2, 3]), layout=torch.jagged
    )
    assert holey.lengths() is not None

    taken = nested.take(holey, plan_rows("op", rows, 2))

    expected = [[0, 1], [5, 6, 7]]
    assert [row.tolist() for row in taken.unbind()] == (
        [expected[row] for row in rows] if isinstance(rows, list) else expected[rows]
    )


def test_dense_rows_become_a_jagged_tensor() -> None:
    flat = nested.of_rows([torch.tensor([1, 2]), torch.tensor([], dtype=torch.int64), torch.tensor([3])], 1)
    deep = nested.of_rows([torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5], [6]])], 2)

    assert plain_tensor(flat) == plain_tensor(jagged([1, 2], [], [3]))
    assert plain_tensor(deep) == plain_tensor(jagged_on_2([[1, 2], [3, 4]], [[5], [6]]))


def test_what_is_made_of_tensors_that_share_their_offsets_shares_its_own() -> None:
    """Else torch could not add tokens and masks that it could add before."""
    tokens, other = jagged([1, 2], [3], []), jagged([1, 2], [3], [])
    mask = torch.nested.nested_tensor_from_jagged(tokens.values() * 0 + 1, tokens.offsets())  # type: ignore[attr-defined]
    order = plan_rows("op", [2, 0, 0], 3)
    shared: nested.SharedOffsets = {}

    taken = [nested.take(tensor, order) for tensor in (tokens, mask, other)]
    joined = [nested.cat([tensor, tensor], shared) for tensor in (tokens, mask, other)]

    for one, two, three in (taken, joined):
        assert one.offsets() is two.offsets()  # type: ignore[attr-defined]
        assert one.offsets() is not three.offsets()  # type: ignore[attr-defined]
    assert plain_tensor(taken[0] + taken[1]) == plain_tensor(jagged([], [2, 3], [2, 3]))
    assert plain_tensor(joined[0] + joined[1]) == plain_tensor(jagged([2, 3], [4], [], [2, 3], [4], []))


class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what torch is asked to do."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_the_work_does_not_grow_with_the_number_of_rows() -> None:
    def work(rows: int) -> list[int]:
        tensor = jagged(*([1] * (row % 3) for row in range(rows)))
        whole = Rows.span(0, rows)
        counts = []
        for make in (
            lambda: nested.take(tensor, plan_rows("op", slice(None, None, -1), rows)),
            lambda: nested.take(tensor, whole),
            lambda: nested.cat([tensor, tensor], {}),
        ):
            with Counting() as counting:
                make()
            counts.append(counting.count)
        return counts

    assert work(3) == work(300)
