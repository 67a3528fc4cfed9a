"""Looking at fields and taking them out, by name: the same strictness for tensors, columns and meta."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import tensordicts as tu
from batchpact.schemas import MissingFieldError
from tests.dataproto.tensordicts.support import refuses, shown, small, with_meta


@pytest.mark.parametrize("look", [tu.get, tu.pop])
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("uid", ["a", "b", "c", "d"]),
        ("turns", [[], [0.5], [{"k": 1}], None]),
        ("step", 3),
        ("four", [1, 2, 3, 4]),
        ("absent", None),
    ],
)
def test_a_field_comes_as_a_plain_value(look: Any, key: str, expected: Any) -> None:
    batch = small()

    assert look(batch, key) == expected
    assert type(look(small(), key)) is type(expected)
    assert (key in batch.keys()) is (look is tu.get and key != "absent")


@pytest.mark.parametrize("look", [tu.get, tu.pop])
def test_a_tensor_comes_as_it_is(look: Any) -> None:
    batch = small()
    ids, flat = batch["ids"], batch["flat"]

    assert look(batch, "ids") is ids
    assert look(batch, "flat") is flat


def test_a_field_of_fields_comes_as_it_is() -> None:
    batch = TensorDict({"inner": TensorDict({"x": torch.ones(2)}, batch_size=[2])}, batch_size=[2])

    assert shown(tu.get(batch, "inner")) == shown(batch["inner"])


@pytest.mark.parametrize("look", [tu.get, tu.pop])
@pytest.mark.parametrize("default", [4, [], "text", torch.ones(1)], ids=repr)
def test_the_default_is_returned_as_it_is_where_the_name_is_not_there(look: Any, default: Any) -> None:
    assert look(small(), "absent", default) is default
    assert look(small(), key="absent", default=default) is default


def test_a_value_that_is_none_is_no_missing_one() -> None:
    assert tu.get(with_meta(k=None), "k", default=1) is None
    assert tu.pop(with_meta(k=None), "k", default=1) is None


def test_meta_without_a_batch_axis_is_found() -> None:
    batch = with_meta(k=[1, 2])

    assert tu.get(batch, "k") == [1, 2]
    assert tu.pop(batch, "k") == [1, 2]
    assert list(batch.keys()) == []


def test_some_fields_make_a_tensordict_of_their_own() -> None:
    batch = small()
    before = shown(batch)

    chosen = tu.get_keys(batch, ["ids", "deep", "turns", "four"])

    assert shown(chosen) == {key: before[key] for key in ("deep", "four", "ids", "turns")}
    assert chosen.batch_size == (4,)
    assert chosen["ids"] is batch["ids"]
    chosen["turns"][0] = "changed"
    tu.assign_non_tensor(chosen, four=0)
    assert shown(batch) == before


def test_fields_that_are_popped_are_gone() -> None:
    batch = small()
    before = shown(batch)

    popped = tu.pop_keys(batch, iter(["uid", "flat", "step"]))

    assert shown(popped) == {key: before[key] for key in ("flat", "step", "uid")}
    assert shown(batch) == {key: before[key] for key in ("deep", "four", "ids", "turns")}
    assert popped.batch_size == batch.batch_size == (4,)


@pytest.mark.parametrize("choose", [tu.get_keys, tu.pop_keys])
def test_meta_alone_has_no_batch_axis(choose: Any) -> None:
    chosen = choose(small(), ["step", "four"])

    assert chosen.batch_size == ()
    assert shown(chosen) == {"step": ("meta", "3"), "four": ("meta", "[1, 2, 3, 4]")}


@pytest.mark.parametrize("choose", [tu.get_keys, tu.pop_keys])
def test_no_key_and_the_same_key_twice_are_allowed(choose: Any) -> None:
    assert shown(choose(small(), [])) == {}
    assert shown(choose(small(), ["uid", "uid"])) == {"uid": shown(small())["uid"]}
    assert shown(choose(small(), "uid")) == {"uid": shown(small())["uid"]}


@pytest.mark.parametrize("choose", [tu.get_keys, tu.pop_keys])
def test_every_missing_name_is_told_and_nothing_is_taken(choose: Any) -> None:
    batch = small()
    before = shown(batch)

    with refuses(
        choose.__name__,
        "BP046 name  turn  not in the TensorDict; closest name: 'turns'",
        "BP046 name  zzz   not in the TensorDict",
        kind=MissingFieldError,
    ):
        choose(batch, ["ids", "turn", "step", "zzz"])

    assert shown(batch) == before
    with pytest.raises(KeyError):
        choose(batch, ["zzz"])


def test_nothing_is_taken_out_of_a_locked_tensordict() -> None:
    batch = small().lock_()
    line = "BP045 store  batch  a locked TensorDict; one that can be written: unlock_()"

    with refuses("pop", line):
        tu.pop(batch, "uid")
    with refuses("pop_keys", line):
        tu.pop_keys(batch, ["uid"])

    assert tu.get(batch, "uid") == ["a", "b", "c", "d"]
    assert shown(tu.get_keys(batch, ["step"])) == {"step": ("meta", "3")}


@pytest.mark.parametrize("function", [tu.get, tu.pop, tu.get_keys, tu.pop_keys])
def test_anything_else_is_refused(function: Any) -> None:
    with refuses(
        function.__name__,
        "BP045 store  batch  dict of 1; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one",
    ):
        function({"a": 1}, "a")
