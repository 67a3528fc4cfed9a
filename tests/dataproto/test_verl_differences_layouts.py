"""Each row of "Stores and layouts" in `docs/differences.md`, shown on the smallest batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact import dataproto
from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchError
from tests.dataproto.support import jagged, jagged_on_2

verl = pytest.importorskip("verl.protocol")

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage"),
]

VerlDataProto = verl.DataProto

BARE: dict[str, Callable[[Any, Any], Any]] = {
    "select": lambda data, _: len(data.select([])),
    "union": lambda data, _: len(data.union(type(data).from_dict({"y": torch.ones(2)}))),
    "union with columns": lambda data, _: len(data.union(type(data).from_dict(non_tensors={"d": ["a", "b"]}))),
    "reorder": lambda data, _: [data.reorder(torch.tensor([1, 0])), len(data)][1],
    "make_iterator": lambda data, _: len(list(data.make_iterator(1, 1))),
    "collate_fn": lambda data, module: len(module.collate_fn([data[0], data[1]])),
    "to_tensordict": lambda data, _: data.to_tensordict().batch_size[0],
    "fold_batch_dim": lambda data, module: len(module.fold_batch_dim(data, 2)),
    "get_data_info": lambda data, _: data.get_data_info().count("ndarray(2,)") * 2,
}


@pytest.mark.parametrize("operation", BARE.values(), ids=BARE)
def test_no_tensors(operation: Callable[[Any, Any], Any]) -> None:
    with pytest.raises((AttributeError, TypeError)):
        operation(VerlDataProto.from_dict(non_tensors={"uid": ["a", "b"]}), verl)
    assert operation(DataProto.from_dict(non_tensors={"uid": ["a", "b"]}), dataproto) == 2


def ragged(kind: Any) -> Any:
    return kind.from_dict({"ids": jagged([1, 2], [3]), "positions": jagged_on_2([[1, 2], [3, 4]], [[5], [6]])})


def told(data: Any) -> list[Any]:
    """The rows of both fields."""
    return [[row.tolist() for row in data.batch[key].unbind(0)] for key in ("ids", "positions")]


SWAPPED = [[[3], [1, 2]], [[[5], [6]], [[1, 2], [3, 4]]]]
FIRST_TWICE = [[[1, 2], [1, 2]], [[[1, 2], [3, 4]]] * 2]


@pytest.mark.parametrize("item", [[1, 0], np.array([1, 0]), torch.tensor([1, 0])], ids=["list", "array", "tensor"])
def test_jagged_index(item: Any) -> None:
    with pytest.raises(NotImplementedError):
        ragged(VerlDataProto)[item]
    with pytest.raises(NotImplementedError):
        ragged(VerlDataProto)[[True, False]]
    with pytest.raises(NotImplementedError):
        ragged(VerlDataProto).padding(1, "first")

    assert told(ragged(DataProto)[item]) == SWAPPED
    padded = ragged(DataProto)[[True, False]]
    padded.padding(1, "first")
    assert told(padded) == FIRST_TWICE


REPEATED: list[Callable[[Any], Any]] = [
    lambda data: data.repeat(2)[:2],
    lambda data: data.repeat(2, interleave=False)[::2],
    lambda data: data.sample_level_repeat([2, 0]),
    lambda data: data.unfold_column_chunks(2, [])[:2],
]


@pytest.mark.parametrize("repeat", REPEATED)
def test_jagged_repeat(repeat: Callable[[Any], Any]) -> None:
    with pytest.raises((NotImplementedError, RuntimeError)):
        repeat(ragged(VerlDataProto))
    assert told(repeat(ragged(DataProto))) == FIRST_TWICE


def test_jagged_union() -> None:
    same, again = ragged(VerlDataProto), ragged(VerlDataProto)
    with pytest.raises(AttributeError):
        same.union(same.select())
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        same.union(again)

    assert ragged(DataProto).union(ragged(DataProto)) == ragged(DataProto)


def test_jagged_collate() -> None:
    def collated(kind: Any, module: Any, *rows: list[int]) -> torch.Tensor:
        data = kind.from_dict({"ids": jagged(*rows)})
        made = module.collate_fn([data[0], data[1]]).batch["ids"]
        (whole,) = data.make_iterator(2, 1)
        assert made.layout is whole.batch["ids"].layout
        return made  # type: ignore[no-any-return]

    with pytest.raises(RuntimeError, match="The shapes of the tensors to stack is incompatible"):
        collated(VerlDataProto, verl, [1, 2], [3])
    assert collated(VerlDataProto, verl, [1, 2], [3, 4]).layout is torch.strided
    assert collated(DataProto, dataproto, [1, 2], [3]).layout is torch.jagged
    assert collated(DataProto, dataproto, [1, 2], [3, 4]).layout is torch.jagged


def test_jagged_tensordict() -> None:
    holes = torch.nested.nested_tensor_from_jagged(torch.arange(6), torch.tensor([0, 3, 6]), torch.tensor([2, 1]))
    strided = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])
    for kind in (VerlDataProto, DataProto):
        for field in (holes, strided, ragged(kind)[:1].batch["positions"]):
            if kind is VerlDataProto:
                with pytest.raises((AssertionError, RuntimeError)):
                    kind(TensorDict({"x": field}, batch_size=[field.size(0)])).to_tensordict()
            else:
                assert kind(TensorDict({"x": field}, batch_size=[field.size(0)])).to_tensordict()["x"] is field


STRIDED: list[Callable[[Any], Any]] = [
    lambda data: type(data).from_dict({"x": data.batch["x"]}),
    lambda data: data[[0, 1]],
    lambda data: type(data).concat([data[:1], data[1:]]),
    lambda data: data.chunk(1)[0],
    lambda data: data.repeat(1),
    lambda data: data.union(data.select()),
    lambda data: pickle.loads(pickle.dumps(data)),
]


@pytest.mark.parametrize("operation", STRIDED)
def test_strided(operation: Callable[[Any], Any]) -> None:
    def rows(kind: Any) -> list[list[float]]:
        field = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])
        data = operation(kind(TensorDict({"x": field}, batch_size=[2])))
        return [row.tolist() for row in data.batch["x"].unbind(0)]

    with pytest.raises((NotImplementedError, RuntimeError)):
        rows(VerlDataProto)
    assert rows(DataProto) == [[1.0], [1.0, 1.0]]


def test_info_jagged(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(kind: Any) -> tuple[str, str]:
        data = kind.from_dict({"ids": jagged([1, 2], [3])}, {"text": ["x" * 1000, "y"]})
        data.print_size()
        return data.get_data_info(), capsys.readouterr().out

    info, sizes = shown(VerlDataProto)
    assert "(2, j" in info
    assert f"size of non_tensor_batch: {16 / 1024**3} GB" in sizes
    info, sizes = shown(DataProto)
    assert "ids: i64[2, jagged] (torch.int64) cpu" in info
    assert "text: 1." in sizes
    assert "KB" in sizes


def test_collate_columns() -> None:
    def collected(kind: Any, module: Any) -> list[dict[str, Any]]:
        columns = {"score": np.ones(2, dtype=np.float32), "chat": column([["a", "b"], ["c", "d"]])}
        data = kind.from_dict({"x": torch.ones(2)}, columns)
        made = [
            module.collate_fn([data[0], data[1]]),
            next(data.make_iterator(2, 1)),
            kind.from_tensordict(data.to_tensordict()),
        ]
        return [{key: (cells.dtype, cells.shape) for key, cells in one.non_tensor_batch.items()} for one in made]

    assert collected(VerlDataProto, verl) == [{"score": (object, (2,)), "chat": (object, (2, 2))}] * 3
    assert collected(DataProto, dataproto) == [{"score": (np.float32, (2,)), "chat": (object, (2,))}] * 3


def test_column_of_lists() -> None:
    def shape(kind: Any, cells: Any) -> tuple[int, ...]:
        return kind.from_dict(non_tensors={"c": cells}).non_tensor_batch["c"].shape  # type: ignore[no-any-return]

    equal, unequal = [[1, 2], [3, 4]], [[1, 2], [3]]
    assert (shape(VerlDataProto, equal), shape(VerlDataProto, unequal)) == ((2, 2), (2,))
    assert (shape(DataProto, equal), shape(DataProto, unequal)) == ((2,), (2,))


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword")
@pytest.mark.parametrize("value", [5, "text", {"a": 1}], ids=["number", "string", "dict"])
def test_column_kinds(value: Any) -> None:
    assert VerlDataProto.from_dict(non_tensors={"c": value}).non_tensor_batch["c"].shape == ()
    assert VerlDataProto.from_dict(non_tensors={"c": torch.ones(1)}).non_tensor_batch["c"].dtype == object
    assert VerlDataProto.from_dict({"x": np.ones(1)}).batch["x"].dtype is torch.float64

    with pytest.raises(BatchError, match="one value for the batch goes into meta_info"):
        DataProto.from_dict(non_tensors={"c": value})
    with pytest.raises(BatchError, match="a tensor goes into tensors"):
        DataProto.from_dict(non_tensors={"c": torch.ones(1)})
    with pytest.raises(BatchError, match="a column goes into non_tensors"):
        DataProto.from_dict({"x": np.ones(1)})  # type: ignore[dict-item]


def test_column_rows() -> None:
    columns = {"c": ["a"], "d": ["a", "b"]}

    assert len(VerlDataProto.from_dict(non_tensors=columns)) == 1
    with pytest.raises(BatchError, match="1 row in c, 2 rows in d"):
        DataProto.from_dict(non_tensors=columns)


def test_nested_tensordict() -> None:
    def kept(kind: Any) -> list[str]:
        inner = TensorDict({"y": torch.ones(1)}, batch_size=[1])
        return list(kind.from_tensordict(TensorDict({"x": torch.ones(1), "inner": inner}, batch_size=[1])).batch.keys())

    assert kept(VerlDataProto) == ["x"]
    assert kept(DataProto) == ["x", "inner"]


class Sender:
    """An object of whoever writes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_files(tmp_path: Path) -> None:
    def saved(kind: Any) -> str:
        path = str(tmp_path / kind.__module__)
        kind.from_dict(non_tensors={"c": [Sender(tmp_path / "code has run")]}).save_to_disk(path)
        return path

    pickled = saved(VerlDataProto)
    VerlDataProto.load_from_disk(pickled)
    assert (tmp_path / "code has run").exists()

    with pytest.raises(BatchError, match=r"c  .*Sender"):
        saved(DataProto)
    with pytest.raises(BatchError, match="pickle"):
        DataProto.load_from_disk(pickled)
