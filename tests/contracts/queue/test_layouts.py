"""Tensors as TransferQueue gives them, and as they are declared."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from batchpact.contracts.queue.layouts import as_dense, as_jagged
from tests.contracts.queue.support import jagged

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")  # strided ones


def as_given(*rows: Tensor) -> Tensor:
    """Rows as TransferQueue packs them."""
    try:
        return torch.nested.as_nested_tensor(list(rows), layout=torch.jagged)
    except RuntimeError:
        return torch.nested.as_nested_tensor(list(rows), layout=torch.strided)


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (2, 3, 4), (3, 0)])
def test_rows_of_one_shape_are_dense(shape: tuple[int, ...]) -> None:
    plain = torch.randn(*shape)

    made = as_dense(as_given(*plain.unbind()))

    assert made.layout is torch.strided
    assert torch.equal(made, plain)


def test_dense_rows_are_a_view() -> None:
    given = as_given(torch.ones(3), torch.ones(3))

    assert as_dense(given).data_ptr() == given.values().data_ptr()


def test_a_value_for_each_row_stays_one() -> None:
    scalars = torch.arange(3.0)

    assert as_dense(scalars) is scalars
    assert as_dense(as_given(*scalars[:, None].unbind())).shape == (3, 1)


def test_rows_of_length_one_are_values_where_a_backend_makes_them_so() -> None:
    given = as_given(*torch.arange(3.0)[:, None].unbind())

    assert torch.equal(as_dense(given, one_each=True), torch.arange(3.0))
    assert as_dense(as_given(torch.ones(2), torch.ones(2)), one_each=True).shape == (2, 2)


def test_rows_of_different_shapes_stay_as_they_are() -> None:
    for given in (as_given(torch.ones(1), torch.ones(3)), as_given(torch.ones(2, 1), torch.ones(2, 3))):
        assert as_dense(given) is given


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("lengths", [[1, 3, 2], [2, 2, 2], [3]])
def test_rows_are_ragged_on_the_declared_axis(axis: int, lengths: list[int]) -> None:
    rows = [torch.randn(size, 4) if axis == 1 else torch.randn(4, size) for size in lengths]

    made = as_jagged(as_given(*rows), axis)

    assert made.layout is torch.jagged
    assert made._ragged_idx == axis
    assert all(torch.equal(one, other) for one, other in zip(made.unbind(), rows, strict=True))


def test_rows_that_do_not_fit_together_stay_as_they_are() -> None:
    given = as_given(torch.ones(2, 1), torch.ones(3, 2))
    scalars = torch.ones(3)

    assert as_jagged(given, 1) is given
    assert as_jagged(scalars, 1) is scalars
    assert jagged(torch.ones(2)).layout is torch.jagged
