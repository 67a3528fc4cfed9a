"""What a stage does not declare is withheld, and a look at it is an error: never False, never a default."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import UndeclaredReadError
from tests.contracts.stages import (
    CONTAINERS,
    STORES,
    WITHHELD,
    ComputeReturns,
    Container,
    every_store,
    in_every_container,
    refusal,
    scored,
    store_of,
)

Look = Callable[[Any, str], Any]

LOOKS: dict[str, Look] = {
    "[]": lambda store, name: store[name],
    "get": lambda store, name: store.get(name),
    "get with a default": lambda store, name: store.get(name, None),
    "pop": lambda store, name: store.pop(name),
    "pop with a default": lambda store, name: store.pop(name, None),
    "setdefault": lambda store, name: store.setdefault(name, torch.zeros(4)),
    "in": lambda store, name: name in store,
    "in keys()": lambda store, name: name in store.keys(),
}
every_look = pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())


def look_inside(container: Container, store: str, look: Look, name: str) -> Any:
    """What a stage gets to see that looks for a name."""
    seen: list[Any] = []

    @stage(ComputeReturns)
    def looking(data: Any) -> None:
        seen.append(look(store_of(data, store), name))

    looking(scored(container))
    return seen[0]


@in_every_container
@every_store
@every_look
def test_every_look_at_a_withheld_name_is_an_error(container: Container, store: str, look: Look) -> None:
    name, held = WITHHELD[store]

    message = refusal(lambda: look_inside(container, store, look, name), UndeclaredReadError)

    assert message == (
        "1 problem in stage 'looking', which looked for a field it does not declare\n\n"
        f"  BP002 withheld  {name}  the caller's batch holds {held}; "
        f"the Reads of 'looking' do not declare it; add {name} to them"
    )


@pytest.mark.parametrize("container", [CONTAINERS["ours"], CONTAINERS["verl"]], ids=["ours", "verl"])
@every_store
@every_look
def test_a_withheld_name_is_known_in_the_other_stores_too(container: Container, store: str, look: Look) -> None:
    """The stage looks in a store where the field would not even be."""
    for other in set(STORES) - {store}:
        with pytest.raises(UndeclaredReadError, match=f"BP002 withheld  {WITHHELD[other][0]}  the caller's batch"):
            look_inside(container, store, look, WITHHELD[other][0])


@in_every_container
@every_store
def test_other_names_miss_as_usual(container: Container, store: str) -> None:
    results = {
        kind: look_inside(container, store, LOOKS[kind], "nobody_has_it")
        for kind in ("get", "get with a default", "pop with a default", "in", "in keys()")
    }

    assert results == {
        "get": None,
        "get with a default": None,
        "pop with a default": None,
        "in": False,
        "in keys()": False,
    }


@in_every_container
@every_store
@pytest.mark.parametrize("kind", ["[]", "pop"])
def test_other_names_are_an_ordinary_key_error(container: Container, store: str, kind: str) -> None:
    with pytest.raises(KeyError, match="nobody_has_it") as caught:
        look_inside(container, store, LOOKS[kind], "nobody_has_it")

    assert not isinstance(caught.value, UndeclaredReadError)


@in_every_container
@every_store
@pytest.mark.parametrize("kind", ["in", "in keys()"])
def test_a_declared_name_is_found(container: Container, store: str, kind: str) -> None:
    declared = {"tensor": "rewards", "column": "uid", "meta": "gamma"}[store]

    assert look_inside(container, store, LOOKS[kind], declared) is True


@in_every_container
def test_a_name_set_by_the_stage_itself_is_its_own(container: Container) -> None:
    """Also one that the caller's batch holds: what stands there now is the stage's."""
    seen: dict[str, Any] = {}

    @stage(ComputeReturns)
    def scratching(data: Any) -> None:
        tensors = store_of(data, "tensor")
        tensors["values"] = torch.ones(4)
        tensors["halves"] = torch.full((4,), 0.5)
        seen["values"] = tensors["values"].tolist()
        seen["halves"] = tensors.pop("halves", None).tolist()
        seen["in"] = "values" in tensors, "halves" in tensors

    batch = scored(container)
    before = store_of(batch, "tensor")["values"].clone()
    scratching(batch)

    assert seen == {"values": [1.0] * 4, "halves": [0.5] * 4, "in": (True, False)}
    assert torch.equal(store_of(batch, "tensor")["values"], before)
    assert "halves" not in store_of(batch, "tensor").keys()


DERIVATIONS: dict[str, Callable[[DataProto], DataProto]] = {
    "rows": lambda data: data[torch.tensor([2, 0])],
    "a slice": lambda data: data[1:3],
    "a chunk": lambda data: data.chunk(2)[1],
    "a repeat": lambda data: data.repeat(2),
    "some fields": lambda data: data.select(["rewards"]),
    "a concat": lambda data: DataProto.concat([data, data]),
    "a row": lambda data: data[0],
}


@pytest.mark.parametrize("derive", DERIVATIONS.values(), ids=DERIVATIONS.keys())
@every_store
def test_what_is_derived_from_the_batch_withholds_the_same(derive: Callable[[Any], Any], store: str) -> None:
    @stage(ComputeReturns)
    def deriving(data: DataProto) -> None:
        store_of(derive(data), store).get(WITHHELD[store][0], None)

    with pytest.raises(UndeclaredReadError, match=f"withheld  {WITHHELD[store][0]}  the caller's batch holds"):
        deriving(scored())


TENSOR_DICT_DERIVATIONS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda data: data[torch.tensor([2, 0])],
    "a chunk": lambda data: data.chunk(2)[0],
    "a split": lambda data: data.split(2)[0],
    "select": lambda data: data.select("rewards"),
    "exclude": lambda data: data.exclude("rewards"),
    "clone": lambda data: data.clone(),
    "copy": lambda data: data.copy(),
    "to": lambda data: data.to("cpu"),
    "contiguous": lambda data: data.contiguous(),
}


@pytest.mark.parametrize("derive", TENSOR_DICT_DERIVATIONS.values(), ids=TENSOR_DICT_DERIVATIONS.keys())
def test_a_tensordict_derived_from_the_batch_withholds_the_same(derive: Callable[[Any], Any]) -> None:
    @stage(ComputeReturns)
    def deriving(data: Any) -> bool:
        return "values" in derive(data)

    with pytest.raises(UndeclaredReadError, match="withheld  values  the caller's batch holds tensor"):
        deriving(scored(CONTAINERS["tensordict"]))


def test_key_sets_are_looks_as_well() -> None:
    """verl asks `{"uid", "data_source"} & batch.non_tensor_batch.keys()` for what it can get."""

    @stage(ComputeReturns)
    def intersecting(data: DataProto) -> None:
        _ = {"uid", "data_source"} & data.non_tensor_batch.keys()

    with pytest.raises(UndeclaredReadError, match="withheld  data_source  the caller's batch holds"):
        intersecting(scored())


# --- typed Reads --------------------------------------------------------------------------------------------------


def test_an_undeclared_attribute_of_typed_reads_is_an_error() -> None:
    @stage
    def asking(batch: ComputeReturns.Reads) -> None:
        _ = batch.values

    assert refusal(lambda: asking(scored()), UndeclaredReadError) == (
        "1 problem in stage 'asking', which looked for a field it does not declare\n\n"
        "  BP002 withheld  values  the caller's batch holds tensor f32[4, 3]; "
        "the Reads of 'asking' do not declare it; add values to them"
    )


@pytest.mark.parametrize("look", [lambda batch, name: hasattr(batch, name), lambda b, name: getattr(b, name, None)])
@pytest.mark.parametrize("name", ["values", "data_source", "global_steps"])
def test_hasattr_and_getattr_with_a_default_are_looks_too(look: Look, name: str) -> None:
    @stage
    def asking(batch: ComputeReturns.Reads) -> None:
        look(batch, name)

    with pytest.raises(UndeclaredReadError, match=f"withheld  {name}  the caller's batch holds"):
        asking(scored())


def test_other_attributes_of_typed_reads_miss_as_usual() -> None:
    seen: list[object] = []

    @stage
    def asking(batch: ComputeReturns.Reads) -> None:
        seen.append(hasattr(batch, "nobody_has_it"))
        with pytest.raises(AttributeError, match=r"^ComputeReturns\.Reads declares no field 'nobody_has_it'$"):
            _ = batch.nobody_has_it

    asking(scored())

    assert seen == [False]


# --- copies -------------------------------------------------------------------------------------------------------


def test_a_copy_of_the_handed_stores_is_plain() -> None:
    """What was withheld does not travel: a copy to keep or to send holds the declared fields."""
    kept: list[Any] = []

    @stage(ComputeReturns)
    def keeping(data: DataProto) -> None:
        kept.append(copy.deepcopy(data.non_tensor_batch))

    keeping(scored())

    assert type(kept[0]) is dict
    assert kept[0]["uid"].tolist() == ["a", "a", "b", "b"]
