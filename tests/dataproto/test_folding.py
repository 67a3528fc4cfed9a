"""Folding rows into groups and back: both stores alike, and the given batch as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Int64
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto, column, fold_batch_dim, pad_dataproto_to_divisor, unfold_batch_dim
from batchpact.schemas import BatchSchema
from tests.dataproto.support import function_refuses, jagged, jagged_on_2, plain


def six() -> DataProto:
    return DataProto.from_dict(
        {"ids": torch.arange(12).reshape(6, 2), "reward": torch.arange(6.0)},
        {"uid": list("abcdef"), "score": np.arange(6, dtype=np.float32), "lists": [[row] for row in range(6)]},
        {"k": [1]},
    )


def test_neighbouring_rows_become_groups() -> None:
    data = six()
    before = plain(data)

    folded = fold_batch_dim(data, 2)

    assert folded.batch is not None
    assert len(folded) == 2
    assert folded.batch.batch_size == (2,)
    assert folded.batch["ids"].tolist() == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]
    assert folded.batch["reward"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert folded.non_tensor_batch["uid"].tolist() == [["a", "b", "c"], ["d", "e", "f"]]
    assert folded.non_tensor_batch["score"].dtype == np.float32
    assert folded.non_tensor_batch["lists"].shape == (2, 3)
    assert folded.non_tensor_batch["lists"][1, 2] == [5]
    assert plain(data) == before
    folded.meta_info["late"] = 1
    assert "late" not in data.meta_info


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_unfolding_gives_the_rows_back(groups: int) -> None:
    folded = fold_batch_dim(six(), groups)
    before = plain(folded)

    assert plain(unfold_batch_dim(folded)) == plain(six())
    assert plain(folded) == before


def test_tensors_are_shared() -> None:
    data = six()
    folded = fold_batch_dim(data, 3)
    assert data.batch is not None
    assert folded.batch is not None

    folded.batch["reward"][0, 0] = 9.0

    assert data.batch["reward"][0] == 9.0


def test_a_folded_batch_is_cut_by_groups() -> None:
    first, second = fold_batch_dim(six(), 2).chunk(2)

    assert plain(unfold_batch_dim(first)) == plain(six()[:3])
    assert plain(unfold_batch_dim(DataProto.concat([first, second]))) == plain(six())


def test_more_axes_can_be_unfolded() -> None:
    data = DataProto.from_dict({"x": torch.arange(24).reshape(2, 3, 4)}, {"c": np.arange(24).reshape(2, 3, 4)})

    unfolded = unfold_batch_dim(data, batch_dims=3)

    assert unfolded.batch is not None
    assert unfolded.batch["x"].tolist() == unfolded.non_tensor_batch["c"].tolist() == list(range(24))
    assert plain(unfold_batch_dim(data, 1)) == plain(data)


def test_a_tensordict_among_the_tensors_is_folded() -> None:
    data = DataProto.from_dict({"nested": TensorDict({"x": torch.arange(4)}, batch_size=[4])})  # type: ignore[dict-item]

    folded = fold_batch_dim(data, 2)

    assert folded.batch is not None
    assert folded.batch["nested", "x"].tolist() == [[0, 1], [2, 3]]
    assert plain_nested(unfold_batch_dim(folded)) == [0, 1, 2, 3]


def plain_nested(data: DataProto) -> Any:
    assert data.batch is not None
    return data.batch["nested", "x"].tolist()


def test_batches_without_tensors_columns_or_rows_are_folded() -> None:
    columns = fold_batch_dim(DataProto.from_dict(non_tensors={"c": [1, 2, 3, 4]}), 2)
    nothing = fold_batch_dim(six()[:0], 3)

    assert columns.non_tensor_batch["c"].tolist() == [[1, 2], [3, 4]]
    assert nothing.batch is not None
    assert nothing.batch["ids"].shape == (3, 0, 2)
    assert plain(unfold_batch_dim(nothing)) == plain(six()[:0])
    assert len(unfold_batch_dim(DataProto(meta_info={"k": 1}))) == 0


def test_groups_of_padding_stay_marked() -> None:
    padded, _ = pad_dataproto_to_divisor(six()[:4], 6)

    folded = fold_batch_dim(padded, 3)

    assert folded.pad_mask.tolist() == [False, False, True]
    assert unfold_batch_dim(folded).pad_mask.tolist() == [False] * 4 + [True] * 2


def test_a_padded_batch_without_rows_is_folded() -> None:
    padded, _ = pad_dataproto_to_divisor(six()[:4], 6)

    assert fold_batch_dim(padded[[]], 2).pad_mask.tolist() == [False, False]


def test_a_schema_does_not_go_along() -> None:
    class Ids(BatchSchema):
        ids: Int64[Tensor, "batch two"]

    folded = fold_batch_dim(six().bind(Ids), 2)

    assert folded._bound is None
    assert len(folded.union(DataProto.from_dict({"more": torch.arange(2)}))) == 2


# --- refused ----------------------------------------------------------------------------------------------------------


def test_groups_have_one_size() -> None:
    with function_refuses("fold_batch_dim", "BP043 split  new_batch_size  6 rows into 4 groups; groups of equal size"):
        fold_batch_dim(six(), 4)


@pytest.mark.parametrize("fold", [lambda d: fold_batch_dim(d, 1), unfold_batch_dim], ids=["fold", "unfold"])
def test_nested_tensors_cannot_be_folded(fold: Any) -> None:
    data = DataProto.from_dict({"x": jagged([1], [2]), "p": jagged_on_2([[1]], [[2]]), "dense": torch.ones(2, 1)})
    function = "unfold_batch_dim" if fold is unfold_batch_dim else "fold_batch_dim"

    with function_refuses(
        function,
        "BP045 store  x  i64[2, jagged]; a dense tensor: rows of different lengths make no axis",
        "BP045 store  p  i64[2, 1, jagged]; a dense tensor: rows of different lengths make no axis",
    ):
        fold(data)


def test_a_group_is_padding_or_not() -> None:
    padded, _ = pad_dataproto_to_divisor(six()[:5], 6)

    with function_refuses(
        "fold_batch_dim",
        "BP043 split  batch  group 2 is padding in part; groups of rows that all are padding, or none; unpad_dataproto "
        "removes pad rows",
    ):
        fold_batch_dim(padded, 3)


def test_fields_share_the_axes_that_are_unfolded() -> None:
    data = DataProto.from_dict({"x": torch.ones(2, 3), "y": torch.ones(2, 4)}, {"c": column("ab")})

    with function_refuses(
        "unfold_batch_dim",
        "BP016 rows  batch  [2, 3] in x, [2, 4] in y, [2] in c; all fields share their first 2 axes",
    ):
        unfold_batch_dim(data)


@pytest.mark.parametrize("number", [0, 1.0], ids=repr)
def test_numbers_are_whole(number: Any) -> None:
    line = f"{number!r}; a whole number, 1 or more"
    with function_refuses("fold_batch_dim", f"BP043 split  new_batch_size  {line}"):
        fold_batch_dim(six(), number)
    with function_refuses("unfold_batch_dim", f"BP043 split  batch_dims  {line}"):
        unfold_batch_dim(six(), number)
