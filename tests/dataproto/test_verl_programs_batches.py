"""Making, sending and converting batches: one program, run on verl's `DataProto` and on ours."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.dataproto.support import jagged
from tests.dataproto.verl_programs import REFUSED, both, rollout, scores, uids

pytestmark = [pytest.mark.peers, both]


def test_tensors_of_any_row_shape_share_their_first_axis(module: ModuleType) -> None:
    data = module.DataProto.from_dict({"ids": torch.ones(5, 7), "logits": torch.ones(5, 7, 2), "reward": torch.ones(5)})

    assert len(data) == 5
    assert {key: tuple(data.batch[key].shape) for key in data.batch.keys()} == {
        "ids": (5, 7),
        "logits": (5, 7, 2),
        "reward": (5,),
    }
    with pytest.raises(REFUSED):
        module.DataProto.from_dict({"ids": torch.ones(5, 7), "reward": torch.ones(4)})


def test_one_dict_is_sorted_by_kind(module: ModuleType) -> None:
    tensors, columns = {"x": torch.arange(3)}, {"uid": np.array(["a", "b", "c"], dtype=object)}

    one = module.DataProto.from_single_dict({**tensors, **columns}, meta_info={"k": 1})
    two = module.DataProto.from_dict(tensors, columns, {"k": 1})

    for data in (one, two):
        assert data.batch["x"].tolist() == [0, 1, 2]
        assert data.non_tensor_batch["uid"].tolist() == ["a", "b", "c"]
        assert data.meta_info == {"k": 1}
    with pytest.raises(ValueError):
        module.DataProto.from_single_dict({"x": [1, 2]})


def test_columns_alone_make_a_batch(module: ModuleType) -> None:
    data = module.DataProto.from_dict(non_tensors={"prompt": ["p", "q"], "tools": [None, {"name": "search"}]})

    assert len(data) == 2
    assert data.batch is None
    assert data[1].non_tensor_batch == {"prompt": "q", "tools": {"name": "search"}}
    assert [list(part.non_tensor_batch["prompt"]) for part in data.chunk(2)] == [["p"], ["q"]]
    assert list(module.DataProto.concat(data.chunk(2)).non_tensor_batch["prompt"]) == ["p", "q"]


def test_columns_have_the_rows_of_the_tensors(module: ModuleType) -> None:
    with pytest.raises(REFUSED):
        module.DataProto.from_dict({"x": torch.ones(2)}, {"uid": ["a", "b", "c"]})


def test_a_batch_of_meta_alone(module: ModuleType) -> None:
    data = module.DataProto(meta_info={"step": 3})

    assert len(data) == 0
    assert data.select(meta_info_keys=["step"]).meta_info == {"step": 3}
    assert [part.meta_info for part in data.chunk(2)] == [{"step": 3}] * 2
    assert data.repeat(2).meta_info == {"step": 3}
    assert module.DataProto.concat([data, data]).meta_info == {"step": 3}


def test_the_length_is_that_of_whatever_has_rows(module: ModuleType) -> None:
    tensors, columns = {"x": torch.ones(3, 2)}, {"c": ["a", "b", "c"]}

    made = [module.DataProto.from_dict(*given) for given in ((tensors, columns), (tensors,), (None, columns), ({}, {}))]

    assert [len(data) for data in made] == [3, 3, 3, 0]
    assert len(module.DataProto(None, {}, {})) == 0


def test_mini_batches_go_through_the_rows(module: ModuleType) -> None:
    data = rollout(module, k=1)

    parts = list(data.make_iterator(2, epochs=2))
    assert [scores(part) for part in parts] == [[0, 1], [2, 3]] * 2
    assert [(uids(part), part.meta_info) for part in parts] == [("aa", {"k": 1}), ("bb", {"k": 1})] * 2

    shuffled = [
        [scores(part) for part in data.make_iterator(1, 2, seed=seed, dataloader_kwargs={"shuffle": True})]
        for seed in (3, 3, 4)
    ]
    assert shuffled[0] == shuffled[1] != shuffled[2]
    assert sorted(shuffled[0][:4]) == sorted(shuffled[0][4:]) == [[0], [1], [2], [3]]
    with pytest.raises(REFUSED):
        data.make_iterator(3, 1)


def test_a_batch_is_saved_by_torch_and_by_pickle(module: ModuleType, tmp_path: Path) -> None:
    data = rollout(module, k=1)

    torch.save(data, tmp_path / "batch.pt")
    loaded = [torch.load(tmp_path / "batch.pt", weights_only=False), pickle.loads(pickle.dumps(data))]

    for one in loaded:
        assert isinstance(one, module.DataProto)
        assert (scores(one), uids(one), one.meta_info) == ([0, 1, 2, 3], "aabb", {"k": 1})
        assert one.batch["tokens"].tolist() == data.batch["tokens"].tolist()


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_batches_of_any_size_are_sent(module: ModuleType, rows: int) -> None:
    fields = {"x": torch.ones(rows, 2), "ids": jagged(*([1] * row for row in range(rows)))}
    sent = module.DataProto.from_dict(fields, {"c": [None] * rows})

    received = pickle.loads(pickle.dumps(sent))

    assert len(received) == rows
    assert received.batch["x"].shape == (rows, 2)
    assert [row.tolist() for row in received.batch["ids"].unbind(0)] == [[1] * row for row in range(rows)]
    columns = pickle.loads(pickle.dumps(module.DataProto.from_dict(non_tensors={"c": [1, 2]})))
    assert (columns.batch, columns.non_tensor_batch["c"].tolist()) == (None, [1, 2])


def test_a_tensordict_holds_all_three_stores(module: ModuleType) -> None:
    data = rollout(module, k=1, name="x")

    held = data.to_tensordict()

    assert set(held.keys()) == {"tokens", "score", "uid", "turns", "k", "name"}
    assert held.batch_size == (4,)
    assert (list(held["uid"]), held["k"], held["name"]) == (["a", "a", "b", "b"], 1, "x")
    back = module.DataProto.from_tensordict(held)
    assert (scores(back), uids(back), back.meta_info) == ([0, 1, 2, 3], "aabb", {"k": 1, "name": "x"})
    assert back.non_tensor_batch["turns"].tolist() == [1, 2, 3, 4]
    more = module.DataProto.from_tensordict(held, meta_info={"more": 2})
    assert more.meta_info == {"k": 1, "name": "x", "more": 2}


def test_the_fields_are_listed(module: ModuleType) -> None:
    data = module.DataProto.from_dict(
        {"ids": torch.ones(2, 3, dtype=torch.int64)},
        {"uid": ["a", "b"]},
        {
            "step": 3,
            "cfg": {"lr": 0.1},
            "stop": ["x"],
            "pair": (1, "a"),
            "empty": [],
            "array": np.ones(2),
            "none": None,
        },
    )

    assert data.get_data_info().splitlines() == [
        "batch",
        "  ids: (2, 3) (torch.int64) cpu",
        "non_tensor_batch",
        "  uid: ndarray(2,) (object)",
        "meta_info",
        "  step: int",
        "  cfg: dict[str: float]",
        "  stop: list[str]",
        "  pair: tuple(int, str)",
        "  empty: list[...]",
        "  array: ndarray(2,) (float64)",
        "  none: NoneType",
    ]


def test_a_batch_moves_to_a_device_in_place(module: ModuleType) -> None:
    data = rollout(module)

    assert data.to("meta") is data
    assert data.batch["tokens"].device.type == "meta"
    assert module.DataProto(meta_info={"k": 1}).to("cpu").meta_info == {"k": 1}
