"""Each row of "Joining" in `docs/differences.md`, shown on the smallest batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from batchpact import dataproto
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError

verl = pytest.importorskip("verl.protocol")

pytestmark = pytest.mark.peers

VerlDataProto = verl.DataProto

CONFLICTS = (AssertionError, ValueError, RuntimeError, TypeError)
"""What verl raises where it finds a conflict, or cannot compare."""


def batch(kind: Any, columns: Any = None, **meta: Any) -> Any:
    return kind.from_dict({"x": torch.ones(1)}, columns, meta)


def nan() -> float:
    """A NaN of its own: Python takes one object in two lists for equal."""
    return float("nan")


WITH_NAN: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda kind: kind.from_dict({"x": torch.tensor([nan()])}),
    "meta": lambda kind: batch(kind, k=nan()),
    "dict in a column": lambda kind: batch(kind, {"c": [{"score": nan()}]}),
    "list in a column": lambda kind: batch(kind, {"c": np.fromiter([[nan()]], dtype=object)}),
    "array in meta": lambda kind: batch(kind, k=np.ones(2)),
    "tensor in meta": lambda kind: batch(kind, k=torch.ones(2)),
}


@pytest.mark.parametrize("make", WITH_NAN.values(), ids=WITH_NAN)
def test_union_nan(make: Callable[[Any], Any]) -> None:
    with pytest.raises(CONFLICTS):
        make(VerlDataProto).union(make(VerlDataProto))
    assert make(DataProto).union(make(DataProto)) == make(DataProto)


def test_union_text() -> None:
    def joined(kind: Any) -> Any:
        one, other = (batch(kind, {"uid": np.array(["a"])}) for _ in range(2))
        return one.union(other).non_tensor_batch["uid"].tolist()

    with pytest.raises(TypeError, match="isnan"):
        joined(VerlDataProto)
    assert joined(DataProto) == ["a"]


def test_union_numbers() -> None:
    def joined(kind: Any, left: Any, right: Any) -> tuple[bool, bool]:
        """Whether the two are equal in a column, and in meta."""
        found = []
        for in_column in (True, False):
            sides = [batch(kind, {"c": [value]}) if in_column else batch(kind, c=value) for value in (left, right)]
            try:
                sides[0].union(sides[1])
                found.append(True)
            except (AssertionError, BatchError):
                found.append(False)
        return found[0], found[1]

    assert joined(VerlDataProto, 1, 1.0) == (False, True)
    assert joined(VerlDataProto, 1, True) == (False, True)
    assert joined(DataProto, 1, 1.0) == (True, True)
    assert joined(DataProto, 1, True) == (False, False)


def test_union_dtypes() -> None:
    def joined(kind: Any) -> Any:
        one, other = (kind.from_dict({"x": torch.ones(1, dtype=dtype)}) for dtype in (torch.float32, torch.float64))
        return one.union(other).batch["x"].dtype

    assert joined(VerlDataProto) is torch.float32
    with pytest.raises(BatchError, match=r"the sides differ: f32\[1\] against f64\[1\]"):
        joined(DataProto)


@pytest.mark.parametrize("value", [float("nan"), np.ones(2), torch.ones(2)], ids=["NaN", "array", "tensor"])
def test_concat_nan(value: Any) -> None:
    def lengths(kind: Any, module: Any) -> list[int]:
        data = batch(kind, k=value)
        data.padding(1)
        return [len(kind.concat(data.chunk(2))), len(module.pad_dataproto_to_divisor(data, 3)[0])]

    with pytest.raises(CONFLICTS):
        lengths(VerlDataProto, verl)
    with pytest.raises(CONFLICTS):
        VerlDataProto.concat([batch(VerlDataProto, k=value)] * 2)
    with pytest.raises(CONFLICTS):
        verl.pad_dataproto_to_divisor(batch(VerlDataProto, k=value), 2)
    assert lengths(DataProto, dataproto) == [2, 3]


def test_concat_metrics() -> None:
    def metrics(kind: Any, module: Any) -> list[Any]:
        data = kind.from_dict({"x": torch.ones(2)}, meta_info={"metrics": {"loss": 0.5}})
        whole, padded = kind.concat(data.chunk(2)), module.pad_dataproto_to_divisor(data, 3)[0]
        return [whole.meta_info["metrics"], padded.meta_info["metrics"]]

    assert metrics(VerlDataProto, verl) == [{"loss": [0.5, 0.5]}] * 2
    assert metrics(DataProto, dataproto) == [{"loss": 0.5}] * 2


def collected(kind: Any, *metrics: Any) -> Any:
    return kind.concat([batch(kind, metrics=value) for value in metrics]).meta_info


def test_concat_metrics_again() -> None:
    assert collected(VerlDataProto, {"loss": [1.0]}, {"loss": [2.0]}) == {"metrics": {"loss": [[1.0], [2.0]]}}
    assert collected(DataProto, {"loss": [1.0]}, {"loss": [2.0]}) == {"metrics": {"loss": [1.0, 2.0]}}


def test_concat_metrics_missing() -> None:
    with pytest.raises(AssertionError, match="'kl' is not present"):
        collected(VerlDataProto, {"loss": 1.0}, {"loss": 2.0, "kl": 0.1})
    assert collected(VerlDataProto, None, None) == {}

    assert collected(DataProto, {"loss": 1.0}, {"loss": 2.0, "kl": 0.1}) == {
        "metrics": {"loss": [1.0, 2.0], "kl": [0.1]}
    }
    assert collected(DataProto, None, None) == {"metrics": None}


def test_concat_kinds() -> None:
    def tensors(kind: Any) -> Any:
        parts = [kind.from_dict({"x": torch.ones(1, dtype=dtype)}) for dtype in (torch.float32, torch.int64)]
        return kind.concat(parts).batch["x"].dtype

    def columns(kind: Any) -> Any:
        parts = [kind.from_dict(non_tensors={"c": cells}) for cells in (np.ones(1), ["a"])]
        return kind.concat(parts).non_tensor_batch["c"].dtype

    assert (tensors(VerlDataProto), columns(VerlDataProto)) == (torch.float32, object)
    with pytest.raises(BatchError, match=r"f32 rows of .. in part 0, i64 rows of .. in part 1"):
        tensors(DataProto)
    with pytest.raises(BatchError, match=r"float64 rows of .. in part 0, object rows of .. in part 1"):
        columns(DataProto)


def test_concat_drops_tensors() -> None:
    def joined(kind: Any) -> Any:
        return kind.concat(
            [kind.from_dict(non_tensors={"c": ["a"]}), kind.from_dict({"x": torch.ones(1)}, {"c": ["b"]})]
        )

    assert joined(VerlDataProto).batch is None
    assert len(joined(VerlDataProto)) == 2
    with pytest.raises(BatchError, match="x  missing in part 0, present in part 1"):
        joined(DataProto)
