"""The functions around the container, side by side with verl's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict import NonTensorStack

from batchpact import dataproto
from batchpact.dataproto import DataProto, DataProtoConfig, column
from tests.dataproto.support import COLUMNS, TENSORS, jagged, plain

pytestmark = pytest.mark.peers

alike = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def verl() -> Any:
    """verl's module of the container, which also has the functions."""
    return pytest.importorskip("verl.protocol")


def given_fields(rows: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "tensors": {name: TENSORS[name](rng, rows) for name in ("f32", "i64", "bool", "bf16")},
        "non_tensors": {name: COLUMNS[name](rng, rows) for name in ("strings", "lists", "dicts", "f32_column")},
        "meta_info": {"k": 0.5, "list": list(range(rows))},
    }


def both(verl: Any, rows: int, seed: int = 0) -> tuple[DataProto, Any]:
    made = (kind.from_dict(**copy.deepcopy(given_fields(rows, seed))) for kind in (DataProto, verl.DataProto))
    return next(made), next(made)


# --- padding ----------------------------------------------------------------------------------------------------------


@alike
@given(rows=st.integers(0, 6), divisor=st.integers(1, 9))
def test_padding_to_a_divisor_and_back(verl: Any, rows: int, divisor: int) -> None:
    ours, theirs = both(verl, rows)

    padded, pad_size = dataproto.pad_dataproto_to_divisor(ours, divisor)
    their_padded, their_size = verl.pad_dataproto_to_divisor(theirs, divisor)

    assert pad_size == their_size
    assert plain(padded) == plain(their_padded)
    unpadded, their_unpadded = dataproto.unpad_dataproto(padded, pad_size), verl.unpad_dataproto(their_padded, pad_size)
    assert plain(unpadded) == plain(their_unpadded)


@alike
@given(rows=st.integers(1, 5), size=st.integers(0, 5), candidate=st.sampled_from(["", "first", "last"]))
def test_padding_in_place(verl: Any, rows: int, size: int, candidate: str) -> None:
    ours, theirs = both(verl, rows)

    assert ours.padding(size, candidate) is theirs.padding(size, candidate) is None  # type: ignore[func-returns-value]

    assert plain(ours) == plain(theirs)


def test_a_result_without_marks_is_unpadded_by_position(verl: Any) -> None:
    ours, theirs = both(verl, 5)

    assert plain(dataproto.unpad_dataproto(ours, 2)) == plain(verl.unpad_dataproto(theirs, 2))


