"""Pad rows of a bound batch: they hold the `Pad` of each field, so that they count for nothing (case S3)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor, unpad_dataproto
from batchpact.schemas import BatchSchema, Fill, Jagged, Key, Meta, NonTensor, Pad
from tests.dataproto.policies import OPTIONAL, rollout, rollouts, snapshot
from tests.dataproto.support import function_refuses, jagged, law, plain, refuses


def field(annotation: Any) -> type[BatchSchema]:
    class One(BatchSchema):
        x: annotation

    return One


# --- neutral ----------------------------------------------------------------------------------------------------------


def test_pad_rows_hold_the_value_of_each_field_and_copies_of_the_rest() -> None:
    data = rollout(3)
    before = snapshot(data)

    padded, size = pad_dataproto_to_divisor(data, 5)

    assert size == 2
    assert padded.batch["prompts"][3:].tolist() == [[0, 0]] * 2
    assert padded.batch["input_ids"][3:].tolist() == [[0] * 5] * 2
    assert padded.batch["scores"][3:].tolist() == [[-1.0] * 3] * 2
    turns = [row.tolist() for row in data.batch["turns"].unbind(0)]
    assert [row.tolist() for row in padded.batch["turns"].unbind(0)] == [
        *turns,
        *([-1] * len(row) for row in turns[:2]),  # as long as the rows that they copy
    ]
    assert padded.batch["extra"][3:].tolist() == data.batch["extra"][:2].tolist()
    assert list(padded.non_tensor_batch["uid"]) == ["0-0", "0-1", "0-2", "", ""]
    assert padded.non_tensor_batch["acc"][3:].tolist() == [0.0, 0.0]
    assert list(padded.non_tensor_batch["group"]) == ["g0", "g0", "g1", "g0", "g0"]
    assert plain(padded[:3]) == plain(data)
    assert snapshot(data) == before


def test_padding_in_place_is_neutral_too() -> None:
    data = rollout(2)

    data.padding(2, "first")

    assert data.batch["responses"][2:].tolist() == [[0] * 3] * 2
    assert list(data.non_tensor_batch["uid"]) == ["0-0", "0-1", "", ""]
    assert plain(data[:2]) == plain(rollout(2))


def test_an_unbound_batch_is_padded_with_copies() -> None:
    """As in verl, where nothing says what is neutral."""
    padded, _ = pad_dataproto_to_divisor(DataProto.from_dict({"x": torch.tensor([3, 4])}, {"uid": ["a", "b"]}), 3)

    assert padded.batch["x"].tolist() == [3, 4, 3]
    assert list(padded.non_tensor_batch["uid"]) == ["a", "b", "a"]


@law
@given(rollouts(), st.integers(1, 7), st.data())
def test_unpadding_undoes_padding_after_any_reordering(data: DataProto, divisor: int, draw: st.DataObject) -> None:
    before = snapshot(data)
    padded, size = pad_dataproto_to_divisor(data, divisor)
    assert snapshot(unpad_dataproto(padded, size)) == before

    order = draw.draw(st.permutations(range(len(padded))))
    padded.reorder(order)

    kept = [row for row in order if row < len(data)]
    assert snapshot(unpad_dataproto(padded, size)) == snapshot(data[kept])
    assert snapshot(data) == before


@law
@given(rollouts(least=1), st.integers(1, 4))
def test_a_padded_batch_is_cut_joined_and_unpadded(data: DataProto, parts: int) -> None:
    padded, size = pad_dataproto_to_divisor(data, parts)

    joined = DataProto.concat(padded.chunk(parts))

    assert snapshot(joined) == snapshot(padded)
    assert snapshot(unpad_dataproto(joined, size)) == snapshot(data)


def test_pad_rows_of_filled_rows_are_as_absent_as_these() -> None:
    parts = [rollout(1, seed=1, optional=[]), rollout(2, seed=2, optional=list(OPTIONAL))]
    data = DataProto.concat(parts)

    padded, size = pad_dataproto_to_divisor(data, 5)

    assert padded.presence("scores").tolist() == [False, True, True, False, True]
    assert snapshot(unpad_dataproto(padded, size)) == snapshot(data)


# --- values and dtypes ------------------------------------------------------------------------------------------------

HELD: dict[str, tuple[Any, Any, Any]] = {
    "-inf": (Annotated[Float[Tensor, "batch 1"], Pad(float("-inf"))], torch.ones(1, 1), [float("-inf")]),
    "NaN": (Annotated[Float[Tensor, "batch"], Pad(float("nan"))], torch.ones(1).bfloat16(), float("nan")),
    "float8": (Annotated[Float[Tensor, "batch"], Pad(0)], torch.ones(1).to(torch.float8_e4m3fn), 0.0),
    "truth": (Annotated[Bool[Tensor, "batch 2"], Pad(False)], torch.ones(1, 2, dtype=torch.bool), [False, False]),
    "integer": (Annotated[Integer[Tensor, "batch"], Pad(-100)], torch.ones(1, dtype=torch.int8), -100),
    "no element": (Annotated[Float[Tensor, "batch 0"], Pad(1)], torch.ones(1, 0), []),
    "object": (Annotated[NonTensor[Any], Pad(None)], column([{"a": 1}]), None),
    "text": (Annotated[NonTensor[Any], Pad("")], np.array(["a"]), ""),
    "float column": (Annotated[NonTensor[Any], Pad(float("nan"))], np.ones(1, np.float32), float("nan")),
    "matrix": (Annotated[NonTensor[Any], Pad(0)], np.ones((1, 2), np.int8), [0, 0]),
    "big end": (Annotated[NonTensor[Any], Pad(3)], np.ones(1, ">i4"), 3),
}


@pytest.mark.parametrize(("annotation", "value", "held"), HELD.values(), ids=HELD.keys())
def test_a_field_holds_the_value_in_its_own_dtype(annotation: Any, value: Any, held: Any) -> None:
    tensors, columns = ({"x": value}, {}) if isinstance(value, torch.Tensor) else ({}, {"x": value})
    data = DataProto.from_dict(tensors, columns).bind(field(annotation))
    before = plain(data)

    padded, _ = pad_dataproto_to_divisor(data, 2)

    made = padded.stores().find("x")[1]  # type: ignore[index]
    assert made.dtype == value.dtype  # type: ignore[attr-defined]
    assert repr(made[1].tolist() if hasattr(made[1], "tolist") else made[1]) == repr(held)  # type: ignore[index]
    assert plain(data) == before
    assert plain(unpad_dataproto(padded, 1)) == before


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "too large": (
        Annotated[Integer[Tensor, "batch"], Pad(300)],
        torch.ones(1, dtype=torch.uint8),
        "Pad(300) for u8[1]",
    ),
    "negative": (Annotated[Integer[Tensor, "batch"], Pad(-1)], torch.ones(1, dtype=torch.uint8), "Pad(-1) for u8[1]"),
    "a wrapped column": (Annotated[NonTensor[Any], Pad(300)], np.ones(1, np.uint8), "Pad(300) for uint8[1]"),
    "a cut float": (Annotated[NonTensor[Any], Pad(0.5)], np.ones(1, np.int64), "Pad(0.5) for int64[1]"),
    "infinity": (Annotated[NonTensor[Any], Pad(float("inf"))], np.ones(1, np.int64), "Pad(inf) for int64[1]"),
    "a number as text": (Annotated[NonTensor[Any], Pad(0)], np.array(["a"]), "Pad(0) for str32[1]"),
    "a number as truth": (Annotated[NonTensor[Any], Pad(2)], np.array([True]), "Pad(2) for bool[1]"),
}


@pytest.mark.parametrize(("annotation", "value", "actual"), REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_the_field_cannot_hold_is_refused(annotation: Any, value: Any, actual: str) -> None:
    tensors, columns = ({"x": value}, {}) if isinstance(value, torch.Tensor) else ({}, {"x": value})
    data = DataProto.from_dict(tensors, columns).bind(field(annotation))
    before = plain(data)
    line = f"BP045 store  x  {actual}; a value that the field can hold as it is"

    with function_refuses("pad_dataproto_to_divisor", line):
        pad_dataproto_to_divisor(data, 2)
    with refuses("padding", line):
        data.padding(1)

    assert plain(data) == before
    assert pad_dataproto_to_divisor(data, 1)[1] == 0  # nothing is written where nothing is padded


@pytest.mark.parametrize(
    ("value", "cells", "kind"),
    [
        ("", np.ones(1), "float64[1]"),
        (None, np.ones(1, np.int8), "int8[1]"),
        ("<none>", np.array(["ab"]), "str64[1]"),
        (None, np.array(["a"]), "str32[1]"),
    ],
    ids=repr,
)
def test_a_column_of_objects_is_the_way_out(value: Any, cells: Any, kind: str) -> None:
    schema = field(Annotated[NonTensor[Any], Pad(value)])
    data = DataProto.from_dict({}, {"x": cells}).bind(schema)

    with function_refuses(
        "pad_dataproto_to_divisor",
        f"BP045 store  x  Pad({value!r}) for {kind}; a value that the field can hold as it is; a column of objects "
        "holds any value: column(values)",
    ):
        pad_dataproto_to_divisor(data, 2)

    data.non_tensor_batch["x"] = column(cells.tolist())
    assert pad_dataproto_to_divisor(data, 2)[0].non_tensor_batch["x"].tolist() == [*cells.tolist(), value]


def test_every_field_that_cannot_hold_its_value_is_named() -> None:
    class Two(BatchSchema):
        a: Annotated[Integer[Tensor, "batch"], Pad(300)]
        b: Annotated[NonTensor[Any], Pad(0.5)]
        c: Annotated[NonTensor[Any], Pad(0.5)]

    data = DataProto.from_dict(
        {"a": torch.ones(1, dtype=torch.uint8)}, {"b": np.ones(1, np.int8), "c": np.ones(1)}
    ).bind(Two)

    with function_refuses(
        "pad_dataproto_to_divisor",
        "BP045 store  a  Pad(300) for u8[1]; a value that the field can hold as it is",
        "BP045 store  b  Pad(0.5) for int8[1]; a value that the field can hold as it is",
    ):
        pad_dataproto_to_divisor(data, 2)


# --- nothing else is written into -------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", [True, False])
def test_pad_rows_have_no_gradient(leaf: bool) -> None:
    """They are no copies any more: what happens to them is nothing to the rows that they were made of."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    data = DataProto.from_dict({"x": x if leaf else x * 1}).bind(field(Annotated[Float[Tensor, "batch"], Pad(0)]))

    padded, _ = pad_dataproto_to_divisor(data, 3)
    (padded.batch["x"] * torch.tensor([1.0, 10.0, 100.0])).sum().backward()

    assert padded.batch["x"].tolist() == [1.0, 2.0, 0.0]
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 10.0]


