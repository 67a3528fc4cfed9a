"""What the code of a stage does with its batch, as far as it can be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from batchpact.schemas.markers import PlacementName

if TYPE_CHECKING:
    from batchpact.contracts.lint.values import Entry


class Site(NamedTuple):
    """A place in the source: lines and columns count from 1."""

    file: str
    line: int
    column: int


class Span(NamedTuple):
    """The lines of a function, its decorators among them."""

    file: str
    first: int
    last: int


class Access(NamedTuple):
    """A look at a name of the stage's batch. `placement` is None where the name may stand in any store.

    `own` is true where the stage may have set the name itself, before.
    """

    key: str
    placement: PlacementName | None
    how: str
    site: Site
    own: bool


class Whole(NamedTuple):
    """The code goes through every name of a store; of all of them where `placement` is None.

    `own` is true where the stage may have set names in it before, or only shows them.
    """

    placement: PlacementName | None
    site: Site
    own: bool


class Opaque(NamedTuple):
    """Something that cannot be told by reading: which name is meant, or what other code does with the batch."""

    what: str
    placement: PlacementName | None
    site: Site


@dataclass(slots=True)
class Result:
    """What the stage returns in one place.

    Attributes:
        entries: the names that it sets, with the placement of each; None where it may be any.
        open: whether it may hold names that cannot be told.
        given: whether it is the stage's own batch, in which fields may have been changed in place.
    """

    entries: dict[tuple[str, PlacementName | None], Entry] = field(default_factory=dict)
    open: bool = False
    given: bool = False


@dataclass(slots=True)
class Trace:
    """Everything that was read of a stage.

    Attributes:
        site: where its function is defined.
        parameters: the names of its parameters that the code uses.
        accesses: the looks at names, each once for each place.
        opaque: what cannot be told.
        whole: the stores of which every name is used.
        results: what is returned.
        spans: the functions that were read.
        stub: whether the function has no code yet.
    """

    site: Site
    parameters: frozenset[str] = frozenset()
    accesses: dict[Access, None] = field(default_factory=dict)
    opaque: dict[Opaque, None] = field(default_factory=dict)
    whole: dict[Whole, None] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    spans: set[Span] = field(default_factory=set)
    stub: bool = False

    def out_of_sight(self, placements: Iterable[PlacementName]) -> bool:
        """Whether a field with these placements may be used in a way that cannot be told."""
        hidden = {opaque.placement for opaque in self.opaque} | {whole.placement for whole in self.whole}
        return None in hidden or any(placement in hidden for placement in placements)
