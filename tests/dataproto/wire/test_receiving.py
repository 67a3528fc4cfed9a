"""What arrives in another form than the one in which batches are sent is one clear error, and no batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto
from batchpact.dataproto.wire.opening import FORMAT, VERSION, Opening, receive_opening
from batchpact.dataproto.wire.receiving import receive
from batchpact.schemas import BatchError
from tests.dataproto.support import jagged, says
from tests.dataproto.wire.ways import travelled

refused = "in pickle.loads; nothing was changed"


def batch() -> DataProto:
    inner = TensorDict({"deep": torch.ones(2, 2)}, batch_size=[2])
    tensors = {"x": torch.arange(6.0).reshape(2, 3), "tokens": jagged([1, 2], [3]), "inner": inner}
    return DataProto(TensorDict(tensors, batch_size=[2]), {"score": np.arange(2), "uid": np.array(["a", "b"], object)})


def header(change: Callable[[Any], None] = lambda header: None) -> Any:
    """What is sent of that batch, changed."""
    _, (_, _, made) = batch().__reduce_ex__(5)
    change(made)
    return made


def test_what_was_not_changed_is_received() -> None:
    assert receive(VERSION, DataProto, header()) == batch()


# --- versions ---------------------------------------------------------------------------------------------------------


class Later:
    """What only a later version could read."""

    def __reduce__(self) -> Any:
        return later, ()


def later() -> None:
    raise AttributeError("only a later version has this")


@pytest.mark.parametrize("version", [0, 2, "1.0", None])
def test_another_version_is_refused_before_anything_else_is_read(version: object, monkeypatch: Any) -> None:
    monkeypatch.setattr(Opening, "__reduce__", lambda self: (receive_opening, (FORMAT, version)))
    data = DataProto.from_dict({"x": torch.ones(2)}, meta_info={"k": Later()})

    with says(
        BatchError,
        refused,
        f"BP047 encoding  batch  version {version!r}; version 1, which this batchpact reads; "
        "give sender and receiver the same batchpact",
    ):
        travelled(data)


@pytest.mark.parametrize(
    ("found", "words"), [("something else", "'something else'"), (None, "None"), ([1], "list of 1")]
)
def test_another_format_is_refused(found: object, words: str) -> None:
    with says(BatchError, refused, f"BP047 encoding  batch  {words}; 'batchpact batch'"):
        receive_opening(found, VERSION)


def test_the_version_is_the_first_thing_that_is_read() -> None:
    function, arguments = batch().__reduce_ex__(5)

    assert function is receive
    assert arguments[0].__reduce__() == (receive_opening, ("batchpact batch", 1))


# --- headers ----------------------------------------------------------------------------------------------------------


def drop(key: str) -> Callable[[Any], None]:
    return lambda header: header.pop(key)


def put(value: object, *path: str) -> Callable[[Any], None]:
    def change(header: Any) -> None:
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        drop("size"),
        drop("tensors"),
        drop("transport"),
        put([], "tensors"),
        put(None, "meta"),
        put((None,), "transport"),
    ],
)
def test_a_header_that_is_none_is_refused(change: Callable[[Any], None]) -> None:
    changed = header(change)

    with says(
        BatchError,
        refused,
        f"BP047 encoding  batch  dict of {len(changed)} for {type(DataProto).__name__}; the header of a batch",
    ):
        receive(VERSION, DataProto, changed)


@pytest.mark.parametrize(("kind", "words"), [(dict, "type"), (batch(), "DataProto"), (None, "None")])
def test_a_class_that_is_none_of_batches_is_refused(kind: Any, words: str) -> None:
    with says(BatchError, refused, f"BP047 encoding  batch  dict of 7 for {words}; the header of a batch"):
        receive(VERSION, kind, header())


DENSE = ("dense", "float32", (2, 3), bytes(24))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (put((2.0,), "size"), "batch  batch size (2.0,); a batch size"),
        (put((-2,), "size"), "batch  batch size (-2,); a batch size"),
        (put("2", "size"), "batch  batch size '2'; a batch size"),
        (put((3,), "size"), None),
        (put(("dense", "float32", (2, 3), bytes(23)), "tensors", "x"), "x  23 bytes; those of float32 (2, 3)"),
        (put(("dense", "float32", (2, 3), bytes(25)), "tensors", "x"), "x  25 bytes; those of float32 (2, 3)"),
        (put(("dense", "float32", (2, -3), bytes(24)), "tensors", "x"), "x  24 bytes; those of float32 (2, -3)"),
        (
            put(("dense", "float32", (2, 2**60), bytes(24)), "tensors", "x"),
            f"x  24 bytes; those of float32 (2, {2**60})",
        ),
        (put(("dense", "float33", (2, 3), bytes(24)), "tensors", "x"), "x  24 bytes; those of float33 (2, 3)"),
        (put(("dense", "qint8", (2, 3), bytes(6)), "tensors", "x"), "x  6 bytes; those of qint8 (2, 3)"),
        (put(("dense", "float32", (2, 3), "text"), "tensors", "x"), "x  str; those of float32 (2, 3)"),
        (put(("dense", "float32", (2, 3)), "tensors", "x"), "x  tuple of 3; the form of a dense tensor"),
        (put(("dense", "float32", (3, 2), bytes(24)), "tensors", "x"), "x  f32[3, 2]; batch size [2]"),
        (put(("dense", "float32", (), bytes(4)), "tensors", "x"), "x  f32[]; batch size [2]"),
        (put(("unknown", 1), "tensors", "x"), "x  tuple of 2; the form of a tensor"),
        (put(None, "tensors", "x"), "x  None; the form of a tensor"),
        (put(b"bytes", "tensors", "x"), "x  bytes; the form of a tensor"),
        (put(("pickled", torch.ones(3)), "tensors", "x"), "x  f32[3]; batch size [2]"),
        (put(("jagged", DENSE, None, 0), "tensors", "x"), "x  None; the form of a dense tensor"),
        (put(("jagged", None, DENSE, 0), "tensors", "x"), "x  None; the form of a dense tensor"),
        (put(("jagged", DENSE, DENSE, 0), "tensors", "x"), "x  f32[2, 3]; the offsets of a jagged tensor"),
        (put(("strided", "float33", []), "tensors", "x"), "x  'float33'; rows of a nested tensor"),
        (put(("strided", "float32", [None]), "tensors", "x"), "x  None; the form of a dense tensor"),
        (put(("tensordict", (3,), None, {}), "tensors", "x"), "x  TensorDict; batch size [2]"),
        (put(("tensordict", (2,), None, {"y": None}), "tensors", "x"), "x.y  None; the form of a tensor"),
        (put(("tensordict", ("2",), None, {}), "tensors", "x"), "x  batch size ('2',); a batch size"),
        (put(("array", "<i8", (2,), bytes(15)), "columns", "score"), "score  15 bytes; those of <i8 (2,)"),
        (put(("array", "<i9", (2,), bytes(16)), "columns", "score"), "score  16 bytes; those of <i9 (2,)"),
        (put(("array", "|O", (2,), bytes(16)), "columns", "score"), "score  16 bytes; those of |O (2,)"),
        (put(("array", "<i8", (2,), None), "columns", "score"), "score  None; those of <i8 (2,)"),
        (put(("objects", (3,), ["a", "b"]), "columns", "uid"), "uid  2 cells; those of (3,)"),
        (put(("objects", (2,), "ab"), "columns", "uid"), "uid  tuple of 3; the form of a column"),
        (put(("pickled", [1, 2]), "columns", "uid"), "uid  tuple of 2; the form of a column"),
        (put((None, "graphics"), "transport"), None),
    ],
)
def test_a_field_in_another_form_is_named(change: Callable[[Any], None], line: str | None) -> None:
    changed = header(change)

    if line is None:
        with pytest.raises(BatchError, match=r"BP047 encoding  "):
            receive(VERSION, DataProto, changed)
    else:
        with says(BatchError, refused, f"BP047 encoding  {line}"):
            receive(VERSION, DataProto, changed)


def test_every_tensor_in_another_form_is_named() -> None:
    def change(header: Any) -> None:
        header["tensors"].update(x=None, late=("dense", "int64", (2,), bytes(15)))

    with says(
        BatchError,
        refused,
        "BP047 encoding  x     None; the form of a tensor",
        "BP047 encoding  late  15 bytes; those of int64 (2,)",
    ):
        receive(VERSION, DataProto, header(change))


OFFSETS = {
    "fall": [0, 4, 2, 3],
    "start below zero": [-1, 2, 3],
}


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_that_fall_are_refused(name: str) -> None:
    def change(header: Any) -> None:
        offsets = torch.tensor(OFFSETS[name])
        tag, values, _, axis = header["tensors"]["tokens"]
        header["tensors"]["tokens"] = (
            tag,
            values,
            ("dense", "int64", tuple(offsets.shape), offsets.numpy().tobytes()),
            axis,
        )

    with says(
        BatchError, refused, "BP047 encoding  tokens  offsets that fall; where each row starts, and the last one ends"
    ):
        receive(VERSION, DataProto, header(change))


@pytest.mark.parametrize(("ends", "axis"), [([0, 2, 4], 0), ([0, 2, 3], 1), ([0, 2, 3], -1)])
def test_rows_outside_the_values_are_refused(ends: list[int], axis: int) -> None:
    def change(header: Any) -> None:
        tag, values, _, _ = header["tensors"]["tokens"]
        offsets = "dense", "int64", (3,), np.array(ends, np.int64).tobytes()
        header["tensors"]["tokens"] = tag, values, offsets, axis

    with says(BatchError, refused, f"BP047 encoding  tokens  rows on axis {axis} of i64[3]; rows within the values"):
        receive(VERSION, DataProto, header(change))


def test_stores_that_do_not_go_together_are_refused() -> None:
    changed = header(put(("objects", (1,), ["a"]), "columns", "uid"))
    changed["meta"]["x"] = 1

    with says(
        BatchError,
        refused,
        "BP016 rows   batch  2 rows in the tensors and score, 1 row in uid; one number of rows in both stores",
        "BP045 store  x      in batch and in meta_info; one place for one name",
    ):
        receive(VERSION, DataProto, changed)


# --- pickles that were cut, and buffers that are missing --------------------------------------------------------------


def test_a_buffer_that_was_cut_is_named() -> None:
    data = DataProto.from_dict({"x": torch.zeros(5000)})
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(data, protocol=5, buffer_callback=buffers.append)

    for cut in (0, 1, 19_999):
        with says(BatchError, refused, f"BP047 encoding  x  {cut} bytes; those of float32 (5000,)"):
            pickle.loads(pickled, buffers=[bytes(buffers[0])[:cut]])


def test_a_pickle_that_was_cut_is_an_error_of_pickle() -> None:
    pickled = pickle.dumps(batch())

    for cut in range(len(pickled)):
        with pytest.raises((pickle.UnpicklingError, EOFError, BatchError)):
            pickle.loads(pickled[:cut])