def test_jagged_fields_still_share_their_offsets() -> None:
    class Ragged(BatchSchema):
        x: Annotated[Integer[Tensor, "batch turn"], Jagged("turn"), Pad(0)]
        y: Annotated[Integer[Tensor, "batch turn"], Jagged("turn")]

    x = jagged([1, 2], [3])
    y = torch.nested.nested_tensor_from_jagged(x.values() * 10, x.offsets())

    padded, _ = pad_dataproto_to_divisor(DataProto.from_dict({"x": x, "y": y}).bind(Ragged), 3)

    both = padded.batch["x"] + padded.batch["y"]  # torch adds what shares its offsets
    assert [row.tolist() for row in both.unbind(0)] == [[11, 22], [33], [10, 20]]


def test_an_array_in_meta_is_left_alone() -> None:
    class Either(BatchSchema):
        x: Annotated[Meta[Any] | Float[Tensor, "batch"], Pad(0)]

    array = np.ones(3)
    data = DataProto.from_dict({"y": torch.ones(1)}, meta_info={"x": array}).bind(Either)

    pad_dataproto_to_divisor(data, 3)

    assert array.tolist() == [1.0, 1.0, 1.0]


def test_keys_and_fills_beside_pads() -> None:
    class Keyed(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        acc: Annotated[NonTensor[Any], Fill(None), Pad(None)] | None = None

    one = DataProto.from_dict({}, {"uid": ["a", "b"]}).bind(Keyed)
    two = DataProto.from_dict({}, {"uid": ["c"], "acc": [1.0]}).bind(Keyed)

    padded, _ = pad_dataproto_to_divisor(DataProto.concat([one, two]), 5)

    assert list(padded.non_tensor_batch["uid"]) == ["a", "b", "c", "a", "b"]
    assert list(padded.non_tensor_batch["acc"]) == [None, None, 1.0, None, None]
    padded.bind(Keyed)
    with pytest.raises(Exception, match="rows 0, 3, and 1 other key like it"):
        DataProto.from_dict({}, {"uid": list(padded.non_tensor_batch["uid"])}).bind(Keyed)
