"""The value of a `Fill` in every dtype: as it is, or refused by name, never cast."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Int, Int64, Integer, Shaped
from torch import Tensor

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, Fill, NonTensor
from tests.dataproto.support import plain, refuses


@pytest.mark.parametrize(
    ("annotation", "value", "filled"),
    [
        (Annotated[Float[Tensor, "batch"], Fill(float("-inf"))], torch.ones(1), float("-inf")),
        (Annotated[Float[Tensor, "batch"], Fill(float("nan"))], torch.ones(1).bfloat16(), float("nan")),
        (Annotated[Float[Tensor, "batch"], Fill(2)], torch.ones(1).to(torch.float8_e4m3fn), 2.0),
        (Annotated[Float[Tensor, "batch"], Fill(1.5)], torch.ones(1, requires_grad=True), 1.5),
        (Annotated[Bool[Tensor, "batch"], Fill(False)], torch.tensor([True]), False),
        (Annotated[Int[Tensor, "batch"], Fill(-1.0)], torch.ones(1, dtype=torch.int8), -1),
        (Annotated[NonTensor[Any], Fill(-1)], np.ones(1, np.int16), -1),
        (Annotated[NonTensor[Any], Fill(float("nan"))], np.ones(1, np.float32), float("nan")),
        (Annotated[NonTensor[Any], Fill(True)], np.array([False]), True),
        (Annotated[NonTensor[Any], Fill("longer")], np.array(["a"]), "longer"),
        (Annotated[NonTensor[Any], Fill(0.5)], np.ones((1, 2)), [0.5, 0.5]),
        (Annotated[NonTensor[Any], Fill(None)], column([[1, 2]]), None),
        (Annotated[NonTensor[Any], Fill("x")], column([1]), "x"),
    ],
    ids=repr,
)
def test_a_filled_field_keeps_its_dtype(annotation: Any, value: Any, filled: Any) -> None:
    class Filled(BatchSchema):
        x: Int64[Tensor, "batch"]
        field: annotation | None = None

    base = {"x": torch.zeros(1, dtype=torch.int64)}
    tensors, columns = ({"field": value}, {}) if isinstance(value, torch.Tensor) else ({}, {"field": value})
    one = DataProto.from_dict({**base, **tensors}, columns).bind(Filled)
    two = DataProto.from_dict(base).bind(Filled)

    found = DataProto.concat([two, one]).stores()

    made: Any = found.find("field")[1]  # type: ignore[index]
    assert made.dtype == value.dtype or made.dtype.kind == "U"
    assert repr(made[0].tolist() if hasattr(made[0], "tolist") else made[0]) == repr(filled)
    assert plain(DataProto.from_dict({}, {"f": made[1:]} if columns else {})) == plain(
        DataProto.from_dict({}, {"f": value.astype(made.dtype)} if columns else {})
    )


@pytest.mark.parametrize(
    ("annotation", "value", "line"),
    [
        (Annotated[Integer[Tensor, "batch"], Fill(300)], torch.ones(1, dtype=torch.uint8), "Fill(300) for u8[1]"),
        (Annotated[Integer[Tensor, "batch"], Fill(-1)], torch.ones(1, dtype=torch.uint8), "Fill(-1) for u8[1]"),
        (Annotated[Shaped[Tensor, "batch"], Fill(0.5)], torch.ones(1, dtype=torch.int64), "Fill(0.5) for i64[1]"),
        (Annotated[Shaped[Tensor, "batch"], Fill(2)], torch.tensor([True]), "Fill(2) for bool[1]"),
        (Annotated[Shaped[Tensor, "batch"], Fill(True)], torch.ones(1), "Fill(True) for f32[1]"),
        (Annotated[Float[Tensor, "batch"], Fill(1e39)], torch.ones(1), "Fill(1e+39) for f32[1]"),
        (Annotated[NonTensor[Any], Fill(300)], np.ones(1, np.uint8), "Fill(300) for uint8[1]"),
        (Annotated[NonTensor[Any], Fill(0.5)], np.ones(1, np.int64), "Fill(0.5) for int64[1]"),
        (Annotated[NonTensor[Any], Fill(float("nan"))], np.ones(1, np.int64), "Fill(nan) for int64[1]"),
        (Annotated[NonTensor[Any], Fill(3)], np.array(["a"]), "Fill(3) for str32[1]"),
        (Annotated[NonTensor[Any], Fill(0)], np.array(["2020"], "datetime64[Y]"), "Fill(0) for datetime64[Y][1]"),
    ],
    ids=repr,
)
def test_a_value_that_the_field_cannot_hold_is_refused(annotation: Any, value: Any, line: str) -> None:
    class Filled(BatchSchema):
        x: Int64[Tensor, "batch"]
        field: annotation | None = None

    base = {"x": torch.zeros(1, dtype=torch.int64)}
    tensors, columns = ({"field": value}, {}) if isinstance(value, torch.Tensor) else ({}, {"field": value})
    parts = [DataProto.from_dict({**base, **tensors}, columns).bind(Filled), DataProto.from_dict(base).bind(Filled)]

    with refuses("concat", f"BP045 store  field  {line}; a value that the field can hold as it is"):
        DataProto.concat(parts)


@pytest.mark.parametrize("value", [None, "x"])
def test_a_number_is_no_text_and_an_object_column_is_the_way_out(value: Any) -> None:
    class Filled(BatchSchema):
        x: Int64[Tensor, "batch"]
        field: Annotated[NonTensor[Any], Fill(value)] | None = None
        other: Annotated[NonTensor[Any], Fill(value)] | None = None

    base = {"x": torch.zeros(1, dtype=torch.int64)}
    one = DataProto.from_dict(base, {"field": np.ones(1, np.float32), "other": np.ones(1, np.int8)}).bind(Filled)
    two = DataProto.from_dict(base).bind(Filled)

    way = "a value that the field can hold as it is; a column of objects holds any value: column(values)"
    with refuses(
        "concat",
        f"BP045 store  field  Fill({value!r}) for float32[1]; {way}",
        f"BP045 store  other  Fill({value!r}) for int8[1]; {way}",
    ):
        DataProto.concat([two, one])

    for key in ("field", "other"):
        one.non_tensor_batch[key] = column(one.non_tensor_batch[key])
    assert DataProto.concat([two, one]).non_tensor_batch["field"].tolist() == [value, 1.0]
