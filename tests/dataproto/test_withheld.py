"""What was not handed out is known: a look at such a name is an error, in the stores and in what comes from them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto.withheld import HandedDict, HandedTensorDict, Withheld
from batchpact.schemas import UndeclaredReadError, Violation
from batchpact.schemas.stores import Stores
from tests.dataproto.support import jagged, says

SOURCE = Stores(
    {"ids": torch.arange(6).reshape(3, 2), "hidden": torch.ones(3)}, {"secret": jagged([1])}, {"lr": 0.1, "k": 1}
)
SUBJECT = "in stage 'score', which looked for a field it does not declare"
HIDDEN = (
    "BP002 withheld  hidden  the caller's batch holds tensor f32[3]; the Reads of 'score' do not declare it; "
    "add hidden to them"
)
LR = (
    "BP002 withheld  lr  the caller's batch holds float in meta_info; the Reads of 'score' do not declare it; "
    "add lr to them"
)


def withheld(report: Callable[[Violation], None] | None = None) -> Withheld:
    """All but `ids` and `k` are withheld; `values` is what the stage writes."""
    return Withheld("score", {"ids", "k", "values"}, lambda: SOURCE, report)


def handed(report: Callable[[Violation], None] | None = None) -> HandedTensorDict:
    tensors = dict(SOURCE.tensors) if report else {"ids": SOURCE.tensors["ids"]}
    return HandedTensorDict.hand(tensors, torch.Size([3]), None, withheld(report))


def handed_dict(report: Callable[[Violation], None] | None = None) -> HandedDict[Any]:
    return HandedDict(dict(SOURCE.meta) if report else {"k": 1}, withheld(report))


# --- looking ----------------------------------------------------------------------------------------------------------

LOOKS: dict[str, Callable[[Any, str], Any]] = {
    "[]": lambda store, name: store[name],
    "get": lambda store, name: store.get(name),
    "get with default": lambda store, name: store.get(name, None),
    "pop": lambda store, name: store.pop(name),
    "pop with default": lambda store, name: store.pop(name, None),
    "in": lambda store, name: name in store,
    "not in": lambda store, name: name not in store,
    "in keys()": lambda store, name: name in store.keys(),
    "setdefault": lambda store, name: store.setdefault(name, torch.zeros(3)),
    "keys() &": lambda store, name: store.keys() & {name},
}
TENSOR_LOOKS: dict[str, Callable[[HandedTensorDict, str], Any]] = {
    "select": lambda store, name: store.select("ids", name),
    "select, not strict": lambda store, name: store.select("ids", name, strict=False),
    "a key in a tuple": lambda store, name: store[(name,)],
    "get by a tuple": lambda store, name: store.get((name,), None),
}


@pytest.mark.parametrize("look", [*LOOKS.values(), *TENSOR_LOOKS.values()], ids=[*LOOKS, *TENSOR_LOOKS])
def test_a_look_at_a_withheld_tensor_is_an_error(look: Callable[[Any, str], Any]) -> None:
    store = handed()

    with says(UndeclaredReadError, SUBJECT, HIDDEN):
        look(store, "hidden")

    assert list(store.keys()) == ["ids"]


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_a_look_at_a_withheld_name_of_a_dict_is_an_error(look: Callable[[Any, str], Any]) -> None:
    store = handed_dict()

    with says(UndeclaredReadError, SUBJECT, LR):
        look(store, "lr")

    assert dict(store) == {"k": 1}


@pytest.mark.parametrize("make", [handed, handed_dict])
def test_a_name_that_is_withheld_from_another_store_is_withheld_here(make: Callable[[], Any]) -> None:
    with says(
        UndeclaredReadError,
        SUBJECT,
        "BP002 withheld  secret  the caller's batch holds i64[1, jagged] in non_tensor_batch; the Reads of 'score' do "
        "not declare it; add secret to them",
    ):
        make().get("secret")


def test_the_error_is_a_key_error_that_says_where() -> None:
    with pytest.raises(KeyError) as caught:
        handed()["hidden"]

    assert isinstance(caught.value, UndeclaredReadError)
    (violation,) = caught.value.violations
    assert (violation.where.stage, violation.where.boundary, violation.placement) == ("score", "reads", "tensor")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# --- other names miss as usual ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nowhere", "values"])
def test_names_that_are_not_withheld_miss_as_usual(name: str) -> None:
    for store in (handed(), handed_dict()):
        assert name not in store
        assert name not in store.keys()
        assert store.get(name, 5) == 5
        assert store.pop(name, 6) == 6
        with pytest.raises(KeyError) as caught:
            store[name]
        assert not isinstance(caught.value, UndeclaredReadError)
        with pytest.raises(KeyError) as caught:
            store.pop(name)
        assert not isinstance(caught.value, UndeclaredReadError)


def test_what_was_handed_out_is_there() -> None:
    store, plain = handed(), handed_dict()

    assert store["ids"] is store.get("ids") is SOURCE.tensors["ids"]
    assert "ids" in store
    assert "ids" in store.keys()
    assert plain["k"] == plain.get("k") == plain.setdefault("k", 2) == 1
    assert "k" in plain
    assert plain.pop("k") == 1
    assert store.pop("ids") is SOURCE.tensors["ids"]
    assert (len(store.keys()), len(plain)) == (0, 0)


def test_names_that_the_stage_sets_are_scratch() -> None:
    store, plain = handed(), handed_dict()

    store["scratch"], plain["scratch"] = torch.zeros(3), 1
    store["hidden"], plain["lr"] = torch.zeros(3), 2

    assert (store["scratch"].sum().item(), plain["scratch"]) == (0, 1)
    assert (store["hidden"].sum().item(), plain["lr"]) == (0, 2)
    assert store.pop("scratch").shape == (3,)
    assert plain.pop("scratch") == 1
    assert SOURCE.tensors["hidden"].sum().item() == 3  # type: ignore[attr-defined]


def test_the_keys_are_a_set_as_usual() -> None:
    for store, names in ((handed(), {"ids"}), (handed_dict(), {"k"})):
        keys = store.keys()
        assert keys == names
        assert set(keys) == keys | set() == keys & (names | {"nowhere"}) == names
        assert keys - names == set()
        assert (len(keys), keys.isdisjoint({"nowhere"})) == (1, True)
    assert repr(handed().keys()) == repr(TensorDict({"ids": torch.ones(3)}, batch_size=[3]).keys())


# --- what comes from a handed-out store -------------------------------------------------------------------------------

DERIVED: dict[str, Callable[[HandedTensorDict], Any]] = {
    "slice": lambda td: td[1:],
    "int": lambda td: td[0],
    "list": lambda td: td[[0, 1]],
    "tensor": lambda td: td[torch.tensor([2])],
    "mask": lambda td: td[torch.tensor([True, False, True])],
    "select": lambda td: td.select("ids"),
    "exclude": lambda td: td.exclude("nowhere"),
    "clone": lambda td: td.clone(),
    "shallow clone": lambda td: td.clone(recurse=False),
    "copy": lambda td: td.copy(),
    "copy.copy": copy.copy,
    "to a device": lambda td: td.to("cpu"),
    "to a dtype": lambda td: td.to(torch.float64),
    "cpu": lambda td: td.cpu(),
    "float": lambda td: td.float(),
    "split": lambda td: td.split(2)[1],
    "chunk": lambda td: td.chunk(2)[0],
    "unbind": lambda td: td.unbind(0)[2],
    "contiguous": lambda td: td.contiguous(),
    "detach": lambda td: td.detach(),
    "apply": lambda td: td.apply(lambda value: value + 1),
    "repeat_interleave": lambda td: td.repeat_interleave(2),
    "expand": lambda td: td.expand(2, 3),
    "unsqueeze": lambda td: td.unsqueeze(0),
    "empty": lambda td: td.empty(),
    "a slice of a clone": lambda td: td.clone()[1:].split(1)[0],
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED.keys())
def test_what_is_derived_knows_the_withheld_names(derive: Callable[[HandedTensorDict], Any]) -> None:
    derived = derive(handed())

    with says(UndeclaredReadError, SUBJECT, HIDDEN):
        derived.get("hidden", None)
    with says(UndeclaredReadError, SUBJECT, HIDDEN):
        "hidden" in derived.keys()  # noqa: B015
    assert derived.get("nowhere", None) is None


def test_a_copy_of_a_handed_dict_knows_the_withheld_names() -> None:
    with says(UndeclaredReadError, SUBJECT, LR):
        handed_dict().copy().get("lr")


# --- plain containers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_gives_plain_containers(protocol: int) -> None:
    store, plain = (pickle.loads(pickle.dumps(store, protocol)) for store in (handed(), handed_dict()))

    assert type(store) is TensorDict
    assert store["ids"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert store.batch_size == (3,)
    assert store.get("hidden", None) is None
    assert type(plain) is dict
    assert plain == {"k": 1}
    assert plain.get("lr") is None


def test_a_handed_dict_made_into_a_dict_is_one() -> None:
    plain = handed_dict()

    assert [type(made) for made in (dict(plain), {**plain}, plain | {"lr": 1}, copy.deepcopy(plain))] == [dict] * 4
    assert plain == {"k": 1}


# --- reporting instead ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_a_report_hands_everything_out_and_says_what_is_touched(look: Callable[[Any, str], Any]) -> None:
    seen: list[Violation] = []

    look(handed(seen.append), "hidden")
    look(handed_dict(seen.append), "lr")

    assert list(dict.fromkeys(violation.field for violation in seen)) == ["hidden", "lr"]
    assert {violation.code for violation in seen} == {"BP002"}


def test_a_report_gives_the_value() -> None:
    seen: list[Violation] = []

    assert handed(seen.append)["hidden"] is SOURCE.tensors["hidden"]
    assert "hidden" in handed(seen.append)
    assert {violation.field for violation in seen} == {"hidden"}
    assert handed_dict(seen.append)["lr"] == 0.1
    assert handed_dict(seen.append).pop("lr", None) == 0.1
    assert [violation.field for violation in seen[-2:]] == ["lr", "lr"]


def test_what_is_declared_or_nowhere_is_not_reported() -> None:
    seen: list[Violation] = []
    store, plain = handed(seen.append), handed_dict(seen.append)

    assert [store["ids"].shape[0], plain["k"], store.get("nowhere", 0), plain.get("values", 0)] == [3, 1, 0, 0]
    assert seen == []
