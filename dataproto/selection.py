"""Choosing fields by name: every name that is not there is reported, with the closest one, in all three stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from batchpact.dataproto.refusal import refuse, refuse_names
from batchpact.schemas.describe import STORE_NAMES, describe_in_store
from batchpact.schemas.errors import MissingFieldError
from batchpact.schemas.names import closest
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

Keys: TypeAlias = "Sequence[str] | None"


def choose(operation: str, stores: Stores, keys: tuple[Keys, Keys, Keys]) -> Stores:
    """The fields of these names; None takes all of a store.

    Raises:
        MissingFieldError: with every name that is not there and the closest one, in all stores.
    """
    try:
        return Stores(_some(stores.tensors, keys[0]), _some(stores.columns, keys[1]), _some(stores.meta, keys[2]))
    except MissingFieldError:  # a stage looked for what it does not declare
        raise
    except KeyError:
        missing = [
            missing_name(name, STORE_NAMES[placement], held, stores)
            for (placement, held), names in zip(stores.by_placement(), keys, strict=False)
            for name in ([names] if isinstance(names, str) else names or ())
            if name not in held
        ]
    raise refuse_names(operation, missing)


def _some(held: Mapping[str, object], names: Keys) -> dict[str, object]:
    if names is None:
        return dict(held)
    return {names: held[names]} if isinstance(names, str) else {name: held[name] for name in names}


def missing_name(name: str, where: str, held: Mapping[str, object], stores: Stores) -> Violation:
    """A name that is not where it is looked for: where it stands instead, or the closest one, first among `held`."""
    elsewhere = stores.find(name)
    if elsewhere is not None:
        hint = f"the batch has {describe_in_store(elsewhere[1], elsewhere[0])}"
    else:
        match = closest(name, held) or closest(name, stores.names())
        hint = "" if match is None else f"closest name: '{match}'"
    return Violation(code="BP046", field=name, actual=f"not in {where}", expected=hint)


def check_new_names(old: Sequence[str], new: Sequence[str], stores: Stores) -> None:
    """New names are as many as old ones, different, and free.

    Raises:
        BatchError: where they are not.
    """
    if not len(old) == len(set(old)) == len(new) == len(set(new)):
        actual = f"{count(len(set(old)), 'old key')}, {count(len(set(new)), 'new key')}"
        raise refuse("rename", "BP046", "new_keys", actual, "one new name for each old one")
    taken = [name for name in new if name not in old and stores.find(name) is not None]
    if taken:
        raise refuse("rename", "BP045", taken[0], "the name is taken", "one place for one name")
