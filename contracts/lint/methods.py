"""Methods of batches and stores, as their users call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.choosing import choose, is_choice
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.names import computed, fill, look, names, set_names
from batchpact.contracts.lint.values import (
    UNKNOWN,
    Batch,
    Element,
    Field,
    Holder,
    Items,
    KeyOf,
    Keys,
    Store,
    Text,
    Value,
    one,
    stored,
    union,
)

_DERIVING = frozenset(
    (
        *("bind", "from_verl", "reorder", "repeat", "sample_level_repeat", "select_idxs", "slice", "to"),
        *("to_tensordict", "to_verl", "unfold_column_chunks", "model_copy", "copy", "clone", "to_dict"),
        *(
            "bfloat16",
            "double",
            "float",
            "half",
            "cpu",
            "cuda",
            "detach",
            "contiguous",
            "consolidate",
            "to_padded_tensor",
        ),
        *("expand", "flatten", "reshape", "squeeze", "unflatten", "unsqueeze", "view", "index_select"),
        *("get_sub_tensordict", "lock_", "unlock_", "memmap", "pin_memory", "repeat_interleave", "share_memory_"),
    )
)
"""They give a batch with the same names."""
_CUTTING = frozenset({"chunk", "split", "unbind", "make_iterator"})
"""They give several batches with the same names."""
_NEUTRAL = frozenset(
    (
        *("check_consistency", "get_data_info", "is_padding_enabled", "pad_mask", "padding", "print_size"),
        *("dim", "is_empty", "ndimension", "numel", "size"),
    )
)
"""They look at no field by its name."""
_SAME_TENSOR = frozenset({"bool", "contiguous", "cpu", "cuda", "float", "int", "long", "to"})
"""They may give the very tensor that they are called on."""


def call_method(machine: Machine, holders: Sequence[Holder], name: str, args: Arguments) -> Value:
    """A call of a method of what may be one of several batches and stores."""
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(machine, holders, args)
    if name in _NEUTRAL:
        return UNKNOWN
    if name in _CUTTING:
        return one(Items([Element(machine.derived(holders))], complete=False))
    return machine.derived(holders if name in _DERIVING else [_any_use(machine, h, name, args) for h in holders])


def _any_use(machine: Machine, holder: Holder, name: str, args: Arguments) -> Holder:
    """A method of which nothing is known: it may look at every field."""
    if isinstance(holder, Batch) and holder.schema is None:
        machine.hide(holder, f"given to its method {name}", args.site)
        return holder
    machine.use_all(holder.flat, args.site)
    return holder.flat  # pydantic's methods give dicts


def take_out(machine: Machine, holders: Sequence[Holder], keys: Value, args: Arguments) -> None:
    """The code takes names out."""
    for key, _ in names(machine, keys, args.site)[0]:
        for holder in holders:
            for store in holder.stores:
                machine.drop(store, key)


# --- one name ---------------------------------------------------------------------------------------------------------


def _get(machine: Machine, holders: Sequence[Holder], args: Arguments, how: str = "looked for") -> Value:
    key, default = args.get(0, "key"), args.get(1, "default")
    found = [] if key is None else [look(machine, holders, key.value, how, key.site)]
    return union([*found, *([] if default is None else [default.value])])


def _pop(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    if is_choice(args):
        return choose(machine, holders, args, taken_out=True)
    value, key = _get(machine, holders, args, "popped"), args.get(0, "key")
    if key is not None:
        take_out(machine, holders, key.value, args)
    return value


def _set(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    key, value = args.get(0, "key"), args.get(1, "item")
    if key is not None and value is not None:
        for store in stored(holders):
            set_names(machine, store, key.value, value.value, key.site)
    return frozenset(holders)


def _set_default(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    value = _get(machine, holders, args)
    _set(machine, holders, Arguments(args.site, [*args.positional[:1], Argument(value, args.site)]))
    return value


def _rename_key(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    _renamed(machine, holders, args.get(0, "old_key"), args.get(1, "new_key"), args)
    return frozenset(holders)


def _rename(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    """`DataProto.rename`, which is about tensors."""
    for holder in holders:
        if isinstance(holder, Batch):
            _renamed(machine, holder.slots["tensor"], args.get(0, "old_keys"), args.get(1, "new_keys"), args)
    return frozenset(holders)


def _renamed(
    machine: Machine, holders: Sequence[Holder], old: Argument | None, new: Argument | None, args: Arguments
) -> None:
    if old is None or new is None:
        return
    before, known = names(machine, old.value, old.site)
    after, all_known = names(machine, new.value, new.site)
    values = [machine.look(holders, key, "read", site) for key, site in before]
    take_out(machine, holders, old.value, args)
    for store in stored(holders):
        store.open |= not (known and all_known)
        for at, (key, site) in enumerate(after):
            machine.put(store, key, values[at] if at < len(values) else UNKNOWN, site)
    if not known:
        computed(machine, holders, old.site)


# --- many names -------------------------------------------------------------------------------------------------------


def _update(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    for store in stored(holders):
        for argument in args.positional[:1]:
            fill(machine, store, argument.value, argument.site)
        for key, argument in args.keywords.items():
            machine.put(store, key, argument.value, argument.site)
        store.open |= args.more is not None
    return frozenset(holders)


def _keys(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    return frozenset(Keys(store) for store in stored(holders))


def _items(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    made = Items([])
    for store in stored(holders):
        pairs = [(Element(one(Text(key)), *entry.sites[:1]), entry.value) for key, entry in machine.held(store)]
        if store.given:
            machine.use_all(store, args.site)
            pairs.append((Element(one(KeyOf(store))), UNKNOWN))
        made.elements += [Element(one(Items([key, Element(value)]))) for key, value in pairs]
        made.complete &= not (store.given or store.open)
    return one(made)


def _values(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    made = Items([], complete=False)
    for store in stored(holders):
        machine.use_all(store, args.site)
        made.elements += [Element(entry.value) for _, entry in machine.held(store)]
        made.elements += [Element(UNKNOWN)] if store.given or store.open else []
    return one(made)


def _select(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    if is_choice(args):
        return choose(machine, holders, args, taken_out=False)
    for argument in args.positional:
        look(machine, holders, argument.value, "selected", argument.site)
    return machine.derived(holders, _names_of(machine, args).__contains__)


def _exclude(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    left_out = _names_of(machine, args)
    return machine.derived(holders, lambda key: key not in left_out)


def _names_of(machine: Machine, args: Arguments) -> set[str]:
    return {key for argument in args.positional for key, _ in names(machine, argument.value, argument.site)[0]}


def _union(machine: Machine, holders: Sequence[Holder], args: Arguments) -> Value:
    other = args.get(0, "other")
    for holder in holders:
        for atom in UNKNOWN if other is None else other.value:
            if isinstance(holder, Batch) and isinstance(atom, Batch):
                machine.merge(holder, atom)
            elif isinstance(atom, Store):
                machine.join(holder.flat, atom)
            else:
                for store in holder.stores:
                    store.open = True
    return frozenset(holders)


_HANDLERS: dict[str, Callable[[Machine, Sequence[Holder], Arguments], Value]] = {
    "del_": _pop,
    "exclude": _exclude,
    "get": _get,
    "get_at": _get,
    "items": _items,
    "keys": _keys,
    "pop": _pop,
    "presence": _get,
    "rename": _rename,
    "rename_key_": _rename_key,
    "select": _select,
    "set": _set,
    "set_": _set,
    "setdefault": _set_default,
    "union": _union,
    "update": _update,
    "update_": _update,
    "values": _values,
}


# --- what is no batch -------------------------------------------------------------------------------------------------


def field_method(field: Field, name: str) -> Value:
    """A call of a method of a value that was read."""
    return one(field) if name in _SAME_TENSOR else UNKNOWN
