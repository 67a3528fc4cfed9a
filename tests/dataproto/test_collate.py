"""Single rows become a batch: of the kind they came from, or an error that names row and field (M3)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from tensordict import TensorDict
from torch.utils.data import DataLoader

from batchpact.dataproto import DataProto, DataProtoItem, collate_fn, column
from tests.dataproto.support import batches, function_refuses, jagged, law, plain, small


@given(batches(least=1))
@law
def test_the_rows_of_a_batch_make_it_again_without_its_meta(data: DataProto) -> None:
    assume(len(data))

    made = collate_fn(list(data))

    assert plain(made) == plain(data.select(meta_info_keys=[]))
    assert (made.batch is None) == (data.batch is None)


def test_rows_may_come_from_several_batches_in_any_order() -> None:
    made = collate_fn([small()[2], small()[0], small()[2]])

    assert plain(made) == plain(small()[[2, 0, 2]].select(meta_info_keys=[]))


def test_a_data_loader_collates_a_batch() -> None:
    loader = DataLoader(small(), batch_size=2, collate_fn=collate_fn)  # type: ignore[arg-type]

    assert [plain(part) for part in loader] == [plain(part.select(meta_info_keys=[])) for part in small().chunk(2)]


def test_rows_made_by_hand_have_object_columns() -> None:
    rows = [DataProtoItem(TensorDict({"x": torch.tensor([row])}), {"score": np.float32(row)}) for row in range(2)]

    made = collate_fn(rows)

    assert made.batch is not None
    assert made.batch["x"].tolist() == [[0], [1]]
    assert made.non_tensor_batch["score"].dtype == object
    assert [type(cell) for cell in made.non_tensor_batch["score"]] == [np.float32] * 2


def test_cells_of_equal_length_stay_cells() -> None:
    made = collate_fn(list(DataProto.from_dict(non_tensors={"c": column([[1, 2], [3, 4]])})))

    assert made.batch is None
    assert made.non_tensor_batch["c"].tolist() == [[1, 2], [3, 4]]
    assert made.non_tensor_batch["c"].shape == (2,)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]], ids=repr)
def test_a_field_that_a_row_lacks_is_named_whichever_comes_first(order: list[int]) -> None:
    rows = [
        DataProtoItem(TensorDict({"x": torch.ones(1)}), {"score": 1, "acc": 1}),
        DataProtoItem(TensorDict({"x": torch.ones(1)}), {"acc": 1}),
        DataProtoItem(TensorDict({"y": torch.ones(1)}), {"acc": 1, "score": 1}),
    ]
    x, y = (f"BP042 parts  x      not in batch of row {order.index(2)}", "BP042 parts  y      not in batch of rows ")
    first = [f"{x}; every row has the same fields"]
    second = [f"{y}{', '.join(str(at) for at in range(3) if order[at] != 2)}; every row has the same fields"]

    with function_refuses(
        "collate_fn",
        *(first + second if order[0] == 0 else second + first),
        "BP042 parts  score  not in non_tensor_batch of row 1; every row has the same fields",
    ):
        collate_fn([rows[at] for at in order])


def test_rows_of_different_shapes_are_named() -> None:
    rows = [DataProtoItem(TensorDict({"x": torch.ones(length)})) for length in (1, 2, 1)]

    with function_refuses(
        "collate_fn",
        "BP042 parts  x  f32[1] and f32[2]; rows of one dtype and shape; rows that are taken out of a jagged tensor "
        "may differ in length",
    ):
        collate_fn(rows)


def test_jagged_and_dense_rows_are_not_mixed() -> None:
    dense = DataProto.from_dict({"x": torch.ones(1, 2, dtype=torch.int64)})[0]
    ragged = DataProto.from_dict({"x": jagged([1, 2])})[0]

    made = collate_fn([dense, ragged])

    assert made.batch is not None
    assert not made.batch["x"].is_nested


def test_no_rows_make_no_batch() -> None:
    with function_refuses("collate_fn", "BP042 parts  x  no rows; at least one"):
        collate_fn([])


def test_rows_of_another_class_are_collated() -> None:
    """verl's items, for example, say nothing of where they came from."""
    rows = [SimpleNamespace(batch=TensorDict({"x": torch.ones(1)}), non_tensor_batch={"c": [1]}) for _ in range(2)]

    made = collate_fn(rows)  # type: ignore[arg-type]

    assert made.non_tensor_batch["c"].tolist() == [[1], [1]]


def test_rows_of_a_tensordict_among_the_tensors_are_collated() -> None:
    data = DataProto(TensorDict({"n": TensorDict({"x": torch.arange(3)}, batch_size=[3])}, batch_size=[3]))

    made = collate_fn([data[2], data[0]])

    assert made.batch is not None
    assert made.batch["n", "x"].tolist() == [2, 0]