def test_auto_padding_is_the_same_switch(verl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = given_fields(3)
    ours = DataProto.from_dict(**fields, auto_padding=True)
    theirs = verl.DataProto.from_dict(**copy.deepcopy(fields), auto_padding=True)

    assert plain(ours) == plain(theirs)
    assert ours.to_verl().is_padding_enabled()
    assert DataProto.from_verl(theirs).is_padding_enabled()
    assert DataProtoConfig.auto_padding_key == verl.DataProtoConfig.auto_padding_key
    monkeypatch.setenv("VERL_AUTO_PADDING", "1")
    assert DataProtoConfig.auto_padding is verl.DataProtoConfig.auto_padding is True


# --- conversions ------------------------------------------------------------------------------------------------------


def test_to_verl_and_back_shares_every_tensor(verl: Any) -> None:
    ours = DataProto.from_dict(**given_fields(4))
    assert ours.batch is not None

    theirs = ours.to_verl()
    back = DataProto.from_verl(theirs)

    assert type(theirs) is verl.DataProto
    assert plain(theirs) == plain(back) == plain(ours)
    assert back.batch is not None
    for key in ours.batch.keys():
        assert ours.batch[key].data_ptr() == theirs.batch[key].data_ptr() == back.batch[key].data_ptr()
    theirs.meta_info["late"] = 1
    theirs.batch["late"] = torch.ones(4)
    theirs.non_tensor_batch["later"] = column("abcd")
    assert plain(back) == plain(ours)


@pytest.mark.parametrize(
    "data",
    [
        DataProto(),
        DataProto(meta_info={"k": 1}),
        DataProto.from_dict(non_tensors={"c": [1, 2]}),
        DataProto.from_dict({"j": jagged([1], [])}),
        DataProto.from_dict({"x": torch.ones(0, 2)}, {"c": []}),
    ],
    ids=["nothing", "meta", "columns", "jagged", "no rows"],
)
def test_odd_batches_go_to_verl_and_back(verl: Any, data: DataProto) -> None:
    assert plain(DataProto.from_verl(data.to_verl())) == plain(data)


def test_a_tensordict_of_ours_is_read_by_verl(verl: Any) -> None:
    """But for the kind of numeric columns, which verl makes objects."""
    ours = DataProto.from_dict(**given_fields(3))

    theirs = verl.DataProto.from_tensordict(ours.to_tensordict())

    read, written = plain(theirs), plain(ours)
    assert read.pop("column f32_column").startswith("object")
    assert written.pop("column f32_column").startswith("float32")
    assert {key: read[key] for key in read if "lists" not in key} == {
        key: written[key] for key in written if "lists" not in key
    }
    assert [list(cell) for cell in theirs.non_tensor_batch["lists"]] == list(ours.non_tensor_batch["lists"])


def test_a_tensordict_of_verls_is_read(verl: Any) -> None:
    _, theirs = both(verl, 3)

    ours = DataProto.from_tensordict(theirs.to_tensordict())

    read, written = plain(ours), plain(theirs)
    assert read.pop("column f32_column").startswith("object")  # verl does not say the kind
    written.pop("column f32_column")
    # verl writes a list in meta so that it cannot be told from a column with as many rows.
    assert isinstance(theirs.to_tensordict().get("list"), NonTensorStack) is ("column list" in read)
    for place in ("column list", "meta list"):
        read.pop(place, None)
        written.pop(place, None)
    assert read == written


# --- the rest of the surface ------------------------------------------------------------------------------------------

SAME: dict[str, Callable[[Any, Any], Any]] = {
    "sample_level_repeat": lambda data, module: data.sample_level_repeat([1, 0, 3, 2, 1, 1]),
    "sample_level_repeat of an array": lambda data, module: data.sample_level_repeat(np.array([2, 1, 0, 0, 1, 1])),
    "sample_level_repeat of a tensor": lambda data, module: data.sample_level_repeat(torch.tensor([0, 1, 2, 3, 1, 1])),
    "unfold_column_chunks": lambda data, module: data.unfold_column_chunks(3, split_keys=["f32"]),
    "unfold_column_chunks of bf16": lambda data, module: data.unfold_column_chunks(2, split_keys=["bf16"]),
    "fold": lambda data, module: module.fold_batch_dim(data, 3),
    "fold and unfold": lambda data, module: module.unfold_batch_dim(module.fold_batch_dim(data, 2)),
    "unfold the second axis": lambda data, module: module.unfold_batch_dim(
        data.select(["f32", "bool"], []).select(["f32"])
    ),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("seed", range(3))
def test_rows_come_out_the_same(verl: Any, name: str, seed: int) -> None:
    ours, theirs = both(verl, 6, seed)

    assert plain(SAME[name](ours, dataproto)) == plain(SAME[name](theirs, verl))


@alike
@given(
    rows=st.sampled_from([2, 4, 6]),
    epochs=st.integers(0, 3),
    seed=st.none() | st.integers(0, 99),
    shuffle=st.booleans(),
)
def test_mini_batches_come_in_the_same_order(verl: Any, rows: int, epochs: int, seed: Any, shuffle: bool) -> None:
    """But for the kind of numeric columns, which verl makes objects."""
    ours, theirs = both(verl, rows)
    options = {"shuffle": shuffle}

    torch.manual_seed(7)
    parts = list(ours.make_iterator(2, epochs, seed=seed, dataloader_kwargs=options))
    torch.manual_seed(7)
    their_parts = list(theirs.make_iterator(2, epochs, seed=seed, dataloader_kwargs=options))

    assert len(parts) == len(their_parts)
    for part, their_part in zip(parts, their_parts, strict=True):
        told, their_told = plain(part), plain(their_part)
        assert told.pop("column f32_column").startswith("float32")
        assert their_told.pop("column f32_column").startswith("object")
        # verl makes a matrix of lists of equal length; ours stay one list per row.
        told.pop("column lists")
        their_told.pop("column lists")
        assert told == their_told


def test_single_rows_are_collated_alike(verl: Any) -> None:
    fields = given_fields(3)
    for name in ("lists", "f32_column"):
        del fields["non_tensors"][name]
    ours, theirs = DataProto.from_dict(**fields), verl.DataProto.from_dict(**copy.deepcopy(fields))

    made = dataproto.collate_fn([ours[2], ours[0]])

    assert plain(made) == plain(verl.collate_fn([theirs[2], theirs[0]]))


def test_plain_stores_are_joined_alike(verl: Any) -> None:
    def joined(module: Any, kind: Any) -> Any:
        one, two = kind.from_dict(**given_fields(2)), kind.from_dict({"y": torch.ones(2)}, {"d": ["a", "b"]})
        module.union_tensor_dict(one.batch, two.batch)
        module.union_numpy_dict(one.non_tensor_batch, two.non_tensor_batch)
        return one

    assert plain(joined(dataproto, DataProto)) == plain(joined(verl, verl.DataProto))


def test_the_listing_is_verls(verl: Any) -> None:
    ours, theirs = both(verl, 3)
    for data in (ours, theirs):
        data.meta_info.update({"t": (1, "a"), "d": {"a": [1.0]}, "n": np.zeros(2), "none": None, "empty": []})

    assert ours.get_data_info() == theirs.get_data_info()


def test_sizes_begin_as_verls_do(verl: Any, capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"tensors": {"x": torch.ones(3, 5)}, "non_tensors": {"c": np.ones(3, dtype=np.float32)}}

    DataProto.from_dict(**fields).print_size("after rollout")
    ours = capsys.readouterr().out.splitlines()
    verl.DataProto.from_dict(**fields).print_size("after rollout")

    assert ours[:1] == capsys.readouterr().out.splitlines()
    assert ours[1:] == ["  x: 60 B", "  c: 12 B"]
