"""Selecting, popping, joining and gathering fields: one program, run on verl's `DataProto` and on ours."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from tests.dataproto.verl_programs import REFUSED, both, rollout, scores, uids

pytestmark = [pytest.mark.peers, both]


def test_popped_fields_are_gone(module: ModuleType) -> None:
    data = rollout(module, k=1, j=2)

    popped = data.pop(batch_keys=["tokens"], non_tensor_batch_keys=["uid"], meta_info_keys=["k"])

    assert [list(popped.batch.keys()), list(popped.non_tensor_batch), popped.meta_info] == [
        ["tokens"],
        ["uid"],
        {"k": 1},
    ]
    assert [list(data.batch.keys()), list(data.non_tensor_batch), data.meta_info] == [["score"], ["turns"], {"j": 2}]
    assert len(popped) == len(data) == 4
    with pytest.raises(REFUSED):
        data.pop(["tokens"])


def test_fields_are_selected(module: ModuleType) -> None:
    chosen = rollout(module, k=1, j=2).select(["score"], ["uid"], ["j"])

    assert [list(chosen.batch.keys()), list(chosen.non_tensor_batch), chosen.meta_info] == [
        ["score"],
        ["uid"],
        {"j": 2},
    ]
    assert scores(chosen) == [0, 1, 2, 3]


def test_tensors_are_renamed(module: ModuleType) -> None:
    data = rollout(module, k=1)

    assert data.rename("tokens", "input_ids") is data
    data.rename(["score"], ["reward"])

    assert list(data.batch.keys()) == ["input_ids", "reward"]
    assert data.batch["reward"].tolist() == [0, 1, 2, 3]
    assert uids(data) == "aabb"


def test_a_union_joins_three_stores(module: ModuleType) -> None:
    data, again = rollout(module, k=1), rollout(module, k=1, more=2)
    again.batch["values"] = torch.ones(4)

    joined = data.union(again)

    assert joined is data
    assert set(data.batch.keys()) == {"tokens", "score", "values"}
    assert data.meta_info == {"k": 1, "more": 2}
    for wrong in (rollout(module)[[1, 0, 2, 3]], rollout(module)[:2], rollout(module, k=2)):
        with pytest.raises(REFUSED):
            rollout(module, k=1).union(wrong)


def test_tensor_dicts_are_joined(module: ModuleType) -> None:
    one = TensorDict({"x": torch.arange(2), "y": torch.ones(2)}, batch_size=[2])
    two = TensorDict({"y": torch.ones(2), "z": torch.zeros(2)}, batch_size=[2])

    joined = module.union_tensor_dict(one, two)

    assert {key: joined[key].tolist() for key in joined.keys()} == {"x": [0, 1], "y": [1, 1], "z": [0, 0]}
    for wrong in (torch.zeros(2), torch.tensor([1.0, 2.0])):
        with pytest.raises(REFUSED):
            module.union_tensor_dict(one, TensorDict({"y": wrong}, batch_size=[2]))
    with pytest.raises(REFUSED):
        module.union_tensor_dict(one, TensorDict({"w": torch.ones(3)}, batch_size=[3]))


def in_cells(*cells: Any) -> np.ndarray:
    made = np.empty(len(cells), dtype=object)
    made[:] = cells
    return made


COLUMNS = {
    "strings": lambda: np.array(["a", "b"], dtype=object),
    "numbers": lambda: np.array([1.0, 2.0]),
    "NaN": lambda: np.array([1.0, float("nan")]),
    "NaN among objects": lambda: np.array([float("nan"), "b", None], dtype=object),
    "arrays": lambda: in_cells(np.array([1.0, float("nan")]), np.array([3.0])),
    "arrays of arrays": lambda: in_cells(in_cells(np.array([1]), np.array([2, 3])), in_cells("x")),
    "dicts": lambda: in_cells({"a": [1, 2]}, {"b": {"c": "d"}}),
    "matrix": lambda: np.array([["a", "b"], ["c", "d"]], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_equal_columns_are_joined(module: ModuleType, name: str) -> None:
    joined = module.union_numpy_dict(
        {"c": COLUMNS[name](), "left": np.ones(1)}, {"c": COLUMNS[name](), "right": np.ones(1)}
    )

    assert list(joined) == ["c", "left", "right"]
    assert repr(joined["c"]) == repr(COLUMNS[name]())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.array(["a", None], dtype=object), np.array(["a", "b"], dtype=object)),
        (in_cells(np.array([1.0, 2.0])), in_cells(np.array([1.0, 3.0]))),
        (in_cells(in_cells(1, np.array([2]))), in_cells(in_cells(1, np.array([3])))),
        (in_cells({"a": 1}), in_cells({"a": 2})),
    ],
    ids=["values", "rows", "dtype", "objects", "arrays", "nested arrays", "dicts"],
)
def test_columns_that_differ_are_not_joined(module: ModuleType, left: Any, right: Any) -> None:
    with pytest.raises(REFUSED):
        module.union_numpy_dict({"c": left}, {"c": right})


def test_a_column_that_holds_itself_is_compared(module: ModuleType) -> None:
    def circle() -> np.ndarray:
        made = in_cells("a", None)
        made[1] = made
        return made

    column = circle()
    assert module.union_numpy_dict({"c": column}, {"c": column})["c"] is column
    assert list(module.union_numpy_dict({"c": circle()}, {"c": circle()})) == ["c"]


def gathered(module: ModuleType, *metas: dict[str, Any]) -> dict[str, Any]:
    parts = [module.DataProto.from_dict({"x": torch.tensor([rank])}, meta_info=meta) for rank, meta in enumerate(metas)]
    whole = module.DataProto.concat(parts)
    assert whole.batch["x"].tolist() == list(range(len(metas)))
    return whole.meta_info  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("metas", "merged"),
    [
        (
            [{"metrics": {"loss": 0.1, "kl": 1}}, {"metrics": {"loss": 0.2, "kl": 2}}],
            {"loss": [0.1, 0.2], "kl": [1, 2]},
        ),
        ([{"metrics": [{"loss": 0.1}]}, {"metrics": [{"loss": 0.2}, {"loss": 0.3}]}], {"loss": [0.1, 0.2, 0.3]}),
        ([{"metrics": {"loss": 0.1}}, {"metrics": [{"loss": 0.2}]}], {"loss": [0.1, 0.2]}),
        ([{}, {"metrics": {"loss": 0.2}}], {"loss": [0.2]}),
        ([{"metrics": None}, {"metrics": {"loss": 0.2}}], {"loss": [0.2]}),
        ([{"metrics": {"loss": 0.1}}], {"loss": [0.1]}),
    ],
)
def test_metrics_of_parts_become_lists(module: ModuleType, metas: list[dict[str, Any]], merged: dict[str, Any]) -> None:
    assert gathered(module, *metas) == {"metrics": merged}


def test_other_meta_of_parts_is_merged_and_must_agree(module: ModuleType) -> None:
    assert gathered(module, {"a": 1}, {"b": [2]}, {"a": 1, "c": None}) == {"a": 1, "b": [2], "c": None}
    assert gathered(module, {}, {}) == {}
    clashes: list[list[dict[str, Any]]] = [[{"a": 1}, {"a": 2}], [{"a": 1}, {}, {"a": 3}]]
    for wrong in clashes:
        with pytest.raises(REFUSED):
            gathered(module, *wrong)
