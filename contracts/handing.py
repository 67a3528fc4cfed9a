"""What the function of a stage is handed of a batch: the fields that its Reads declare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import Saving, settle
from batchpact.contracts.settings import Projection
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.declared import sources_words
from batchpact.schemas.instances import copy_instance, make_instance
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation, Where

EVERYTHING = HandOut(None, None, None, {}, (), None)
"""How a batch is handed out where nothing is checked and nothing is filled in."""


class Handing:
    """How the batches of one stage are handed to its function.

    Args:
        stage: the name of the stage.
        reads: what it reads.
        typed: whether the function takes a `Reads` instance.
        project: `on`, `record` or `off`.
        off: the keys of fields that are left out, each with the condition that does not hold.
        writable: the keys of fields that the function may write into.
        own_keys: further keys by which the function may look for its fields, as the code of an alias does.

    Attributes:
        known_keys: the keys by which the function may look for its fields.
        everything: whether it is handed fields that its Reads do not declare, too.
    """

    def __init__(
        self,
        stage: str,
        reads: type[BatchSchema],
        typed: bool,
        project: Projection,
        off: Mapping[str, str],
        writable: Collection[str],
        own_keys: frozenset[str],
    ) -> None:
        spec = reads.__batchpact__.spec
        self.known_keys = frozenset(field.key for field in spec.fields) | own_keys
        self.everything = project != "on" or spec.extra == "allow"
        self._stage = stage
        self._reads = reads
        self._typed = typed
        self._project: Projection = project
        # A Reads has declared attributes only, and looks up the others.
        self._withholds = (project != "off" or typed) and spec.extra != "allow"
        self._off = off
        self._writable = writable
        self._open = bool(spec.columns)
        self._sources = sources_words(spec.columns)
        self._tensors = None if self.everything else keys_in(spec, "tensor")
        self._columns = None if self.everything else keys_in(spec, "non_tensor", "tag")
        self._meta = None if self.everything else keys_in(spec, "meta")

    def declared(self, held: Stores) -> Stores:
        """What a batch holds of the Reads: all that the function is handed, and all that has to travel to it."""
        if self.everything:
            return held
        keys = (self._tensors or (), self._columns or (), self._meta or ())
        chosen = ({key: store[key] for key in names if key in store} for store, names in zip(held, keys, strict=False))
        return Stores(*chosen)

    def hand_out(self, passage: Passage, whole: Callable[[], Stores] | None, saving: Saving | None = None) -> None:
        """Make what the function is given in a call.

        Args:
            passage: the call.
            whole: gives what undeclared reads are told by, where that is not the batch itself.
            saving: saves the call, where there is an undeclared read.
        """
        carrier = passage.carrier
        extra = passage.filled.together()
        if carrier is None:
            if extra or self._open:
                passage.handed = make_instance(self._reads, passage.source, extra, None)
            else:
                passage.handed = copy_instance(passage.batch)  # what the function sets on it is scratch
            return
        withheld = None
        if self._withholds and passage.level != "off":
            report = None if self._project == "on" else partial(self._report, passage, saving)
            stores = whole or partial(carrier.stores, passage.batch)
            withheld = Withheld(self._stage, self.known_keys, stores, report, self._off, self._sources)
            withheld.saving = saving
        if self._typed:
            passage.handed = make_instance(self._reads, passage.source, extra, withheld)
            return
        if passage.level == "off":
            terms = HandOut(None, None, None, extra, (), None) if extra else EVERYTHING
        else:
            terms = HandOut(self._tensors, self._columns, self._meta, extra, self._writable, withheld)
        passage.handed = carrier.hand_out(passage.batch, terms)

    def _report(self, passage: Passage, saving: Saving | None, violation: Violation) -> None:
        """An undeclared read, where everything is handed out: `project="record"` says so, `"off"` does not."""
        if self._project == "off":
            return
        where = Where(stage=self._stage, boundary="reads")
        lenient = replace(passage.settings, action="warn")
        passage.found += settle(where, f"in stage '{self._stage}'", [violation], [], lenient, saving)


def keys_in(schema: SchemaSpec, *placements: PlacementName) -> tuple[str, ...]:
    """The keys of the fields that may stand in these stores."""
    return tuple(field.key for field in schema.fields if any(place.placement in placements for place in field.places))
