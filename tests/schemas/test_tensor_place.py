"""A placement admits the dtypes of its family and the layout that is declared."""

import pytest
import torch
from torch import Tensor

from batchpact.schemas.record import PlaceSpec
from batchpact.schemas.tensor_place import TensorPlace

from .support import floats, jagged, jagged_on_2

DENSE = PlaceSpec(placement="tensor", dtype="float32", dtypes=("float32",), dims="batch response", layout="dense")
JAGGED = DENSE.model_copy(update={"layout": "jagged", "ragged": "response"})


def test_dims_dtypes_and_the_ragged_axis_are_read_once() -> None:
    place = TensorPlace.of(JAGGED)

    assert [dim.text for dim in place.dims] == ["batch", "response"]
    assert place.dtypes == {torch.float32}
    assert place.ragged == 1
    assert TensorPlace.of(DENSE).ragged is None


def test_without_dtypes_every_dtype_is_admitted() -> None:
    place = TensorPlace.of(DENSE.model_copy(update={"dtype": "any", "dtypes": ()}))

    assert torch.float32 in place.dtypes and torch.bool in place.dtypes


@pytest.mark.parametrize(
    ("tensor", "dense", "ragged"),
    [
        (floats(2, 3), True, False),
        (jagged(2, 3), False, True),
        (jagged_on_2(2, 3), False, False),
        (floats(2, 3).to_sparse(), False, False),
    ],
)
def test_the_layout_is_the_declared_one(tensor: Tensor, dense: bool, ragged: bool) -> None:
    assert (TensorPlace.of(DENSE).layout_fits(tensor), TensorPlace.of(JAGGED).layout_fits(tensor)) == (dense, ragged)
