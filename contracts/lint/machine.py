"""The state of reading one stage: which names are set in which store, and what the code was seen to do."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MappingProxyType, MethodType

from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import Sources
from batchpact.contracts.lint.trace import Access, Opaque, Site, Trace
from batchpact.contracts.lint.values import (
    SLOTS,
    UNKNOWN,
    Atom,
    Batch,
    Element,
    Entry,
    Field,
    Function,
    FunctionNode,
    Instance,
    Items,
    KeyOf,
    Keys,
    Live,
    Method,
    Store,
    Text,
    Value,
    one,
    stored,
    union,
)
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import STORE_NAMES

_LARGE = 200
"""A constant with more elements is not looked into."""
_STEPS = 20_000
"""So many statements are read for one stage; then loops are no longer unrolled and functions no longer followed."""

COMPUTED = "read by a key that is computed"

Name = tuple[Store, str]


class Machine:
    """What the readers of all functions of one stage share.

    Args:
        trace: what was seen; it is added to.
        sources: the source files.
        root: the package of the stage, whose functions are followed.
        folder: its folder, whose functions are followed, too.
    """

    def __init__(self, trace: Trace, sources: Sources, root: str, folder: str) -> None:
        self.trace = trace
        self.sources = sources
        self.visible: set[Name] = set()
        self.nested: dict[FunctionNode, Function] = {}
        self.read: set[FunctionNode] = set()
        self.stack: list[FunctionNode] = []
        self.known_results: dict[object, Value] = {}
        self.maybe_keys: list[Opaque] = []
        self.is_data_proto = False
        self._root = root
        self._folder = folder
        self._steps = 0
        self._functions: dict[int, tuple[object, Function | None]] = {}

    def step(self) -> None:
        """Count a statement."""
        self._steps += 1

    @property
    def tired(self) -> bool:
        """Whether so much was read that the rest is read less closely."""
        return self._steps > _STEPS

    # --- names in stores -----------------------------------------------------------------------------------------

    def put(self, store: Store, key: str, value: Value, *sites: Site) -> None:
        """The code sets a name."""
        before = store.entries.get(key)
        if before is not None:
            sites = tuple(dict.fromkeys((*before.sites, *sites)))
            value = union((before.value, value)) if (store, key) in self.visible else value
        store.entries[key] = Entry(value, sites)
        self.visible.add((store, key))

    def drop(self, store: Store, key: str) -> None:
        """The code takes a name out."""
        self.visible.discard((store, key))

    def held(self, store: Store) -> Iterator[tuple[str, Entry]]:
        """The names that the code may have set."""
        return ((key, entry) for key, entry in store.entries.items() if (store, key) in self.visible)

    def look(self, of: Iterable[Atom], key: str, how: str, site: Site) -> Value:
        """The code looks for a name in what may be one of several batches and stores."""
        asked = [*stored(of)]
        stores = {store: None for atom in of for store in (atom.stores if isinstance(atom, Batch) else stored((atom,)))}
        found = [store.entries[key].value for store in stores if (store, key) in self.visible]
        placements = {store.placement for store in asked if store.given}
        if placements:
            own = bool(found) or any(store.open for store in stores)
            placement = placements.pop() if len(placements) == 1 else None
            self.trace.accesses[Access(key, placement, how, site, own)] = None
            found.append(one(Field(key)))
        return union(found)

    def use(self, of: Iterable[Atom], key: str, site: Site) -> None:
        """A name is used where it is there, which nobody has to declare."""
        for store in stored(of):
            if store.given:
                self.trace.accesses[Access(key, store.placement, "used", site, True)] = None

    def copy(self, store: Store, keep: Callable[[str], bool] = lambda key: True) -> Store:
        """A store with the same names, or some of them, which are set on their own from now on."""
        made = Store(store.placement, store.given, store.open, store.lent)
        self.add(made, ((key, entry) for key, entry in self.held(store) if keep(key)))
        return made

    def add(self, store: Store, entries: Iterable[tuple[str, Entry]]) -> None:
        """The code sets names as they are set elsewhere."""
        for key, entry in list(entries):
            self.put(store, key, entry.value, *entry.sites)

    def join(self, store: Store, other: Store) -> None:
        """The code sets every name of one store in another; with those of the stage's batch it is one of its stores."""
        self.add(store, self.held(other))
        store.open |= other.open
        store.lent |= other.lent
        if other.given:
            store.placement = other.placement if not store.given or store.placement == other.placement else None
            store.given = True

    # --- batches -------------------------------------------------------------------------------------------------

    def batch(self, given: bool = False, schema: type[BatchSchema] | None = None) -> Batch:
        """A batch in which nothing is set."""
        slots = {placement: [Store(placement, given)] for placement in SLOTS.values()}
        return Batch(Store(None, given), slots, schema)

    def derive(self, batch: Batch) -> Batch:
        """Another batch with the same names: other rows, another device, a copy."""
        slots = {placement: [self.copy(store) for store in stores] for placement, stores in batch.slots.items()}
        return Batch(self.copy(batch.flat), slots, batch.schema)

    def merge(self, batch: Batch, other: Batch) -> None:
        """The code sets every name of one batch in another."""
        self.join(batch.flat, other.flat)
        for placement, stores in other.slots.items():
            for store in stores:
                self.join(batch.slots[placement][0], store)

    def derived(self, value: Value) -> Value:
        """What comes of a batch or a store in which names stay what they are."""
        atoms = (
            self.derive(atom) if isinstance(atom, Batch) else self.copy(atom) if isinstance(atom, Store) else atom
            for atom in value
        )
        return frozenset(atoms)

    # --- what cannot be told -------------------------------------------------------------------------------------

    def use_all(self, store: Store) -> None:
        """The code goes through all names of a store."""
        if store.given:
            self.trace.whole.add(store.placement)

    def unclear(self, batch: Batch, site: Site) -> None:
        """The code takes an element of its batch: rows of a DataProto, a field or rows of a TensorDict."""
        if batch.given:
            self.maybe_keys.append(Opaque(COMPUTED, None, site))

    def hide(self, store: Store, what: str, site: Site) -> None:
        """The code does something with a store that cannot be told."""
        if store.given:
            self.trace.opaque[Opaque(what, store.placement, site)] = None

    def lend(self, value: Value, to: str, site: Site) -> None:
        """A value goes to code that is not read."""
        seen: set[object] = set()
        waiting = list(value)
        while waiting:
            atom = waiting.pop()
            if atom in seen:
                continue
            seen.add(atom)
            if isinstance(atom, Batch):
                self.hide(atom.flat, to, site)
                for store in atom.stores:
                    store.lent = True
            elif isinstance(atom, Store):
                self.hide(atom, to, site)
                atom.lent = True
                waiting += [inner for _, entry in self.held(atom) for inner in entry.value]
            elif isinstance(atom, Items):
                waiting += [inner for element in atom.elements for inner in element.value]
            elif isinstance(atom, (Keys, KeyOf)):
                self.use_all(atom.store)
            elif isinstance(atom, Method):
                waiting.append(atom.of)
            elif isinstance(atom, Function):
                waiting += [inner for bound in atom.bound for inner in bound if not isinstance(inner, Instance)]

    # --- objects of the program ----------------------------------------------------------------------------------

    def seen(self, thing: object) -> Value:
        """An object of the imported program as a value; strings and what holds them are looked into."""
        if isinstance(thing, str):
            return one(Text(thing.value if isinstance(thing, enum.Enum) else str(thing)))
        if isinstance(thing, (list, tuple, set, frozenset)) and len(thing) <= _LARGE:
            return one(Items([Element(self.seen(element)) for element in thing]))
        if isinstance(thing, (dict, MappingProxyType)) and len(thing) <= _LARGE and all(map(_is_text, thing)):
            store = Store()
            self.add(store, ((key, Entry(self.seen(value), ())) for key, value in thing.items()))
            return one(store)
        if isinstance(thing, enum.EnumMeta):
            return one(Live(thing))
        if id(thing) not in self._functions:
            self._functions[id(thing)] = (thing, self._followed(thing))  # the object is kept, and with it its id
        function = self._functions[id(thing)][1]
        return one(Live(thing) if function is None else function)

    def attribute(self, thing: object, name: str) -> Value:
        """An attribute of an object of the program, where no code has to run to get it."""
        if isinstance(thing, enum.Enum) and name in ("value", "name"):
            return self.seen(thing.value if name == "value" else thing.name)
        if isinstance(thing, enum.EnumMeta) and name in thing.__members__:
            return self.seen(thing.__members__[name])
        found = inspect.getattr_static(thing, name, UNKNOWN)
        if found is UNKNOWN or isinstance(found, property):
            return UNKNOWN
        return self.seen(found.__func__ if isinstance(found, (staticmethod, classmethod)) else found)

    def _followed(self, thing: object) -> Function | None:
        """A function of the same package or folder, whose code is read where it is called."""
        if isinstance(thing, MethodType):
            inner = self._followed(thing.__func__)
            return None if inner is None else Function(inner.node, inner.scope, inner.source, (UNKNOWN,))
        if not isinstance(thing, FunctionType) or hasattr(thing, "contract"):
            return None
        function = inspect.unwrap(thing)
        return self.function(function) if isinstance(function, FunctionType) and self._is_near(function) else None

    def function(self, function: FunctionType) -> Function | None:
        """A function with its code; None where there is none to be read."""
        source = self.sources.file(function.__code__.co_filename)
        node = None if source is None else source.function(function.__code__)
        return None if source is None or node is None else Function(node, Scope.around(function), source)

    def _is_near(self, function: FunctionType) -> bool:
        module = function.__module__ or ""
        if is_known(module):
            return False
        return module.partition(".")[0] == self._root or function.__code__.co_filename.rpartition("/")[0] == self._folder


def is_known(module: str) -> bool:
    """Whether the functions of a module are known by name, and not followed."""
    return module.partition(".")[0] in ("batchpact", "tensordict") or module in (
        "verl.protocol",
        "verl.utils.tensordict_utils",
    )


def _is_text(key: object) -> bool:
    return isinstance(key, str)


def store_name(store: Store) -> str:
    """How users know a store."""
    return "the batch" if store.placement is None else STORE_NAMES[store.placement]
