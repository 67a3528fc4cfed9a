"""Names in values: which names a value may be or hold, what a loop over it gives, and looking and setting by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Atom,
    Batch,
    Element,
    Holder,
    Items,
    KeyOf,
    Keys,
    Live,
    Store,
    Text,
    Value,
    holders_in,
    is_complete,
    one,
    stored,
    union,
)

_UNROLLED = 32
"""A loop over more known elements is read once, for all of them."""

COMPUTED = "read by a key that is computed"
"""What is said of a look at a name that is not in the source."""

Named = tuple[str, Site]


def names(machine: Machine, value: Value, site: Site) -> tuple[list[Named], bool]:
    """The names that a value may be, or may hold, and whether they are all."""
    found: dict[Named, None] = {}
    known = True
    for atom in value:
        if isinstance(atom, Text):
            found[atom.text, site] = None
        elif isinstance(atom, Items):
            for element in atom.elements:
                inner, all_known = names(machine, element.value, element.site or site)
                found.update(dict.fromkeys(inner))
                known = known and all_known
        elif isinstance(atom, Store) and not atom.given:
            found.update({(key, (*entry.sites, site)[0]): None for key, entry in machine.held(atom)})
            known = known and not atom.open
        elif isinstance(atom, (Keys, KeyOf)):
            machine.use_all(atom.store, site, own=True)
        else:
            known = known and _is_number(atom)
    return list(found), known


def _is_number(atom: Atom) -> bool:
    """Whether an index is certainly no name."""
    return isinstance(atom, Live) and isinstance(atom.thing, (int, slice, type(None), type(...)))


def element(machine: Machine, holders: Sequence[Holder], index: Value, site: Site) -> Value:
    """An element of batches or stores: the value under a name, or the batch of some rows."""
    keys, known = names(machine, index, site)
    how = "looked for" if machine.trying else "read"
    found = [machine.look(holders, key, how, site) for key, _ in keys]
    if not known:
        for holder in holders:
            if isinstance(holder, Batch):
                machine.unclear(holder, COMPUTED, site)
            else:
                machine.hide(holder, COMPUTED, site)
        found += [entry.value for store in stored(holders) for _, entry in machine.held(store)]
    if not known or not keys:
        found.append(machine.derived(holder for holder in holders if isinstance(holder, Batch) or holder.rows))
    return union(found)


def look(machine: Machine, holders: Sequence[Holder], value: Value, how: str, site: Site) -> Value:
    """The code looks for the names that a value may be or hold."""
    keys, known = names(machine, value, site)
    found = [machine.look(holders, key, how, where) for key, where in keys]
    if not known:
        computed(machine, holders, site)
        found.append(UNKNOWN)
    return union(found)


def computed(machine: Machine, holders: Iterable[Holder], site: Site) -> None:
    """The code looks for a name that is computed."""
    for holder in holders:
        machine.hide(holder, COMPUTED, site)


def probe(machine: Machine, among: Value, value: Value, site: Site) -> None:
    """The code asks whether names are there."""
    holders = [*holders_in(among), *(atom.store for atom in among if isinstance(atom, Keys))]
    if holders:
        look(machine, holders, value, "looked for", site)


def set_names(machine: Machine, store: Store, index: Value, value: Value, site: Site) -> None:
    """The code sets the names that an index may be."""
    keys, known = names(machine, index, site)
    store.open |= not known or any(isinstance(atom, KeyOf) for atom in index)
    for key, where in keys:
        machine.put(store, key, value, where)


def fill(machine: Machine, store: Store, value: Value, site: Site) -> None:
    """The code sets all names of something in a store, as `update` and `**` do."""
    for atom in value:
        if isinstance(atom, (Store, Batch)):
            machine.join(store, atom.flat)
        elif isinstance(atom, Items):
            _fill_pairs(machine, store, atom, site)
        elif atom not in NONE:
            store.open = True


def _fill_pairs(machine: Machine, store: Store, pairs: Items, site: Site) -> None:
    for pair in (atom for part in pairs.elements for atom in part.value):
        if isinstance(pair, Items) and pair.complete and len(pair.elements) == 2:
            key, value = pair.elements
            set_names(machine, store, key.value, value.value, key.site or site)
        else:
            store.open = True


def elements(machine: Machine, value: Value, site: Site) -> list[Element]:
    """What a loop over a value may give."""
    found: list[Element] = []
    for atom in value:
        if isinstance(atom, Items):
            found += atom.elements
        elif isinstance(atom, (Store, Keys)):
            store = atom.store if isinstance(atom, Keys) else atom
            machine.use_all(store, site)
            found += [Element(one(KeyOf(store)))] if store.given else []
            found += [Element(one(Text(key)), (*entry.sites, None)[0]) for key, entry in machine.held(store)]
            found += [Element(UNKNOWN)] if store.open else []
        elif isinstance(atom, Batch) and atom.schema is not None:  # pydantic gives pairs of name and value
            machine.use_all(atom.flat, site)
            found.append(Element(one(Items([Element(one(KeyOf(atom.flat))), Element(UNKNOWN)]))))
        elif isinstance(atom, Batch):
            found.append(Element(one(machine.derive(atom))))
        elif isinstance(atom, Live) and isinstance(atom.thing, type) and hasattr(atom.thing, "__members__"):
            found += [Element(machine.program.seen(member)) for member in atom.thing.__members__.values()]
        else:
            found.append(Element(UNKNOWN))
    return found


def rounds(machine: Machine, value: Value, site: Site) -> tuple[list[Value], bool]:
    """The values of a loop's target, one for each time that its body is to be read; and whether these are all."""
    values = [element.value for element in elements(machine, value, site)]
    if is_complete(value) and len(values) <= _UNROLLED and not machine.tired:
        return values, True
    return [union(values)], False
