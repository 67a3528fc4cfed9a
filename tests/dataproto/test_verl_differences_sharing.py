"""Each row of "Sharing and failing" in `docs/differences.md`, shown on the smallest batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, TensorDict

from batchpact import dataproto
from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchError, ContractError, MissingFieldError

verl = pytest.importorskip("verl.protocol")

pytestmark = pytest.mark.peers

VerlDataProto = verl.DataProto


def two_rows(kind: Any, **meta: Any) -> Any:
    return kind.from_dict({"x": torch.tensor([1, 2])}, {"uid": column("ab")}, meta)


DERIVED: dict[str, Callable[[Any], Any]] = {
    "row": lambda data: data[0],
    "slice": lambda data: data[:1],
    "list": lambda data: data[[0]],
    "chunk": lambda data: data.chunk(2)[0],
    "split": lambda data: data.split(1)[0],
    "select": lambda data: data.select(["x"]),
    "repeat": lambda data: data.repeat(2),
    "sample_level_repeat": lambda data: data.sample_level_repeat([1, 1]),
    "unfold_column_chunks": lambda data: data.unfold_column_chunks(1, []),
    "make_iterator": lambda data: next(data.make_iterator(1, 1)),
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_meta_shared(derive: Callable[[Any], Any]) -> None:
    theirs, ours = two_rows(VerlDataProto), two_rows(DataProto)

    derive(theirs).meta_info["late"] = 1
    derive(ours).meta_info["late"] = 1

    assert theirs.meta_info == {"late": 1}
    assert ours.meta_info == {}


def test_select_shares() -> None:
    theirs, ours = two_rows(VerlDataProto), two_rows(DataProto)

    for data in (theirs, ours):
        data.select(batch_keys=["x"]).pop(non_tensor_batch_keys=["uid"])
        data.select(non_tensor_batch_keys=[]).pop(batch_keys=["x"])

    assert (list(theirs.batch.keys()), list(theirs.non_tensor_batch)) == ([], [])
    assert (list(ours.batch.keys()), list(ours.non_tensor_batch)) == (["x"], ["uid"])


def test_pad_shares() -> None:
    theirs, ours = two_rows(VerlDataProto), two_rows(DataProto)

    assert verl.pad_dataproto_to_divisor(theirs, 2)[0] is theirs
    padded, _ = dataproto.pad_dataproto_to_divisor(ours, 2)

    padded.meta_info["late"] = 1
    padded.pop(["x"], ["uid"])
    assert ours == two_rows(DataProto)


def test_arguments_changed() -> None:
    def given(kind: Any) -> tuple[dict[str, Any], ...]:
        columns, meta, more = {"uid": ["a"]}, {"k": 1}, {"k": 1}
        kind.from_dict({"x": torch.ones(1)}, columns, meta, auto_padding=True)
        kind.from_tensordict(TensorDict({"x": torch.ones(1), "m": NonTensorData(2)}, batch_size=[1]), more)
        return columns, meta, more

    columns, meta, more = given(VerlDataProto)
    assert isinstance(columns["uid"], np.ndarray)
    assert meta == {"k": 1, "_verl_auto_padding": True}
    assert more == {"k": 1, "m": 2}
    assert given(DataProto) == ({"uid": ["a"]}, {"k": 1}, {"k": 1})


def test_fold_changes_input() -> None:
    def after(kind: Any, module: Any) -> tuple[Any, ...]:
        folded, unfolded = two_rows(kind), kind.from_dict({"y": torch.ones(2, 3)})
        module.fold_batch_dim(folded, 1)
        module.unfold_batch_dim(unfolded)
        return folded.non_tensor_batch["uid"].shape, tuple(unfolded.batch.batch_size)

    assert after(VerlDataProto, verl) == ((1, 2), (2, 3))
    assert after(DataProto, dataproto) == ((2,), (2,))


def test_not_atomic() -> None:
    other = {"tensors": {"y": torch.ones(2)}, "non_tensors": {"uid": column("zz")}}
    theirs, ours = two_rows(VerlDataProto), two_rows(DataProto)

    for data in (theirs, ours):
        with pytest.raises((AssertionError, ContractError)):
            data.union(type(data).from_dict(**other))
        with pytest.raises((AssertionError, ContractError)):
            data.pop(["x", "absent"])

    assert list(theirs.batch.keys()) == ["y"]
    assert ours == two_rows(DataProto)


@pytest.mark.parametrize(
    ("wrong", "theirs", "ours"),
    [
        (lambda data: data.chunk(3), AssertionError, BatchError),
        (lambda data: data[5], IndexError, BatchError),
        (lambda data: data["x"], TypeError, BatchError),
        (lambda data: data.pop(["y"]), AssertionError, MissingFieldError),
        (lambda data: data.select(["y"]), KeyError, MissingFieldError),
        (lambda data: type(data).concat([]), IndexError, BatchError),
        (lambda data: data.sample_level_repeat([1]), RuntimeError, BatchError),
        (lambda data: type(data).from_single_dict({"x": [1]}), ValueError, BatchError),
    ],
)
def test_errors(wrong: Callable[[Any], Any], theirs: type[Exception], ours: type[Exception]) -> None:
    with pytest.raises(theirs):
        wrong(two_rows(VerlDataProto))
    with pytest.raises(ours) as caught:
        wrong(two_rows(DataProto))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, KeyError) is (ours is MissingFieldError)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda data: data.union(type(data).from_dict({"y": torch.ones(2)})), ["x", "y"]),
        (lambda data: data.pop(["x"]), []),
        (lambda data: data.rename("x", "z"), ["z"]),
    ],
    ids=["union", "pop", "rename"],
)
def test_locked(change: Callable[[Any], Any], names: list[str]) -> None:
    theirs, ours = two_rows(VerlDataProto), two_rows(DataProto)
    held = ours.batch.lock_()
    theirs.batch.lock_()

    with pytest.raises(RuntimeError, match="Cannot modify locked TensorDict"):
        change(theirs)
    change(ours)

    assert list(ours.batch.keys()) == names
    assert list(held.keys()) == ["x"]
    theirs, ours = (pickle.loads(pickle.dumps(two_rows(kind))).to("cpu") for kind in (VerlDataProto, DataProto))
    assert (theirs.batch.is_locked, ours.batch.is_locked) == (True, False)


def test_subclass() -> None:
    def classes(kind: Any) -> set[Any]:
        class Mine(kind):  # type: ignore[misc]
            pass

        data = two_rows(Mine)
        assert type(data[:1]) is Mine
        return {type(data.pop(meta_info_keys=[])), type(next(data.make_iterator(1, 1)))} - {Mine}

    assert classes(VerlDataProto) == {VerlDataProto}
    assert classes(DataProto) == set()


def test_device() -> None:
    def devices(kind: Any) -> list[torch.device | None]:
        data = two_rows(kind).to("cpu")
        made = kind.from_tensordict(data.select(["x"], []).batch)
        return [made.batch.device, data.repeat(2).batch.device, data.pop(["x"]).batch.device]

    assert devices(VerlDataProto) == [None] * 3
    assert devices(DataProto) == [torch.device("cpu")] * 3


def test_equality() -> None:
    def equal(kind: Any) -> bool:
        one, other = (kind.from_dict({"x": torch.tensor([float("nan")])}) for _ in range(2))
        return bool(one == other)

    with pytest.raises(RuntimeError, match="Converting a tensordict to boolean value is not permitted"):
        equal(VerlDataProto)
    assert equal(DataProto)
