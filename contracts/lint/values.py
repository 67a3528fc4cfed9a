"""What the linter knows of a value while it reads code: which batch or store it is, which names it may hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard

from batchpact.contracts.lint.trace import Site
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import PlacementName

if TYPE_CHECKING:
    from batchpact.contracts.lint.scope import Scope
    from batchpact.contracts.lint.sources import SourceFile

Value: TypeAlias = "frozenset[Atom]"
"""Everything that a value may be: one atom for each possibility."""

SLOTS: dict[str, PlacementName] = {"batch": "tensor", "non_tensor_batch": "non_tensor", "meta_info": "meta"}
"""The stores of a `DataProto` by attribute."""

OF_ROWS = frozenset({"check_row", "collate"})
"""What a schema does with rows; no field can be called so."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of which nothing is known, and which is no batch of the stage."""


@dataclass(frozen=True, slots=True)
class Text:
    """A known string."""

    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """The value that stands under a key in the stage's batch, unchanged."""

    key: str


class Entry(NamedTuple):
    """A name that the code sets in a store: what it is set to, and where."""

    value: Value
    sites: tuple[Site, ...]


@dataclass(eq=False, slots=True)
class Store:
    """Names with their values: a dict, a TensorDict, or one of the stores of a batch.

    Attributes:
        placement: the placement of its names; None where any can be.
        rows: whether an index may choose rows of it, as in a TensorDict.
        given: whether names that the code has not set are those of the stage's batch.
        open: whether the code sets names in it that cannot be told.
        lent: whether code that is not read may have set names in it.
        entries: every name that the code ever sets in it.
    """

    placement: PlacementName | None = None
    rows: bool = False
    given: bool = False
    open: bool = False
    lent: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def flat(self) -> Store:
        """What is looked up on it: its own names."""
        return self

    @property
    def stores(self) -> Iterator[Store]:
        """Every store that it has."""
        yield self


Slots: TypeAlias = dict[PlacementName, list[Store]]


@dataclass(eq=False, slots=True)
class Batch:
    """A batch.

    Attributes:
        flat: what is looked up on the batch itself: the fields of a TensorDict, of Reads or Writes.
        slots: the three stores of a DataProto; each is a list of what it may be.
        schema: its class, where it is an instance of a schema.
    """

    flat: Store
    slots: Slots
    schema: type[BatchSchema] | None = None

    @property
    def given(self) -> bool:
        """Whether it is the stage's batch, or was made of it."""
        return self.flat.given

    @property
    def stores(self) -> Iterator[Store]:
        """Every store that it may have."""
        yield self.flat
        for stores in self.slots.values():
            yield from stores


Holder: TypeAlias = Store | Batch


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of a store, as `keys()` gives them."""

    store: Store


@dataclass(frozen=True, slots=True)
class KeyOf:
    """One of the names of a store: each, one after the other."""

    store: Store


class Element(NamedTuple):
    """One element of a sequence, with the place of its literal where it has one."""

    value: Value
    site: Site | None = None


@dataclass(eq=False, slots=True)
class Items:
    """A list, tuple or set. Where it is not `complete`, each element may stand there any number of times."""

    elements: list[Element]
    complete: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """An object of the imported program: a module, a class, a function, a constant."""

    thing: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Live) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


@dataclass(frozen=True, slots=True)
class Absent:
    """Something that code imports when it runs, and that nobody has imported yet, by its dotted name."""

    name: str


FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function whose code can be read; `bound` is what stands before its arguments."""

    node: FunctionNode
    scope: Scope
    source: SourceFile
    bound: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """A method of something that is known."""

    of: Atom
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """`self`: its class, as the program has it and as its source shows it.

    `above` skips that class, as `super()` does.
    """

    kind: type | None
    node: ast.ClassDef | None
    scope: Scope
    source: SourceFile
    above: bool = False


Atom: TypeAlias = (
    Unknown | Text | Field | Store | Batch | Keys | KeyOf | Items | Live | Absent | Function | Method | Instance
)

UNKNOWN: Value = frozenset({Unknown()})
NONE: Value = frozenset({Live(None)})


def one(atom: Atom) -> Value:
    """A value that can only be this."""
    return frozenset({atom})


def union(values: Iterable[Value]) -> Value:
    """A value that may be any of these; unknown where there is none."""
    atoms = frozenset(atom for value in values for atom in value)
    return atoms or UNKNOWN


def holders_in(value: Iterable[Atom]) -> list[Holder]:
    """The batches and stores that a value may be."""
    return [atom for atom in value if isinstance(atom, (Store, Batch))]


def stored(value: Iterable[Atom]) -> Iterator[Store]:
    """The stores that a value may be, as a mapping of names."""
    return (holder.flat for holder in holders_in(value))


def kept(value: Value) -> list[Store]:
    """The stores that a value may be; one of which nothing is known where it may be anything else but None."""
    known = all(isinstance(atom, (Store, Batch)) or atom in NONE for atom in value)
    return [*stored(value), *([] if known else [Store(open=True)])]


def is_schema(thing: object) -> TypeGuard[type[BatchSchema]]:
    """Whether this is a schema of batches, such as Reads or Writes."""
    return isinstance(thing, type) and issubclass(thing, BatchSchema)


def is_complete(value: Value) -> bool:
    """Whether every element of a value is known, and how often it stands there."""
    atom = next(iter(value))
    if len(value) > 1 or not isinstance(atom, (Items, Store)):
        return False
    return atom.complete if isinstance(atom, Items) else not (atom.given or atom.open)
