"""The state of reading one stage: which names are set in which store, and what the code was seen to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType

from batchpact.contracts.lint.program import Program, folder_of
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import Sources
from batchpact.contracts.lint.trace import Access, Opaque, Site, Trace, Whole
from batchpact.contracts.lint.values import (
    SLOTS,
    UNKNOWN,
    Atom,
    Batch,
    Entry,
    Field,
    Function,
    FunctionNode,
    Holder,
    Instance,
    Items,
    KeyOf,
    Keys,
    Method,
    Slots,
    Store,
    Value,
    holders_in,
    one,
    stored,
    union,
)
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import PlacementName

_STEPS = 10_000
"""So many statements are read for one stage; then loops are no longer unrolled and functions no longer followed."""

_RECURSION = 2
"""A function that calls itself is read once more, and again."""

Name = tuple[Store, str]
Call = tuple[FunctionNode, Scope, frozenset[tuple[str, Value]]]


class Machine:
    """What the readers of all functions of one stage share.

    Args:
        trace: what was seen; it is added to.
        sources: the source files.
        function: the function of the stage.

    Attributes:
        program: what the stage sees of the imported program.
        visible: the names that are set at the place where the code is read, on one way to it or another.
        trying: how many `try` with a handler are around the place where the code is read.
        is_data_proto: whether the stage's batch is used as a DataProto.
    """

    def __init__(self, trace: Trace, sources: Sources, function: FunctionType) -> None:
        root = function.__module__.partition(".")[0]
        self.trace = trace
        self.program = Program(sources, root, folder_of(function), self.put)
        self.visible: set[Name] = set()
        self.trying = 0
        self.is_data_proto = False
        self._nested: dict[FunctionNode, Function] = {}
        self._read: set[FunctionNode] = set()
        self._stack: list[Call] = []
        self._results: dict[Call, Value] = {}
        self._unclear: dict[Opaque, None] = {}
        self._steps = 0

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
        return iter([(key, entry) for key, entry in store.entries.items() if (store, key) in self.visible])

    def look(self, of: Iterable[Atom], key: str, how: str, site: Site) -> Value:
        """The code looks for a name in what may be one of several batches and stores."""
        atoms = list(of)
        placements: set[PlacementName | None] = {store.placement for store in stored(atoms) if store.given}
        stores = {store: None for holder in holders_in(atoms) for store in holder.stores}
        found = [store.entries[key].value for store in stores if (store, key) in self.visible]
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
        made = Store(store.placement, store.rows, store.given, store.open, store.lent)
        self.add(made, ((key, entry) for key, entry in self.held(store) if keep(key)))
        return made

    def add(self, store: Store, entries: Iterable[tuple[str, Entry]]) -> None:
        """The code sets names as they are set elsewhere."""
        for key, entry in entries:
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

    def batch(self, *, given: bool = False, schema: type[BatchSchema] | None = None) -> Batch:
        """A batch in which nothing is set."""
        slots: Slots = {name: [Store(name, rows=name == "tensor", given=given)] for name in SLOTS.values()}
        return Batch(Store(rows=True, given=given), slots, schema)

    def derive(self, batch: Batch, keep: Callable[[str], bool] = lambda key: True) -> Batch:
        """Another batch with the same names, or some of them: other rows, another device, a copy."""
        slots: Slots = {name: [self.copy(store, keep) for store in stores] for name, stores in batch.slots.items()}
        return Batch(self.copy(batch.flat, keep), slots, batch.schema)

    def merge(self, batch: Batch, other: Batch) -> None:
        """The code sets every name of one batch in another."""
        self.join(batch.flat, other.flat)
        for placement, stores in other.slots.items():
            for store in stores:
                self.join(batch.slots[placement][0], store)

    def derived(self, value: Iterable[Atom], keep: Callable[[str], bool] = lambda key: True) -> Value:
        """What comes of batches and stores in which names stay what they are."""
        atoms = (
            self.derive(atom, keep)
            if isinstance(atom, Batch)
            else self.copy(atom, keep)
            if isinstance(atom, Store)
            else atom
            for atom in value
        )
        return frozenset(atoms)

    # --- what cannot be told -------------------------------------------------------------------------------------

    def use_all(self, store: Store, site: Site, *, own: bool = False) -> None:
        """The code goes through all names of a store."""
        if store.given:
            own = own or store.open or any(self.held(store))
            self.trace.whole[Whole(store.placement, site, own)] = None

    def hide(self, holder: Holder, what: str, site: Site) -> None:
        """The code does something with a batch or a store that cannot be told."""
        if holder.given:
            self.trace.opaque[Opaque(what, holder.flat.placement, site)] = None

    def unclear(self, batch: Batch, what: str, site: Site) -> None:
        """The code takes an element of its batch: rows of a DataProto, a field or rows of a TensorDict."""
        if batch.given:
            self._unclear[Opaque(what, None, site)] = None

    def lend(self, value: Value, to: str, site: Site) -> None:
        """A value goes to code that is not read."""
        seen: set[Atom] = set()
        waiting = list(value)
        while waiting:
            atom = waiting.pop()
            if atom in seen:
                continue
            seen.add(atom)
            if isinstance(atom, (Batch, Store)):
                self.hide(atom, to, site)
                for store in atom.stores:
                    store.lent = True
                    waiting += [inner for _, entry in self.held(store) for inner in entry.value]
            elif isinstance(atom, Items):
                waiting += [inner for element in atom.elements for inner in element.value]
            elif isinstance(atom, (Keys, KeyOf)):
                self.use_all(atom.store, site, own=True)
            elif isinstance(atom, Method):
                waiting.append(atom.of)
            elif isinstance(atom, Function):
                waiting += [inner for bound in atom.bound for inner in bound if not isinstance(inner, Instance)]

    def finish(self) -> None:
        """Everything was read: what an unclear element is, is known now, or never."""
        if not self.is_data_proto:
            self.trace.opaque.update(self._unclear)

    # --- functions -----------------------------------------------------------------------------------------------

    def define(self, function: Function) -> Function:
        """A function that is defined inside another; the same one each time that this is read in the same call."""
        known = self._nested.get(function.node)
        if known is None or known.scope is not function.scope:
            known = self._nested[function.node] = function
        return known

    def uncalled(self) -> list[Function]:
        """The functions that were defined and that nothing has called so far."""
        return [function for node, function in self._nested.items() if node not in self._read]

    def begin(self, function: Function, bound: Mapping[str, Value]) -> Value | None:
        """The code of a function is read from here, with these arguments.

        Returns:
            What it gives, where that is known already: it need not be read again then.
        """
        self._read.add(function.node)
        call = (function.node, function.scope, frozenset(bound.items()))
        if call in self._results:
            return self._results[call]
        if call in self._stack or [node for node, *_ in self._stack].count(function.node) > _RECURSION:
            return UNKNOWN
        self._stack.append(call)
        self.trace.spans.add(function.source.span(function.node))
        return None

    def end(self, result: Value) -> None:
        """The code of the function was read; it returns this."""
        call = self._stack.pop()
        _, scope, bound = call
        atoms = [*result, *(atom for _, value in bound for atom in value)]
        changing = any(isinstance(atom, (Store, Batch, Items, Function, Method, Keys, KeyOf)) for atom in atoms)
        if scope.parent is None and not changing:
            self._results[call] = result

    @property
    def depth(self) -> int:
        """How many functions are being read, each called by the one before."""
        return len(self._stack)

    def skip(self, function: Function) -> None:
        """The code of a function is called, and not read."""
        self._read.add(function.node)
