"""The second axis of some fields becomes rows; the others are repeated beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.schemas import BatchSchema, MissingFieldError
from tests.dataproto.support import jagged, plain, refuses


def two() -> DataProto:
    return DataProto.from_dict(
        {"ids": torch.arange(8).reshape(2, 4), "pair": torch.arange(8).reshape(2, 2, 2), "reward": torch.arange(2.0)},
        {"uid": ["a", "b"], "grid": np.arange(8, dtype=np.int16).reshape(2, 4)},
        {"k": 1},
    )


def test_some_fields_are_cut_and_the_others_repeated() -> None:
    data = two()
    before = plain(data)

    made = data.unfold_column_chunks(2, ["ids", "pair", "grid"])

    assert made.batch is not None
    assert made.batch["ids"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert made.batch["pair"].tolist() == [[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]]
    assert made.batch["reward"].tolist() == [0, 0, 1, 1]
    assert made.batch.batch_size == (4,)
    assert made.non_tensor_batch["uid"].tolist() == ["a", "a", "b", "b"]
    assert made.non_tensor_batch["grid"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert made.non_tensor_batch["grid"].dtype == np.int16
    assert made.meta_info == {"k": 1}
    assert made.meta_info is not data.meta_info
    assert plain(data) == before


def test_one_key_may_stand_alone() -> None:
    assert plain(two().unfold_column_chunks(2, "ids")) == plain(two().unfold_column_chunks(2, ["ids"]))


def test_without_keys_everything_is_repeated() -> None:
    assert plain(two().unfold_column_chunks(3)) == plain(two().repeat(3))


@pytest.mark.parametrize("key", ["x", "c"])
def test_a_batch_of_one_field_can_be_cut(key: str) -> None:
    tensors, columns = {"x": torch.arange(4).reshape(2, 2)}, {"c": np.arange(4).reshape(2, 2)}
    data = DataProto.from_dict(tensors if key == "x" else {}, columns if key == "c" else {})

    made = data.unfold_column_chunks(2, [key])

    assert len(made) == 4
    assert dict(made.stores().tensors or made.stores().columns)[key].tolist() == [[0], [1], [2], [3]]  # type: ignore[attr-defined]


def test_a_jagged_field_is_repeated() -> None:
    data = DataProto.from_dict({"x": torch.arange(4).reshape(2, 2), "j": jagged([1, 2], [])})

    made = data.unfold_column_chunks(2, ["x"])

    assert made.batch is not None
    assert [row.tolist() for row in made.batch["j"].unbind(0)] == [[1, 2], [1, 2], [], []]


def test_pad_rows_stay_marked_and_a_schema_stays_behind() -> None:
    class Ids(BatchSchema):
        ids: Int64[Tensor, "batch 4"]

    padded, _ = pad_dataproto_to_divisor(two().bind(Ids), 3)

    made = padded.unfold_column_chunks(2, ["ids"])

    assert made.pad_mask.tolist() == [False] * 4 + [True] * 2
    assert made._bound is None
    assert padded._bound is not None


def test_every_field_that_cannot_be_cut_is_named() -> None:
    data = DataProto.from_dict(
        {"odd": torch.ones(2, 3), "flat": torch.ones(2), "j": jagged([1], [2])}, {"lists": [[1, 2], [3]]}
    )
    expected = "a dense field with a second axis that is a multiple of 2"

    with refuses(
        "unfold_column_chunks",
        f"BP043 split  odd    f32[2, 3]; {expected}",
        f"BP043 split  flat   f32[2]; {expected}",
        f"BP043 split  j      i64[2, jagged]; {expected}",
        f"BP043 split  lists  2 objects; {expected}",
    ):
        data.unfold_column_chunks(2, ["odd", "flat", "j", "lists"])


def test_lists_that_are_equally_long_have_a_second_axis_as_in_verl() -> None:
    data = DataProto.from_dict(non_tensors={"labels": [["a1", ["a2"]], ["b1", ["b2"]]], "uid": ["a", "b"]})

    cut = data.unfold_column_chunks(2, ["labels"])

    assert cut.non_tensor_batch["labels"].tolist() == [["a1"], [["a2"]], ["b1"], [["b2"]]]
    assert cut.non_tensor_batch["uid"].tolist() == ["a", "a", "b", "b"]
    assert data.non_tensor_batch["labels"].shape == (2,)


def test_a_misspelt_key_is_named() -> None:
    with refuses(
        "unfold_column_chunks",
        "BP046 name  id  not in batch; closest name: 'ids'",
        kind=MissingFieldError,
    ):
        two().unfold_column_chunks(2, ["id", "grid"])


@pytest.mark.parametrize("number", [0, 2.0], ids=repr)
def test_the_number_of_parts_is_whole(number: Any) -> None:
    with refuses("unfold_column_chunks", f"BP043 split  n_split  {number!r}; a whole number, 1 or more"):
        two().unfold_column_chunks(number)


def test_object_columns_with_two_axes_can_be_cut() -> None:
    cells = column(["a", "b", "c", "d"]).reshape(2, 2)

    made = DataProto.from_dict({"x": torch.ones(2)}).union(DataProto(non_tensor_batch={"c": cells}))

    assert made.unfold_column_chunks(2, ["c"]).non_tensor_batch["c"].tolist() == [["a"], ["b"], ["c"], ["d"]]
