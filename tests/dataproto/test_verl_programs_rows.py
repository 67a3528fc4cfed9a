"""Taking, ordering, repeating, cutting and padding rows: one program, run on verl's `DataProto` and on ours."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tests.dataproto.support import jagged, jagged_on_2
from tests.dataproto.verl_programs import REFUSED, both, rollout, scores, uids

pytestmark = [pytest.mark.peers, both]


@pytest.mark.parametrize(
    ("item", "rows"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        (slice(-1, None), [3]),
        (slice(3, 1), []),
        ([3, 0, 0], [3, 0, 0]),
        ([-1], [3]),
        (np.array([2, 1]), [2, 1]),
        (torch.tensor([1, 3]), [1, 3]),
        ([True, False, False, True], [0, 3]),
        (np.array([False, True, True, False]), [1, 2]),
        (torch.tensor([True, True, False, False]), [0, 1]),
    ],
)
def test_an_index_takes_rows(module: ModuleType, item: Any, rows: list[int]) -> None:
    data = rollout(module, k=1)

    taken = data[item]

    assert isinstance(taken, module.DataProto)
    assert scores(taken) == rows
    assert taken.batch["tokens"].tolist() == [[3 * row, 3 * row + 1, 3 * row + 2] for row in rows]
    assert uids(taken) == "".join("aabb"[row] for row in rows)
    assert taken.meta_info == {"k": 1}
    if not isinstance(item, slice):
        assert scores(data.select_idxs(item)) == rows
    else:
        assert scores(data.slice(item.start, item.stop, item.step)) == rows


@pytest.mark.parametrize("row", [0, 3, -2, np.int64(1)])
def test_an_int_gives_a_row(module: ModuleType, row: Any) -> None:
    item = rollout(module, k=1)[row]

    assert isinstance(item, module.DataProtoItem)
    assert item.batch["score"].item() == range(4)[row]
    assert item.batch["tokens"].shape == (3,)
    assert item.non_tensor_batch == {"uid": "aabb"[row], "turns": range(1, 5)[row]}
    assert item.meta_info == {"k": 1}


def test_a_row_and_a_slice_of_jagged_tensors(module: ModuleType) -> None:
    fields = {"ids": jagged([1, 2], [3], [4, 5, 6]), "positions": jagged_on_2([[1, 2], [1, 2]], [[3], [3]], [[4], [4]])}
    data = module.DataProto.from_dict(fields)

    assert data[2].batch["ids"].tolist() == [4, 5, 6]
    assert data[0].batch["positions"].tolist() == [[1, 2], [1, 2]]
    assert [row.tolist() for row in data[1:].batch["positions"].unbind(0)] == [[[3], [3]], [[4], [4]]]
    assert [row.tolist() for row in data[::2].batch["ids"].unbind(0)] == [[1, 2], [4, 5, 6]]
    whole = module.DataProto.concat([data[:1], data[1:]])
    assert [row.tolist() for row in whole.batch["positions"].unbind(0)] == [[[1, 2], [1, 2]], [[3], [3]], [[4], [4]]]


def test_reorder_changes_the_batch(module: ModuleType) -> None:
    data = rollout(module)

    assert data.reorder(torch.tensor([2, 3, 1, 0])) is None

    assert (scores(data), uids(data)) == ([2, 3, 1, 0], "bbaa")


def test_chunks_put_together_are_the_batch(module: ModuleType) -> None:
    data = rollout(module, k=1)

    parts = data.chunk(2)

    assert [(scores(part), uids(part), part.meta_info) for part in parts] == [
        ([0, 1], "aa", {"k": 1}),
        ([2, 3], "bb", {"k": 1}),
    ]
    whole = module.DataProto.concat(parts)
    assert (scores(whole), uids(whole), whole.meta_info) == ([0, 1, 2, 3], "aabb", {"k": 1})
    with pytest.raises(REFUSED):
        data.chunk(3)
    assert [scores(part) for part in data[[3, 1, 0, 2]].chunk(2)] == [[3, 1], [0, 2]]
    assert [scores(part) for part in data.split(3)] == [[0, 1, 2], [3]]


def test_auto_padding_allows_unequal_chunks(module: ModuleType) -> None:
    fields = {"tensors": {"x": torch.arange(5)}, "non_tensors": {"c": list(range(5))}}
    data = module.DataProto.from_dict(**fields, auto_padding=True)

    assert data.is_padding_enabled()
    assert [part.batch["x"].tolist() for part in data.chunk(2)] == [[0, 1, 2], [3, 4]]
    assert [part.non_tensor_batch["c"].tolist() for part in data.chunk(2)] == [[0, 1, 2], [3, 4]]
    assert not module.DataProto.from_dict(**fields).is_padding_enabled()


def test_rows_are_repeated_in_runs_or_as_a_whole(module: ModuleType) -> None:
    data = rollout(module, k=1)[1:3]

    assert (scores(data.repeat(3)), uids(data.repeat(3))) == ([1, 1, 1, 2, 2, 2], "aaabbb")
    tiled = data.repeat(repeat_times=2, interleave=False)
    assert (scores(tiled), uids(tiled), tiled.meta_info) == ([1, 2, 1, 2], "abab", {"k": 1})
    assert tiled.batch["tokens"].tolist() == [[3, 4, 5], [6, 7, 8]] * 2


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_each_row_is_repeated_as_often_as_its_number(module: ModuleType, kind: Any) -> None:
    repeated = rollout(module, k=1).sample_level_repeat(kind([2, 0, 1, 3]))

    assert (scores(repeated), uids(repeated)) == ([0, 0, 2, 3, 3, 3], "aabbbb")
    assert repeated.meta_info == {"k": 1}
    assert len(module.DataProto.from_dict(non_tensors={"c": [1, 2]}).sample_level_repeat([2, 1])) == 3


def test_column_chunks_become_rows(module: ModuleType) -> None:
    data = module.DataProto.from_dict(
        {
            "pairs": torch.arange(8).reshape(2, 4),
            "deep": torch.arange(8).reshape(2, 4, 1),
            "score": torch.tensor([1, 2]),
        },
        {"uid": ["a", "b"], "chosen": np.array([[1, 2], [3, 4]])},
    )

    cut = data.unfold_column_chunks(2, split_keys=["pairs", "deep", "chosen"])

    assert len(cut) == 4
    assert cut.batch["pairs"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert cut.batch["deep"].tolist() == [[[0], [1]], [[2], [3]], [[4], [5]], [[6], [7]]]
    assert cut.batch["score"].tolist() == [1, 1, 2, 2]
    assert cut.non_tensor_batch["uid"].tolist() == ["a", "a", "b", "b"]
    assert cut.non_tensor_batch["chosen"].tolist() == [[1], [2], [3], [4]]


@pytest.mark.parametrize(
    ("divisor", "rows"), [(2, [0, 1, 2, 0]), (3, [0, 1, 2]), (4, [0, 1, 2, 0]), (8, [0, 1, 2] * 2 + [0, 1])]
)
def test_padding_repeats_the_rows_and_is_removed(module: ModuleType, divisor: int, rows: list[int]) -> None:
    data = rollout(module, k=1)[:3]

    padded, pad_size = module.pad_dataproto_to_divisor(data, divisor)

    assert pad_size == len(rows) - 3
    assert scores(padded) == rows
    assert uids(padded) == "".join("aab"[row] for row in rows)
    assert padded.meta_info == {"k": 1}
    unpadded = module.unpad_dataproto(padded, pad_size=pad_size)
    assert (scores(unpadded), uids(unpadded), unpadded.meta_info) == ([0, 1, 2], "aab", {"k": 1})


def test_one_row_can_be_appended_several_times(module: ModuleType) -> None:
    first, last = rollout(module), rollout(module)

    first.padding(2, "first")
    last.padding(1, "last")

    assert (scores(first), uids(first)) == ([0, 1, 2, 3, 0, 0], "aabbaa")
    assert (scores(last), uids(last)) == ([0, 1, 2, 3, 3], "aabbb")


def test_groups_are_folded_and_unfolded(module: ModuleType) -> None:
    folded = module.fold_batch_dim(rollout(module, k=1), new_batch_size=2)

    assert len(folded) == 2
    assert folded.batch["score"].tolist() == [[0, 1], [2, 3]]
    assert folded.batch["tokens"].shape == (2, 2, 3)
    assert folded.non_tensor_batch["uid"].tolist() == [["a", "a"], ["b", "b"]]
    unfolded = module.unfold_batch_dim(folded, batch_dims=2)
    assert (scores(unfolded), uids(unfolded), unfolded.meta_info) == ([0, 1, 2, 3], "aabb", {"k": 1})
    with pytest.raises(REFUSED):
        module.fold_batch_dim(rollout(module), 3)
