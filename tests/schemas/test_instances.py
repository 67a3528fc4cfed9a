"""Instances of schemas: their values sorted into stores, and stores made into an instance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Meta, Name, NonTensor
from batchpact.schemas.instances import instance_stores, make_instance
from batchpact.schemas.stores import Stores


class Reads(BatchSchema):
    rewards: Float32[Tensor, "batch"]
    uid: NonTensor[str]
    turns: NonTensor[int] | None = None
    temperature: Meta[float] | Float32[Tensor, "batch"]
    gamma: Arg[float] = 1.0


class Open(BatchSchema, extra="allow"):
    rewards: Float32[Tensor, "batch"]


REWARDS = torch.tensor([1.0, 2.0])
UID = np.array(["a", "b"], dtype=object)


class Log:
    """Notes the names that somebody looks for."""

    def __init__(self) -> None:
        self.names: list[object] = []

    def look(self, name: object) -> None:
        self.names.append(name)


def test_each_value_goes_where_it_is_declared() -> None:
    stores = instance_stores(Reads(rewards=REWARDS, uid=UID, temperature=0.7))

    assert stores == Stores({"rewards": REWARDS}, {"uid": UID}, {"temperature": 0.7}, {"gamma": 1.0})


def test_of_two_placements_the_kind_of_value_decides() -> None:
    stores = instance_stores(Reads(rewards=REWARDS, uid=UID, temperature=REWARDS))

    assert list(stores.tensors) == ["rewards", "temperature"]
    assert stores.meta == {}


def test_an_absent_optional_field_stands_nowhere_and_a_required_none_stands_where_it_is_declared() -> None:
    stores = instance_stores(Reads(rewards=None, uid=UID, temperature=0.7))  # type: ignore[arg-type]

    assert stores.columns == {"uid": UID}
    assert stores.tensors == {"rewards": None}


def test_undeclared_values_are_kept_by_their_kind() -> None:
    instance = Reads(rewards=REWARDS, uid=UID, temperature=0.7, more=REWARDS, names=UID, note="x")  # type: ignore[call-arg]

    stores = instance_stores(instance)

    assert list(stores.tensors) == ["rewards", "more"]
    assert list(stores.columns) == ["uid", "names"]
    assert stores.meta == {"temperature": 0.7, "note": "x"}


def test_an_instance_has_the_values_of_the_stores_under_its_names() -> None:
    class Turns(BatchSchema):
        num_turns: NonTensor[int]

    class Renamed(BatchSchema):
        turns: Meta[int]

    assert make_instance(Renamed, Stores({}, {}, {"turns": 3}), {}, None).turns == 3
    assert list(make_instance(Turns, Stores({}, {"num_turns": UID}, {}), {}, None).num_turns) == ["a", "b"]


def test_a_key_of_its_own_is_used_both_ways() -> None:
    from typing import Annotated

    class Turns(BatchSchema):
        turns: Annotated[Meta[int], Name("__num_turns__")]

    made = make_instance(Turns, Stores({}, {}, {"__num_turns__": 3}), {}, None)

    assert made.turns == 3
    assert instance_stores(made).meta == {"__num_turns__": 3}


def test_what_is_given_with_the_call_counts_before_the_stores_and_defaults_last() -> None:
    stores = Stores({"rewards": REWARDS}, {"uid": UID}, {"temperature": 0.7})

    made = make_instance(Reads, stores, {"gamma": 0.9, "temperature": 1.5}, None)

    assert (made.gamma, made.temperature, made.turns) == (0.9, 1.5, None)
    assert make_instance(Reads, stores, {}, None).gamma == 1.0


def test_columns_of_an_instance_are_read_only_views() -> None:
    made = make_instance(Reads, Stores({"rewards": REWARDS}, {"uid": UID}, {"temperature": 0.7}), {}, None)

    with pytest.raises(ValueError, match="read-only"):
        made.uid[0] = "z"
    assert UID.flags.writeable


def test_an_open_schema_takes_every_name() -> None:
    made = make_instance(Open, Stores({"rewards": REWARDS, "more": REWARDS}, {}, {"note": "x"}), {}, None)

    assert made.more is REWARDS  # type: ignore[attr-defined]
    assert made.note == "x"  # type: ignore[attr-defined]


def test_a_look_at_a_name_that_is_not_there_is_told() -> None:
    log = Log()
    made = make_instance(Reads, Stores({"rewards": REWARDS}, {"uid": UID}, {"temperature": 0.7}), {}, log)

    with pytest.raises(AttributeError, match="Reads declares no field 'values'"):
        _ = made.values  # type: ignore[attr-defined]
    assert log.names == ["values"]
    assert "withheld" not in repr(made)
