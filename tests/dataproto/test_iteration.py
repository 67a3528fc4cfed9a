"""Mini-batches: which rows, in which order, and what each one carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto, pad_dataproto_to_divisor
from tests.dataproto.support import jagged, refuses


def data(rows: int = 6) -> DataProto:
    return DataProto.from_dict(
        {"x": torch.arange(rows), "j": jagged(*([row] * row for row in range(rows)))},
        {"uid": [f"u{row}" for row in range(rows)], "score": np.arange(rows, dtype=np.float32)},
        {"k": 1},
    )


def rows_of(batch: DataProto) -> list[int]:
    assert batch.batch is not None
    return batch.batch["x"].tolist()  # type: ignore[no-any-return]


def test_the_rows_come_in_their_order_once_for_each_epoch() -> None:
    parts = list(data().make_iterator(2, 2))

    assert [rows_of(part) for part in parts] == [[0, 1], [2, 3], [4, 5]] * 2
    assert [type(part) for part in parts] == [DataProto] * 6


def test_every_store_goes_along_in_its_kind() -> None:
    part = list(data().make_iterator(mini_batch_size=3, epochs=1))[1]

    assert part.batch is not None
    assert [row.tolist() for row in part.batch["j"].unbind(0)] == [[3] * 3, [4] * 4, [5] * 5]
    assert part.non_tensor_batch["uid"].tolist() == ["u3", "u4", "u5"]
    assert part.non_tensor_batch["score"].dtype == np.float32
    assert part.meta_info == {"k": 1}


def test_a_seed_gives_the_same_order_again_and_other_epochs_another() -> None:
    def order(seed: int) -> list[list[int]]:
        iterator = data().make_iterator(3, 2, seed=seed, dataloader_kwargs={"shuffle": True})
        return [rows_of(part) for part in iterator]

    assert order(1) == order(1)
    assert order(1) != order(2)
    first, second = ([row for part in order(1)[epoch : epoch + 2] for row in part] for epoch in (0, 2))
    assert sorted(first) == sorted(second) == list(range(6))
    assert first != second


def test_meta_is_not_shared_between_parts() -> None:
    whole = data()
    first, second = whole.make_iterator(3, 1)

    first.meta_info["late"] = 1

    assert second.meta_info == whole.meta_info == {"k": 1}


def test_pad_rows_stay_marked() -> None:
    padded, _ = pad_dataproto_to_divisor(data(3), 2)

    assert [part.pad_mask.tolist() for part in padded.make_iterator(2, 1)] == [[False, False], [False, True]]


def test_worker_processes_of_the_loader_give_the_same() -> None:
    options = {"num_workers": 1, "multiprocessing_context": "fork"}

    parts = list(data().make_iterator(3, 1, dataloader_kwargs=options))

    assert [rows_of(part) for part in parts] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("options", [None, {"shuffle": True}], ids=repr)
def test_a_batch_without_rows_has_no_mini_batches(options: Any) -> None:
    assert list(data(6)[:0].make_iterator(2, 3, dataloader_kwargs=options)) == []


def test_no_epoch_has_no_mini_batches() -> None:
    assert list(data().make_iterator(2, 0)) == []


def test_columns_alone_can_be_gone_through() -> None:
    parts = list(DataProto.from_dict(non_tensors={"c": [1, 2, 3, 4]}).make_iterator(2, 1))

    assert [part.non_tensor_batch["c"].tolist() for part in parts] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"mini_batch_size": 4},
            "BP043 split  mini_batch_size  6 rows in mini-batches of 4; mini-batches of equal size; 2 would be left "
            "over; pad rows fill the last one",
        ),
        ({"mini_batch_size": 0}, "BP043 split  mini_batch_size  0; a whole number, 1 or more"),
        ({"mini_batch_size": 2, "epochs": 1.5}, "BP043 split  epochs  1.5; a whole number, 0 or more"),
        (
            {"mini_batch_size": 2, "dataloader_kwargs": {"collate_fn": list, "batch_size": 3, "shuffle": True}},
            "BP045 store  dataloader_kwargs  'batch_size' and 'collate_fn'; make_iterator sets these itself",
        ),
        (
            {"mini_batch_size": 2, "dataloader_kwargs": ["shuffle"]},
            "BP045 store  dataloader_kwargs  list of 1; a dict of DataLoader's options",
        ),
    ],
    ids=["left over", "size", "epochs", "taken", "no dict"],
)
def test_what_cannot_be_is_refused_before_the_first_part(arguments: dict[str, Any], line: str) -> None:
    with refuses("make_iterator", line):
        data().make_iterator(**{"epochs": 1, **arguments})
