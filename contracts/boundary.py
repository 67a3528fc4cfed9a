"""The boundary of one stage: what is checked and handed out before it runs, and what becomes of its result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from batchpact.contracts import effects
from batchpact.contracts.arguments import Arguments, Filled
from batchpact.contracts.dump.saving import Broken
from batchpact.contracts.kept_back import KEPT_BACK, whole_of
from batchpact.contracts.origins import FromRows, check_origin, fits, taken_marks
from batchpact.contracts.outcome import fields_of, outcome
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import OBSERVERS, deliver, settle
from batchpact.contracts.settings import Level, Projection, Settings, current
from batchpact.dataproto.carriers import carrier_of
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.row_marks import Mask
from batchpact.dataproto.rows import Index
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas.axes import Size
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Names, look_up_names, names_in
from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.declared import sources_words
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.errors import ContractError
from batchpact.schemas.instances import copy_instance, instance_stores, make_instance
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.narrowing import narrowed
from batchpact.schemas.record import SchemaSpec, StageSpec
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.text import count
from batchpact.schemas.values import check_values
from batchpact.schemas.violations import DimSizes, Violation, Where

if TYPE_CHECKING:
    from batchpact.contracts.unpacking import Unpacking

EVERYTHING = HandOut(None, None, None, {}, (), None)
"""How a batch is handed out where nothing is checked and nothing is filled in."""

MOST = 256
"""So many variants of a contract are kept: names are data, and data can be different in every call."""


class Boundary:
    """The contract of one stage, compiled.

    Args:
        spec: the record of the stage.
        reads: what it reads.
        writes: what it writes.
        function: the bare function.
        typed: whether the function takes a `Reads` instance.
        parameters: the function's parameters by name, with their positions.
        level: the level that this stage asks for, where nothing around it does.
        project: `on`, `record` or `off`.
        off: the keys of fields that are left out, each with the condition that does not hold.
        misnamed: why nobody can tell the names of some open columns.
        alias_of: the contract of the same code under its own name, where this is another one for it.
        fixed: the names of arguments that have one value.

    Attributes:
        accepted: the class of which the stage takes instances, where it takes any.
        unpacking: how the function is called, where it takes the values of the fields; `function` takes a `Reads` then.
        ending: where the way out is, in words.
    """

    unpacking: Unpacking | None = None
    _known_keys: frozenset[str]

    def __init__(
        self,
        spec: StageSpec,
        reads: type[BatchSchema],
        writes: type[BatchSchema],
        function: Callable[..., Any],
        *,
        typed: bool,
        parameters: Mapping[str, int | None],
        level: Level | None,
        project: Projection,
        off: Mapping[str, str] = MappingProxyType({}),
        misnamed: Sequence[Violation] = (),
        alias_of: Boundary | None = None,
        fixed: Collection[str] = (),
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.ending = f"where stage '{spec.name}' returns its result"
        self.reads = reads
        self.writes = writes
        self._returned = writes
        self.parameters = parameters
        self._off = off
        self.misnamed = misnamed
        self._sources = sources_words(spec.reads.columns)
        self._wrong_names: Sequence[Violation] = ()
        self._unnamed = writes.__batchpact__.unnamed
        self._named: dict[tuple[Names, ...], Boundary] = {}
        self.fixed = fixed
        self.alias_of = alias_of
        self.accepted: type[BatchSchema] = reads if alias_of is None else alias_of.accepted
        self.function = function
        self.typed = typed
        self.level: Level | None = level
        self.project: Projection = project
        self.arguments = Arguments(reads.__batchpact__, parameters, spec.name, fixed)
        read_keys = [field.key for field in spec.reads.fields]
        write_keys = frozenset(field.key for field in spec.writes.fields)
        self._read_keys = frozenset(read_keys)
        # The code of an alias looks for its fields by their own keys.
        self._known_keys = self._read_keys if alias_of is None else self._read_keys | alias_of._known_keys
        self._optional = [
            f.key for f in spec.reads.fields if f.source or not f.required or f.when or f.place("arg") is not None
        ]
        self.rewrites = frozenset(read_keys) & write_keys
        self._kept = tuple(key for key in _keys(spec.reads, "tensor") if key not in write_keys)
        self._effects = effects.Effects(spec.reads, spec.writes, off)
        self.writers = {key: spec.name for key in write_keys}
        self._opaque = project != "on" or spec.reads.extra == "allow"
        self._tensors = None if self._opaque else _keys(spec.reads, "tensor")
        self._columns = None if self._opaque else _keys(spec.reads, "non_tensor", "tag")
        self._meta = None if self._opaque else _keys(spec.reads, "meta")
        self._rows_differ = spec.rows.kind != "same"
        open_columns = spec.reads.columns or spec.writes.columns
        self.direct = not (self._rows_differ or spec.drops or open_columns) and self.arguments.needless

    def narrowed(
        self,
        reads: type[BatchSchema],
        writes: type[BatchSchema],
        off: Mapping[str, str],
        misnamed: Sequence[Violation] = (),
    ) -> Boundary:
        """The same contract where questions are answered: with schemas that have the fields which are there.

        Args:
            reads: what it reads then.
            writes: what it writes then.
            off: the keys of fields that are off, each with the condition that does not hold.
            misnamed: why nobody can tell the names of some open columns.
        """
        spec = self.spec.model_copy(update={"reads": reads.__batchpact__.spec, "writes": writes.__batchpact__.spec})
        made = Boundary(
            spec,
            reads,
            writes,
            self.function,
            typed=self.typed,
            parameters=self.parameters,
            level=self.level,
            project=self.project,
            off={**self._off, **off},
            misnamed=misnamed,
            alias_of=self.alias_of,
            fixed=self.fixed,
        )
        made._returned = self._returned
        made.ending = self.ending
        return made

    def settled(self, passage: Passage, result: Any, *, guess: bool = False) -> Boundary:
        """The contract that counts for a result, which may say what the open columns that it has are called.

        Args:
            passage: the call.
            result: what the stage returned.
            guess: where nobody says it, the columns are what the contract does not declare, if they are of one kind.

        Raises:
            ContractError: if the result is no batch.
        """
        if not self._unnamed or result is None:
            return self
        returned = result.result if isinstance(result, FromRows) else result
        try:
            fields, _ = fields_of(returned, self._returned, self.ending, Where(stage=self.name, boundary="writes"))
        except ContractError as error:
            raise self._saved(passage, error) from None
        own = [key for key in fields.names() if key not in self._read_keys and key not in self.writers]
        return self.naming({**passage.source.meta, **fields.meta}, own if guess and len(self._unnamed) == 1 else None)

    def rewritten(self, held: Stores, gained: Stores) -> frozenset[str]:
        """The keys that the stage has rewritten: what it wrote of what it read, open columns among it.

        Args:
            held: the batch that it read.
            gained: what it wrote.
        """
        columns = self.spec.reads.columns
        if not (columns or self.spec.writes.columns):
            return self.rewrites
        names = names_in(self.spec.reads, columns, partial(look_up_names, self.arguments.meta(held)))
        read = {field.key for field in narrowed(self.reads, {}, names).__batchpact__.spec.fields}
        return frozenset(read.intersection(gained.names()))

    def naming(self, meta: Mapping[str, object], otherwise: Sequence[str] | None = None) -> Boundary:
        """The contract where this meta says what the open columns of the result are called; or `otherwise` does."""

        def look_up(source: SubjectSpec) -> object:
            found = look_up_names(meta, source)
            return otherwise if found is None else found

        names = names_in(self.spec.writes, self._unnamed, look_up)
        told = tuple(names.values())
        made = self._named.get(told)
        if made is None:
            if len(self._named) >= MOST:
                self._named.clear()
            made = self._named[told] = self.narrowed(self.reads, narrowed(self.writes, {}, names), self._off)
            made._wrong_names = [found for found in told if isinstance(found, Violation)]
        return made

    # --- going in ------------------------------------------------------------------------------------------------

    def enter(
        self,
        batch: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        whole: Callable[[], Stores] | None = None,
    ) -> Passage:
        """Check a batch against the Reads and hand out what they declare.

        Args:
            batch: a carrier, or an instance of the Reads.
            args: the positional arguments of the call.
            kwargs: its keyword arguments; arguments of the contract are taken out of, or put into them.
            whole: where the batch is what another process sent of its own, gives what that one holds: undeclared
                reads are then told by it.

        Raises:
            ContractError: with everything that is wrong.
        """
        started = perf_counter()
        settings = current()
        level = self.level_under(settings)
        carrier = None if isinstance(batch, BatchSchema) else carrier_of(batch)
        source = self.stores_of(batch) if carrier is None else carrier.stores(batch)
        if whole is None and KEPT_BACK in source.meta:
            whole = whole_of(source)
        filled = Filled() if self.arguments.needless else self.arguments.fill(source, args, kwargs)
        passage = Passage(batch, carrier, source, batch, rows_of(source), filled, settings, level, started)
        if level != "off":
            self._check_reads(passage)
        self._hand_out(passage, whole)
        passage.checked = perf_counter() - started
        return passage

    def level_under(self, settings: Settings) -> Level:
        """What is checked of a call: what the settings say, or what the stage asks for."""
        return settings.level or self.level or "structure"

    def stores_of(self, instance: BatchSchema) -> Stores:
        """What an instance of the Reads holds; under another name of the stage it may be one of its own Reads."""
        return instance_stores(instance, None if self.alias_of is None else self.reads)

    def _check_reads(self, passage: Passage) -> None:
        source, filled = passage.source, passage.filled
        meta = {**source.meta, **filled.meta} if filled.meta else source.meta
        looked = Stores(source.tensors, source.columns, meta, filled.args)
        pads = None if passage.carrier is None else passage.carrier.pads(passage.batch)
        sizes, violations, dims = self._check(self.reads, looked, passage, None, pads)
        if filled.violations or self.misnamed:
            violations = [*self.misnamed, *violations, *filled.violations]
        if pads is not None and pads.any() and not self.spec.pad_safe:
            actual, expected = f"{count(int(pads.sum()), 'pad row')} of {len(pads)}", "the stage is not pad_safe"
            violations = [*violations, Violation(code="BP033", field="batch", actual=actual, expected=expected)]
        if violations:
            broken = Broken(self, passage, "reads")
            self._settle(broken, f"where stage '{self.name}' reads its batch", violations, dims)
        passage.sizes = sizes
        passage.versions = effects.versions(source.tensors, self._kept)
        if passage.carrier is not None:
            passage.carrier.note_reader(passage.batch, self.name, self._keys_read(source))

    def _keys_read(self, source: Stores) -> frozenset[str]:
        """The declared fields that the batch holds; looked up only where some may be absent."""
        if not self._optional:
            return self._read_keys
        return self._read_keys - {key for key in self._optional if source.find(key) is None}

    @staticmethod
    def _given(passage: Passage) -> dict[str, object]:
        """What stands in the handed-out meta for the length of the call."""
        filled = passage.filled
        return {**filled.meta, **filled.args} if filled.args or filled.meta else {}

    @property
    def hands_out_everything(self) -> bool:
        """Whether the function is handed fields that its Reads do not declare, too."""
        return self._opaque

    def declared(self, held: Stores) -> Stores:
        """What a batch holds of the Reads: all that the function is handed, and all that has to travel to it."""
        if self._opaque:
            return held
        keys = (self._tensors or (), self._columns or (), self._meta or ())
        chosen = ({key: store[key] for key in names if key in store} for store, names in zip(held, keys, strict=False))
        return Stores(*chosen)

    def _hand_out(self, passage: Passage, whole: Callable[[], Stores] | None) -> None:
        carrier = passage.carrier
        extra = self._given(passage)
        if carrier is None:
            if extra or self.spec.reads.columns:
                passage.handed = make_instance(self.reads, passage.source, extra, None)
            else:
                passage.handed = copy_instance(passage.batch)  # what the function sets on it is scratch
            return
        withheld = None
        withholds = self.project != "off" or self.typed  # a Reads has declared attributes only, and looks up the others
        if passage.level != "off" and withholds and self.spec.reads.extra != "allow":
            report = None if self.project == "on" else partial(self._report, passage)
            stores = whole or partial(carrier.stores, passage.batch)
            withheld = Withheld(self.name, self._known_keys, stores, report, self._off, self._sources)
            if passage.settings.dump is not None:
                # A copy: the batch that is handed out, which knows this, is not held by what it knows.
                withheld.saving = Broken(self, replace(passage), "reads").saving()
        if self.typed:
            passage.handed = make_instance(self.reads, passage.source, extra, withheld)
            return
        if passage.level == "off":
            terms = HandOut(None, None, None, extra, (), None) if extra else EVERYTHING
        else:
            terms = HandOut(self._tensors, self._columns, self._meta, extra, self.rewrites, withheld)
        passage.handed = carrier.hand_out(passage.batch, terms)
        if passage.rows is not None and (passage.level != "off" or self._rows_differ):
            carrier.start_rows(passage.handed, passage.rows)
            passage.origin = carrier.origin(passage.handed)

    # --- coming out ----------------------------------------------------------------------------------------------

    def leave(self, passage: Passage, result: Any, *, whole: bool = False) -> Any:
        """Check what a stage returned and give it to the caller, in the kind of the caller's batch.

        Args:
            passage: the call.
            result: what the stage returned.
            whole: whether the result is the caller's whole batch, in which the stage worked.

        Raises:
            ContractError: with everything that is wrong; the caller's batch is as it was.
        """
        if isinstance(result, tuple) and result and type(result) is tuple:
            return (self.leave(passage, result[0]), *result[1:])
        if self._unnamed and result is not None:
            return self.settled(passage, result).leave(passage, result)
        if result is None:
            changed = self._effects.changed_in_place(passage.versions, passage.source)
            if changed:
                self._settle(Broken(self, passage, "writes"), self.ending, changed, [])
            self.tell(passage, Stores.empty(), 0.0)
            return None
        started = perf_counter()
        fields, origin = self.judge(passage, result, whole=whole)
        returned = result.result if isinstance(result, FromRows) else result
        output = outcome(self.spec, self.rewrites, passage, returned, fields, origin)
        self.tell(passage, fields, perf_counter() - started)
        return output

    def tell(self, passage: Passage, fields: Stores, leaving: float) -> None:
        """Tell whoever wants to know of a call that has written these fields; its way out took `leaving` seconds."""
        if OBSERVERS.get():
            deliver(passage.event(self.name, self._read_keys, fields, leaving))

    def judge(self, passage: Passage, result: Any, *, whole: bool = False) -> tuple[Stores, Index | None]:
        """What a batch, a Writes or a `FromRows` holds that was written, and where its rows come from, once checked.

        Raises:
            ContractError: with everything that is wrong.
        """
        origin: Index | None = None
        if isinstance(result, FromRows):
            result, origin = result.result, result.origin
        try:
            fields, known = fields_of(result, self._returned, self.ending, Where(stage=self.name, boundary="writes"))
        except ContractError as error:
            raise self._saved(passage, error) from None
        origin = known if origin is None else origin
        found = self._effects.written(
            fields,
            passage.source,
            self._given(passage),
            rows_differ=self._rows_differ or (origin is not None and origin is not passage.origin),
            whole=whole or passage.level == "off" or self._opaque,
        )
        if passage.level != "off":
            self._check_writes(passage, found, origin, rows_of(fields))
        return found.fields, origin

    def _check_writes(
        self, passage: Passage, found: effects.Written, origin: Index | None, result_rows: int | None
    ) -> None:
        axis = self.spec.writes.axis or "batch"
        given = dict(passage.sizes)
        given.pop(axis, None)
        if self._rows_differ:  # the lengths of a ragged axis belong to the rows that came in
            given = {name: size for name, size in given.items() if isinstance(size, int)}
        elif passage.rows is not None:
            given[axis] = passage.rows
        pads = None if passage.carrier is None else passage.carrier.pads(passage.batch)
        if pads is not None and self._rows_differ:
            pads = taken_marks(self.spec.rows, origin, pads, result_rows)
        sizes, wrong, dims = self._check(self.writes, found.together(), passage, given, pads)
        violations = [*self._wrong_names, *wrong, *found.violations]
        rows = sizes.get(axis, result_rows)
        violations += self._effects.other_rows(found.fields, rows if isinstance(rows, int) else result_rows)
        if origin is not passage.origin or self._rows_differ:
            misplaced = check_origin(self.spec.rows, origin, passage.rows or 0, result_rows)
            if misplaced is not None:
                violations.append(misplaced)
        if self.spec.graph != "allow":
            violations += effects.graphs(found.fields)
        violations += self._effects.changed_in_place(passage.versions, passage.source)
        if violations:
            if self._rows_differ and not fits(origin, passage.rows or 0, result_rows):
                # No batch can be made of it, whatever the severity.
                passage = replace(passage, settings=Settings(dump=passage.settings.dump))
            broken = Broken(self, passage, "writes", found.together(), given)
            self._settle(broken, self.ending, violations, dims)

    # --- both ways -----------------------------------------------------------------------------------------------

    def _check(
        self,
        schema: type[BatchSchema],
        stores: Stores,
        passage: Passage,
        given: Mapping[str, Size] | None,
        pads: Mask | None,
    ) -> tuple[dict[str, Size], list[Violation], list[DimSizes]]:
        """The plan first; the careful look only where it says no, or where values are to be read.

        `given` are the dims that the reads bound, when it is the result that is checked; `pads` says which of its rows
        are padding.
        """
        plan = schema.__batchpact__.plan
        sizes = plan.sizes(stores, given)
        values = passage.level == "values"
        if sizes is not None and not values:
            return sizes, [], []
        if given is not None:
            context = Context(given=given, given_from="what the stage read", holder="result", values=values)
        else:
            history = {} if passage.carrier is None else passage.carrier.history(passage.batch)
            context = Context(history=history, values=values)
        found = diagnose(plan, stores, context)
        violations = found.violations
        if values and not violations:
            violations = check_values(schema, stores, passage.settings.sample, pads)
        return found.sizes, violations, found.dims

    def _settle(self, broken: Broken, subject: str, violations: Sequence[Violation], dims: Sequence[DimSizes]) -> None:
        passage, where = broken.passage, Where(stage=self.name, boundary=broken.side)
        placed = [violation.at(where) for violation in violations]
        passage.found += settle(self.name, subject, placed, dims, passage.settings, broken.saving())

    def _saved(self, passage: Passage, error: ContractError) -> ContractError:
        """The error of a result that is no batch, once the call is saved where somebody wants that."""
        saving = Broken(self, passage, "writes").saving()
        return error if saving is None else saving(error)

    def _report(self, passage: Passage, violation: Violation) -> None:
        """An undeclared read, where everything is handed out: `project="record"` says so, `"off"` does not."""
        if self.project == "off":
            return
        lenient = replace(passage.settings, action="warn")
        passage.found += settle(
            self.name, f"in stage '{self.name}'", [violation], [], lenient, Broken(self, passage, "reads").saving()
        )


def _keys(schema: SchemaSpec, *placements: PlacementName) -> tuple[str, ...]:
    return tuple(field.key for field in schema.fields if any(place.placement in placements for place in field.places))
