"""The ways a batch is pickled and unpickled, and what must not change where it was."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from tensordict import TensorDictBase

from batchpact.dataproto import DataProto
from tests.dataproto.support import plain

Pickled = tuple[bytes, list[Any]]


def in_band(protocol: int) -> Callable[[object], Pickled]:
    return lambda value: (pickle.dumps(value, protocol=protocol), [])


def out_of_band(kept: Callable[[pickle.PickleBuffer], Any]) -> Callable[[object], Pickled]:
    def dumps(value: object) -> Pickled:
        buffers: list[pickle.PickleBuffer] = []
        return pickle.dumps(value, protocol=5, buffer_callback=buffers.append), [kept(buffer) for buffer in buffers]

    return dumps


def not_aligned(buffer: pickle.PickleBuffer) -> memoryview:
    return memoryview(b"?" + bytes(buffer))[1:]


WAYS: dict[str, Callable[[object], Pickled]] = {
    **{f"protocol {protocol}": in_band(protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "its own memory": out_of_band(lambda buffer: buffer),
    "read-only bytes": out_of_band(bytes),
    "a bytearray": out_of_band(bytearray),
    "memory that is not aligned": out_of_band(not_aligned),
}


def loads(pickled: Pickled) -> Any:
    return pickle.loads(pickled[0], buffers=pickled[1])


def travelled(value: Any, way: str = "its own memory") -> Any:
    """What arrives of a value."""
    return loads(WAYS[way](value))


def tensors_of(batch: DataProto | TensorDictBase) -> Iterator[torch.Tensor]:
    """Every dense tensor, and the parts of jagged ones."""
    held = batch.batch if isinstance(batch, DataProto) else batch
    for value in [] if held is None else held.values():
        if isinstance(value, TensorDictBase):
            yield from tensors_of(value)
        elif value.is_nested and value.layout is torch.jagged:
            yield from (value.values(), value.offsets())
        elif isinstance(value, torch.Tensor) and not value.is_nested:
            yield value


def memory(value: torch.Tensor | np.ndarray) -> range:
    """The addresses of its elements."""
    if isinstance(value, np.ndarray):
        start = value.__array_interface__["data"][0]
        return range(start, start + value.nbytes)
    return range(value.data_ptr(), value.data_ptr() + value.nbytes)


def overlap(one: range, two: range) -> bool:
    return max(one.start, two.start) < min(one.stop, two.stop)


@contextmanager
def untouched(batch: DataProto) -> Iterator[None]:
    """The block leaves a batch as it was: the same objects, unchanged, unlocked, and free to be resized."""
    held = batch.batch
    stores = {} if held is None else dict(held.items()), dict(batch.non_tensor_batch), dict(batch.meta_info)
    attributes, words = set(batch.__dict__), plain_or_none(batch)
    state = [_state(tensor) for tensor in tensors_of(batch)]
    writeable = [column.flags.writeable for column in batch.non_tensor_batch.values()]
    yield
    assert batch.batch is held
    now = {} if held is None else dict(held.items()), batch.non_tensor_batch, batch.meta_info
    for before, after in zip(stores, now, strict=True):
        assert list(before) == list(after)
        assert all(before[key] is after[key] for key in before)
    assert set(batch.__dict__) == attributes
    assert plain_or_none(batch) == words
    assert [_state(tensor) for tensor in tensors_of(batch)] == state
    assert [column.flags.writeable for column in batch.non_tensor_batch.values()] == writeable
    assert held is None or not (held.is_locked or held.is_consolidated())


def _state(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tensor._version, tensor.requires_grad, tensor.untyped_storage().resizable()


def plain_or_none(batch: DataProto) -> dict[str, str] | None:
    """Every field as text, where each of them can be told."""
    nested = () if batch.batch is None else batch.batch.values()
    return plain(batch) if all(isinstance(value, torch.Tensor) for value in nested) else None
