"""How batches are received: in memory of their own, unless a block around either side asks for views."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, transport
from batchpact.dataproto.wire.transport import Transport, asked
from batchpact.schemas import BatchError
from tests.dataproto.support import function_refuses, jagged, plain, says
from tests.dataproto.wire.ways import WAYS, loads, memory, tensors_of, travelled

READ_ONLY = WAYS["read-only bytes"]


def batch() -> DataProto:
    """Every field large enough for a buffer of its own."""
    return DataProto.from_dict(
        {
            "ids": torch.arange(2**14).reshape(4, -1),
            "bf16": torch.linspace(-1, 1, 2**16).to(torch.bfloat16).reshape(4, -1),
            "tokens": jagged(*([row] * 5000 for row in range(4))),
            "few": torch.arange(4),
        },
        {"score": np.arange(2**14, dtype=np.float32).reshape(4, -1), "cells": [np.arange(2**13)] * 4},
        {"weights": torch.arange(2**13)},
    )


def shares(received: DataProto, pickled: tuple[bytes, list[Any]]) -> list[bool]:
    """Whether each field is the memory of one of the buffers."""
    given = [memory(np.frombuffer(buffer, np.uint8)) for buffer in pickled[1]]
    fields = [*tensors_of(received), received.non_tensor_batch["score"], received.non_tensor_batch["cells"][0]]
    return [memory(field) in given for field in (*fields, received.meta_info["weights"])]


VIEWS = [True, True, True, False, False, True, True, True]  # neither the offsets nor the few numbers are buffers
COPIES = [False] * 8


@pytest.mark.parametrize("way", ["its own memory", "read-only bytes", "a bytearray"])
@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [
        (None, None, COPIES),
        (True, None, VIEWS),
        (None, True, VIEWS),
        (True, True, VIEWS),
        (True, False, COPIES),
        (False, True, VIEWS),
        (False, None, COPIES),
    ],
)
def test_views_are_received_where_either_side_asks_and_the_receiver_counts(
    sender: bool | None, receiver: bool | None, expected: list[bool], way: str
) -> None:
    data = batch()
    with transport(zero_copy=sender):
        pickled = WAYS[way](data)

    with transport(zero_copy=receiver):
        received = loads(pickled)

    assert shares(received, pickled) == expected
    assert plain(received) == plain(data)


def test_no_warning_says_that_views_are_read_only() -> None:
    pickled = READ_ONLY(batch())

    with warnings.catch_warnings(), transport(zero_copy=True):
        warnings.simplefilter("error")
        received = loads(pickled)

    assert received.batch["ids"].sum() == batch().batch["ids"].sum()


def test_numpy_protects_views_of_read_only_memory() -> None:
    with transport(zero_copy=True):
        received = loads(READ_ONLY(batch()))

    for array in (received.non_tensor_batch["score"], received.non_tensor_batch["cells"][0]):
        with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
            array[:] = 0


def test_each_view_has_a_version_counter_of_its_own() -> None:
    with transport(zero_copy=True):
        received = travelled(batch(), "a bytearray")

    received.batch["ids"].add_(1)

    assert [tensor._version for tensor in tensors_of(received)] == [1, 0, 0, 0, 0]


def test_a_deep_copy_of_views_may_be_kept_and_written_on() -> None:
    data = batch()
    with transport(zero_copy=True):
        kept = copy.deepcopy(travelled(data))

    kept.batch["ids"].zero_()
    kept.batch["tokens"].values().zero_()
    kept.non_tensor_batch["cells"][0][:] = 0

    assert plain(data) == plain(batch())


def test_what_is_written_into_a_view_is_written_into_what_it_is_a_view_of() -> None:
    """What the documentation forbids: nobody can refuse it."""
    data = batch()
    with transport(zero_copy=True):
        received = travelled(data)

    received.batch["ids"].zero_()

    assert not data.batch["ids"].any()


# --- blocks -----------------------------------------------------------------------------------------------------------


def test_what_an_inner_block_does_not_say_the_outer_one_does() -> None:
    with transport(zero_copy=True):
        with transport(device="cpu"):
            assert asked() == Transport(True, "cpu")
            with transport(zero_copy=False, device=torch.device("cuda", 1)):
                assert asked() == Transport(False, "cuda:1")
        assert asked() == Transport(True, None)
    assert asked() == Transport(None, None)


def test_a_block_ends_with_an_error_too() -> None:
    with pytest.raises(KeyError), transport(zero_copy=True):
        raise KeyError

    assert asked() == Transport(None, None)


def test_a_block_counts_for_its_own_thread() -> None:
    seen = []
    with transport(zero_copy=True):
        thread = threading.Thread(target=lambda: seen.append(asked()))
        thread.start()
        thread.join()

    assert seen == [Transport(None, None)]


def test_nothing_depends_on_the_environment_of_the_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    data, pickled = batch(), READ_ONLY(batch())
    for method in ("numpy", "torch", ""):
        monkeypatch.setenv("VERL_DATAPROTO_SERIALIZATION_METHOD", method)
        assert plain(loads(pickled)) == plain(data)


# --- devices ----------------------------------------------------------------------------------------------------------


def test_a_device_that_is_none_is_refused() -> None:
    with (
        function_refuses("transport", f"BP045 store  device  'graphics'; {torch_says('graphics')}"),
        transport(device="graphics"),
    ):
        pass


def torch_says(device: str) -> str:
    try:
        torch.device(device)
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    raise AssertionError


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device")
@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_device_that_the_receiver_does_not_have_is_refused_there(side: str) -> None:
    with transport(device="cuda" if side == "sender" else None):
        pickled = READ_ONLY(batch())

    with (
        says(
            BatchError,
            "in pickle.loads; nothing was changed",
            f"BP047 encoding  batch  {no_cuda()}; device 'cuda'",
        ),
        transport(device="cuda" if side == "receiver" else None),
    ):
        loads(pickled)


def no_cuda() -> str:
    try:
        torch.empty(0, device="cuda")
    except (RuntimeError, AssertionError) as error:
        return str(error).partition("\n")[0]
    raise AssertionError


@pytest.mark.parametrize(("asks", "device"), [(None, None), ("cpu", "cpu")])
def test_a_tensordict_is_on_the_device_that_was_asked_for(asks: str | None, device: str | None) -> None:
    pickled = WAYS["its own memory"](batch())
    with transport(device=asks):
        received = loads(pickled)

    assert shares(received, pickled) == COPIES
    assert received.batch.device == (None if device is None else torch.device(device))


def test_the_values_arrive_on_the_device_that_was_asked_for_without_a_copy_on_the_way() -> None:
    """On the meta device, which every machine has: it keeps what a tensor is, and no values."""
    data = batch()
    with transport(device="meta"):
        received = travelled(data.select(["ids", "bf16", "few"]))

    for key, value in received.batch.items():
        assert (value.device.type, value.dtype, value.shape) == ("meta", data.batch[key].dtype, data.batch[key].shape)
    assert received.batch.device == torch.device("meta")
    assert received.meta_info["weights"].device.type == "cpu"
    assert received.non_tensor_batch["score"].flags.writeable


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tensors_on_a_gpu_arrive_on_the_cpu_unless_asked_otherwise() -> None:
    data = batch()
    tensors = {key: value.to("cuda") for key, value in data.batch.items()}
    sent = DataProto(TensorDict(tensors, batch_size=[4], device="cuda"), data.non_tensor_batch, data.meta_info)

    received = pickle.loads(pickle.dumps(sent))
    with transport(device="cuda"):
        again = pickle.loads(pickle.dumps(data))

    assert plain(received) == plain(data)
    assert received.batch.device == torch.device("cpu")
    assert {value.device.type for value in again.batch.values()} == {"cuda"}
    assert again.batch["tokens"].offsets().device.type == "cuda"
    assert plain(again.to("cpu")) == plain(data)
