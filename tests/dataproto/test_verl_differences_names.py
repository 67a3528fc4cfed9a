"""Each row of "Names" in `docs/differences.md`, shown on the smallest batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError, MissingFieldError

verl = pytest.importorskip("verl.protocol")

pytestmark = pytest.mark.peers

VerlDataProto = verl.DataProto


def two_tensors(kind: Any) -> Any:
    return kind.from_dict({"a": torch.tensor([1]), "b": torch.tensor([2])}, {"uid": ["u"]}, {"k": 1})


def test_select_absent() -> None:
    chosen = two_tensors(VerlDataProto).select(["a"], ["uld"], ["kk"])
    assert (chosen.non_tensor_batch, chosen.meta_info) == ({}, {})
    with pytest.raises(KeyError):
        two_tensors(VerlDataProto).select(["c"])

    with pytest.raises(MissingFieldError) as caught:
        two_tensors(DataProto).select(["c"], ["uld"], ["kk"])
    assert [violation.field for violation in caught.value.violations] == ["c", "uld", "kk"]
    assert "closest name: 'uid'" in str(caught.value)


def test_select_string() -> None:
    def chosen(kind: Any) -> list[str]:
        data = kind.from_dict(non_tensors={"uid": ["a"], "id": ["b"], "u": ["c"]})
        return list(data.select(None, "uid").non_tensor_batch)

    assert chosen(VerlDataProto) == ["uid", "id", "u"]
    assert chosen(DataProto) == ["uid"]


def test_pop_twice() -> None:
    theirs, ours = two_tensors(VerlDataProto), two_tensors(DataProto)

    with pytest.raises(AssertionError):
        theirs.pop(["a", "a"])
    assert list(theirs.batch.keys()) == ["b"]
    assert ours.pop(["a", "a"]).batch["a"].tolist() == [1]


def test_rename_several() -> None:
    with pytest.raises(Exception, match="has no entry 'b'"):  # a class of tensordict's own
        two_tensors(VerlDataProto).rename(["a", "b"], ["c", "d"])
    with pytest.raises(TypeError):
        two_tensors(VerlDataProto).rename(("a",), ("c",))

    swapped = two_tensors(DataProto).rename(("a", "b"), ["b", "a"]).batch
    assert {key: swapped[key].tolist() for key in swapped.keys()} == {"a": [2], "b": [1]}


def test_rename_taken() -> None:
    renamed = two_tensors(VerlDataProto).rename("a", "b").batch
    assert {key: renamed[key].tolist() for key in renamed.keys()} == {"b": [1]}

    for taken in ("b", "uid", "k"):
        with pytest.raises(BatchError, match=f"{taken}  the name is taken"):
            two_tensors(DataProto).rename("a", taken)


def test_one_place() -> None:
    fields: dict[str, Any] = {"tensors": {"x": torch.ones(1)}, "non_tensors": {"x": ["a"]}, "meta_info": {"x": 3}}

    def joined(kind: Any) -> Any:
        return kind.from_dict({"x": torch.ones(1)}).union(kind.from_dict({"y": torch.ones(1)}, {"x": ["a"]}))

    assert len(VerlDataProto.from_dict(**fields)) == 1
    assert list(joined(VerlDataProto).non_tensor_batch) == ["x"]
    with pytest.raises(BatchError, match="in batch and in non_tensor_batch and in meta_info"):
        DataProto.from_dict(**fields)
    with pytest.raises(BatchError, match="in batch on the left, in non_tensor_batch on the right"):
        joined(DataProto)


def test_unfold_keys() -> None:
    assert len(two_tensors(VerlDataProto).unfold_column_chunks(2, ["absent"])) == 2
    with pytest.raises(TypeError):
        two_tensors(VerlDataProto).unfold_column_chunks(2)

    with pytest.raises(MissingFieldError, match="absent  not in batch"):
        two_tensors(DataProto).unfold_column_chunks(2, ["absent"])
    assert two_tensors(DataProto).unfold_column_chunks(2).non_tensor_batch["uid"].tolist() == ["u", "u"]
