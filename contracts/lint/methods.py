"""Methods of batches, stores, lists and fields, as their users call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.expressions import Expressions
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Batch,
    Element,
    Field,
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
from batchpact.schemas.markers import PlacementName

Holder = Store | Batch

CHOSEN: dict[str, PlacementName] = {
    "batch_keys": "tensor",
    "non_tensor_batch_keys": "non_tensor",
    "meta_info_keys": "meta",
}
"""The keyword arguments of `DataProto.select` and `DataProto.pop`, in their order."""

_DERIVING = frozenset(
    [
        "bfloat16",
        "bind",
        "clone",
        "consolidate",
        "contiguous",
        "copy",
        "cpu",
        "cuda",
        "detach",
        "double",
        "expand",
        "flatten",
        "float",
        "from_verl",
        "get_sub_tensordict",
        "half",
        "index_select",
        "lock_",
        "memmap",
        "model_copy",
        "pin_memory",
        "repeat",
        "repeat_interleave",
        "reshape",
        "reorder",
        "sample_level_repeat",
        "select_idxs",
        "share_memory_",
        "slice",
        "squeeze",
        "to",
        "to_dict",
        "to_tensordict",
        "to_verl",
        "unflatten",
        "unfold_column_chunks",
        "unlock_",
        "unsqueeze",
        "view",
    ]
)
"""They give a batch with the same names."""
_CUTTING = frozenset({"chunk", "split", "unbind", "make_iterator"})
"""They give several batches with the same names."""
_LOOKING_AT_NONE = frozenset(
    [
        "check_consistency",
        "dim",
        "get_data_info",
        "is_empty",
        "is_padding_enabled",
        "ndimension",
        "numel",
        "pad_mask",
        "padding",
        "print_size",
        "size",
    ]
)
"""They look at no field by its name."""
_SAME_TENSOR = frozenset({"bool", "contiguous", "cpu", "cuda", "float", "int", "long", "to"})
"""They may give the very tensor that they are called on."""


class Methods(Expressions):
    """Reads calls of methods."""

    def method(self, holders: Sequence[Holder], name: str, args: Arguments) -> Value:
        """A call of a method of what may be one of several batches and stores."""
        handler = _HANDLERS.get(name)
        if handler is not None:
            return handler(self, holders, args)
        if name in _LOOKING_AT_NONE:
            return UNKNOWN
        derived = self.machine.derived(frozenset(holders))
        if name in _CUTTING:
            return one(Items([Element(derived)], complete=False))
        if name not in _DERIVING:
            for holder in holders:
                if isinstance(holder, Batch) and holder.schema is None:
                    self.machine.hide(holder.flat, f"given to its method {name}", args.site)
                else:
                    self.machine.use_all(holder.flat if isinstance(holder, Batch) else holder)
        return derived

    # --- one name ------------------------------------------------------------------------------------------------

    def _get(self, holders: Sequence[Holder], args: Arguments, how: str = "looked for") -> Value:
        key, default = args.get(0, "key"), args.get(1, "default")
        found = [] if default is None else [default.value]
        if key is not None:
            keys, known = self.keys(key.value, key.site)
            found += [self.machine.look(holders, name, how, site) for name, site in keys]
            if not known:
                self.computed(holders, key.site)
                found.append(UNKNOWN)
        return union(found)

    def _pop(self, holders: Sequence[Holder], args: Arguments) -> Value:
        if _is_choice(args):
            return self._choose(holders, args, taken_out=True)
        value = self._get(holders, args, "popped")
        key = args.get(0, "key")
        for name, _ in [] if key is None else self.keys(key.value, key.site)[0]:
            self.take_out(holders, name)
        return value

    def take_out(self, holders: Sequence[Holder], key: str) -> None:
        """The code takes a name out."""
        for holder in holders:
            for store in holder.stores if isinstance(holder, Batch) else (holder,):
                self.machine.drop(store, key)

    def _set(self, holders: Sequence[Holder], args: Arguments) -> Value:
        key, value = args.get(0, "key"), args.get(1, "item")
        if key is not None and value is not None:
            for store in stored(holders):
                self.set_names(store, key.value, value.value, key.site)
        return frozenset(holders)

    def _set_default(self, holders: Sequence[Holder], args: Arguments) -> Value:
        value = self._get(holders, args)
        self._set(holders, Arguments(args.site, [*args.positional[:1], Argument(value, args.site)]))
        return value

    def _rename_key(self, holders: Sequence[Holder], args: Arguments) -> Value:
        old, new = args.get(0, "old_key"), args.get(1, "new_key")
        if old is not None and new is not None:
            self._renamed(holders, old, new, list(stored(holders)))
        return frozenset(holders)

    def _rename(self, holders: Sequence[Holder], args: Arguments) -> Value:
        old, new = args.get(0, "old_keys"), args.get(1, "new_keys")
        for holder in holders:
            if isinstance(holder, Batch) and old is not None and new is not None:
                tensors = holder.slots["tensor"]
                self._renamed(tensors, old, new, tensors)
        return frozenset(holders)

    def _renamed(self, holders: Sequence[Holder], old: Argument, new: Argument, stores: Iterable[Store]) -> None:
        before, known = self.keys(old.value, old.site)
        after, all_known = self.keys(new.value, new.site)
        values = [self.machine.look(holders, key, "read", site) for key, site in before]
        for key, _ in before:
            self.take_out(holders, key)
        for store in stores:
            store.open |= not (known and all_known)
            for at, (key, site) in enumerate(after):
                self.machine.put(store, key, values[at] if at < len(values) else UNKNOWN, site)
        if not known:
            self.computed(holders, old.site)

    # --- many names ----------------------------------------------------------------------------------------------

    def _update(self, holders: Sequence[Holder], args: Arguments) -> Value:
        for store in stored(holders):
            for argument in args.positional[:1]:
                self.fill(store, argument.value, argument.site)
            for key, argument in args.keywords.items():
                self.machine.put(store, key, argument.value, argument.site)
            store.open |= args.more is not None
        return frozenset(holders)

    def _names(self, holders: Sequence[Holder], args: Arguments) -> Value:
        return frozenset(Keys(store) for store in stored(holders))

    def _pairs(self, holders: Sequence[Holder], args: Arguments) -> Value:
        made = Items([])
        for store in stored(holders):
            for key, entry in self.machine.held(store):
                site = (*entry.sites, args.site)[0]
                made.elements.append(Element(one(Items([Element(one(Text(key)), site), Element(entry.value)]))))
            if store.given:
                self.machine.use_all(store)
                made.elements.append(Element(one(Items([Element(one(KeyOf(store))), Element(UNKNOWN)]))))
            made.complete &= not (store.given or store.open)
        return one(made)

    def _values(self, holders: Sequence[Holder], args: Arguments) -> Value:
        found = Items([], complete=False)
        for store in stored(holders):
            self.machine.use_all(store)
            found.elements += [Element(entry.value) for _, entry in self.machine.held(store)]
            found.elements += [Element(UNKNOWN)] if store.given or store.open else []
        return one(found)

    def _select(self, holders: Sequence[Holder], args: Arguments) -> Value:
        if _is_choice(args):
            return self._choose(holders, args, taken_out=False)
        kept: set[str] = set()
        for argument in args.positional:
            keys, known = self.keys(argument.value, argument.site)
            for key, site in keys:
                self.machine.look(holders, key, "selected", site)
                kept.add(key)
            if not known:
                self.computed(holders, argument.site)
        return self._restricted(holders, lambda key: key in kept)

    def _exclude(self, holders: Sequence[Holder], args: Arguments) -> Value:
        left_out = {key for argument in args.positional for key, _ in self.keys(argument.value, argument.site)[0]}
        return self._restricted(holders, lambda key: key not in left_out)

    def _restricted(self, holders: Sequence[Holder], keep: Callable[[str], bool]) -> Value:
        found: list[Holder] = []
        for holder in holders:
            if isinstance(holder, Batch):
                slots = {name: [self.machine.copy(s, keep) for s in stores] for name, stores in holder.slots.items()}
                found.append(Batch(self.machine.copy(holder.flat, keep), slots, holder.schema))
            else:
                found.append(self.machine.copy(holder, keep))
        return frozenset(found)

    def _choose(self, holders: Sequence[Holder], args: Arguments, *, taken_out: bool) -> Value:
        """`DataProto.select` and `DataProto.pop`: names of each store."""
        found: list[Batch] = []
        for holder in holders:
            if not isinstance(holder, Batch):
                continue
            made = self.machine.derive(holder)
            for at, (keyword, placement) in enumerate(CHOSEN.items()):
                argument = args.get(at, keyword)
                if argument is None or argument.value == NONE:
                    if taken_out:
                        made.slots[placement] = [Store(placement, holder.given)]
                    continue
                stores = holder.slots[placement]
                keys = self._chosen(stores, argument, "popped" if taken_out else "selected")
                made.slots[placement] = [self.machine.copy(store, keys.__contains__) for store in stores]
                for key in keys if taken_out else ():
                    self.take_out(stores, key)
            found.append(made)
        return frozenset(found)

    def _chosen(self, stores: Sequence[Store], argument: Argument, how: str) -> set[str]:
        keys, known = self.keys(argument.value, argument.site)
        for key, site in keys:
            self.machine.look(stores, key, how, site)
        if not known:
            self.computed(stores, argument.site)
        return {key for key, _ in keys}

    def _join(self, holders: Sequence[Holder], args: Arguments) -> Value:
        other = args.get(0, "other")
        for holder in holders:
            for atom in UNKNOWN if other is None else other.value:
                if isinstance(holder, Batch) and isinstance(atom, Batch):
                    self.machine.merge(holder, atom)
                elif isinstance(atom, Store):
                    self.machine.join(holder.flat if isinstance(holder, Batch) else holder, atom)
                else:
                    for store in holder.stores if isinstance(holder, Batch) else (holder,):
                        store.open = True
        return frozenset(holders)

    # --- lists and fields ----------------------------------------------------------------------------------------

    def sequence_method(self, items: Items, name: str, args: Arguments) -> Value:
        """A call of a method of a list or a set."""
        if name in ("append", "add", "insert"):
            items.elements += [Element(argument.value, argument.site) for argument in args.positional[-1:]]
        elif name in ("extend", "update", "union"):
            changed = items if name != "union" else Items(list(items.elements), items.complete)
            for argument in args.positional:
                changed.elements += self.elements(argument.value)
                changed.complete &= self.rounds(argument.value)[1]
            return one(changed)
        elif name in ("intersection", "issubset", "issuperset", "isdisjoint"):
            for argument in args.positional:
                self.probe(argument.value, one(items), args.site)
        return one(Items(list(items.elements), complete=False)) if name != "pop" else _any(items)

    def field_method(self, field: Field, name: str, args: Arguments) -> Value:
        """A call of a method of a value that was read."""
        return one(field) if name in _SAME_TENSOR else UNKNOWN


_HANDLERS: dict[str, Callable[[Methods, Sequence[Holder], Arguments], Value]] = {
    "del_": Methods._pop,
    "exclude": Methods._exclude,
    "get": Methods._get,
    "get_at": Methods._get,
    "items": Methods._pairs,
    "keys": Methods._names,
    "pop": Methods._pop,
    "presence": Methods._get,
    "rename": Methods._rename,
    "rename_key_": Methods._rename_key,
    "select": Methods._select,
    "set": Methods._set,
    "set_": Methods._set,
    "setdefault": Methods._set_default,
    "union": Methods._join,
    "update": Methods._update,
    "update_": Methods._update,
    "values": Methods._values,
}


def _is_choice(args: Arguments) -> bool:
    """Whether names are chosen store by store, in lists, as a DataProto has it; a TensorDict takes them one by one."""
    if any(keyword in args.keywords for keyword in CHOSEN):
        return True
    return bool(args.positional) and all(isinstance(atom, Items) for atom in args.positional[0].value)


def _any(items: Items) -> Value:
    return union(element.value for element in items.elements)
