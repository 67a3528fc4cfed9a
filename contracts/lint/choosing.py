"""`DataProto.select` and `DataProto.pop`: names of each store, in lists."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.names import look, names
from batchpact.contracts.lint.values import NONE, Batch, Holder, Items, Store, Value
from batchpact.schemas.markers import PlacementName

_KEYWORDS: dict[str, PlacementName] = {
    "batch_keys": "tensor",
    "non_tensor_batch_keys": "non_tensor",
    "meta_info_keys": "meta",
}
"""The arguments, in their order."""


def is_choice(args: Arguments) -> bool:
    """Whether names are chosen store by store, as a DataProto has it; a TensorDict takes them one by one."""
    if any(keyword in args.keywords for keyword in _KEYWORDS):
        return True
    return bool(args.positional) and all(isinstance(atom, Items) for atom in args.positional[0].value)


def choose(machine: Machine, holders: Sequence[Holder], args: Arguments, *, taken_out: bool) -> Value:
    """A batch of the chosen names. Of a store for which there is no list, `select` takes all and `pop` nothing."""
    found: list[Batch] = []
    for holder in holders:
        if not isinstance(holder, Batch):
            continue
        made = machine.derive(holder)
        for at, (keyword, placement) in enumerate(_KEYWORDS.items()):
            argument = args.get(at, keyword)
            if argument is not None and argument.value != NONE:
                made.slots[placement] = _chosen(machine, holder.slots[placement], argument, taken_out)
            elif taken_out:
                made.slots[placement] = [machine.copy(store, lambda key: False) for store in holder.slots[placement]]
        found.append(made)
    return frozenset(found)


def _chosen(machine: Machine, stores: Sequence[Store], argument: Argument, taken_out: bool) -> list[Store]:
    look(machine, stores, argument.value, "popped" if taken_out else "selected", argument.site)
    keys = {key for key, _ in names(machine, argument.value, argument.site)[0]}
    made = [machine.copy(store, keys.__contains__) for store in stores]
    for key in keys if taken_out else ():
        for store in stores:
            machine.drop(store, key)
    return made
