"""The boundary of one stage: what is checked and handed out before it runs, and what becomes of its result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from batchpact.contracts import effects
from batchpact.contracts.arguments import Arguments, Filled
from batchpact.contracts.bounded import Bounded
from batchpact.contracts.dump.saving import Broken
from batchpact.contracts.handing import Handing, keys_in
from batchpact.contracts.kept_back import KEPT_BACK, whole_of
from batchpact.contracts.late_names import settled
from batchpact.contracts.origins import FromRows, check_origin, fits, taken_marks
from batchpact.contracts.outcome import fields_of, outcome
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import OBSERVERS, deliver, settle
from batchpact.contracts.settings import Level, Projection, Settings, current
from batchpact.contracts.verdict import verdict
from batchpact.dataproto.carriers import carrier_of
from batchpact.dataproto.rows import Index
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Names
from batchpact.schemas.errors import ContractError
from batchpact.schemas.instances import instance_stores
from batchpact.schemas.record import StageSpec
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where

if TYPE_CHECKING:
    from batchpact.contracts.unpacking import Unpacking


@dataclass(eq=False, repr=False)
class Boundary:
    """The contract of one stage, compiled.

    Attributes:
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
        wrong_names: what is wrong with the names that a result tells.
        alias_of: the contract of the same code under its own name, where this is another one for it.
        fixed: the names of arguments that have one value.
        accepted: the class of which the stage takes instances, where it takes any.
        returned: the class of which the function returns instances, where it returns any.
        unpacking: how the function is called, where it takes the values of the fields; `function` takes a `Reads` then.
        beginning: where the way in is, in words.
        ending: where the way out is, in words.
        on_reads: the place of what is wrong on the way in.
        on_writes: the place of what is wrong on the way out.
        arguments: what a call brings beside its batch.
        handing: what the function is handed of a batch.
        read_keys: the keys of the declared reads.
        rewrites: those of them that are written, too.
        writers: the stage as the writer of each key that it writes.
        unnamed: the open columns whose names only a result tells.
        named: the contracts for results that have told them.
        direct: whether a call at level `off` has nothing to do but to run the function.
    """

    spec: StageSpec
    reads: type[BatchSchema]
    writes: type[BatchSchema]
    function: Callable[..., Any]
    _: KW_ONLY
    typed: bool
    parameters: Mapping[str, int | None]
    level: Level | None
    project: Projection
    off: Mapping[str, str] = field(default_factory=dict)
    misnamed: Sequence[Violation] = ()
    wrong_names: Sequence[Violation] = ()
    alias_of: Boundary | None = None
    fixed: Collection[str] = ()

    def __post_init__(self) -> None:
        spec, original = self.spec, self.alias_of
        self.name = spec.name
        self.accepted: type[BatchSchema] = self.reads if original is None else original.accepted
        self.returned = self.writes
        self.unpacking: Unpacking | None = None
        self.beginning = f"where stage '{spec.name}' reads its batch"
        self.ending = f"where stage '{spec.name}' returns its result"
        self.on_reads = Where(stage=spec.name, boundary="reads")
        self.on_writes = Where(stage=spec.name, boundary="writes")
        self.read_keys = frozenset(f.key for f in spec.reads.fields)
        write_keys = frozenset(f.key for f in spec.writes.fields)
        self.rewrites = self.read_keys & write_keys
        self.writers = {key: spec.name for key in write_keys}
        self.unnamed = self.writes.__batchpact__.unnamed
        self.named: Bounded[tuple[Names, ...], Boundary] = Bounded()
        self.arguments = Arguments(self.reads.__batchpact__, self.parameters, spec.name, self.fixed)
        own_keys: frozenset[str] = frozenset() if original is None else original.handing.known_keys
        self.handing: Handing = Handing(
            spec.name, self.reads, self.typed, self.project, self.off, self.rewrites, own_keys
        )
        self._optional = [
            f.key for f in spec.reads.fields if f.source or not f.required or f.when or f.place("arg") is not None
        ]
        self._kept = tuple(key for key in keys_in(spec.reads, "tensor") if key not in write_keys)
        self._effects = effects.Effects(spec.reads, spec.writes, self.off)
        self._rows_differ = spec.rows.kind != "same"
        open_columns = spec.reads.columns or spec.writes.columns
        self.direct = not (self._rows_differ or spec.drops or open_columns) and self.arguments.needless

    def narrowed(self, reads: type[BatchSchema], writes: type[BatchSchema], **changes: Any) -> Boundary:
        """The same contract where questions are answered: with schemas that have the fields which are there.

        Args:
            reads: what it reads then.
            writes: what it writes then.
            changes: what else is known then, by the name of the attribute.
        """
        spec = self.spec.model_copy(update={"reads": reads.__batchpact__.spec, "writes": writes.__batchpact__.spec})
        made = replace(self, spec=spec, reads=reads, writes=writes, **changes)
        made.returned, made.ending = self.returned, self.ending
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
        rows = rows_of(source)
        passage = Passage(batch, carrier, source, batch, rows, filled, settings, level, started)
        if level != "off":
            self._check_reads(passage)
        saving = None
        if passage.settings.dump is not None:
            # A copy: the batch that is handed out, which knows this, is not held by what it knows.
            saving = Broken(self, replace(passage), "reads").saving()
        self.handing.hand_out(passage, whole, saving)
        if (
            carrier is not None
            and not self.typed
            and passage.rows is not None
            and (level != "off" or self._rows_differ)
        ):
            carrier.start_rows(passage.handed, passage.rows)
            passage.origin = carrier.origin(passage.handed)
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
        sizes, violations, dims = verdict(self.reads, looked, passage, None, pads)
        if filled.violations or self.misnamed:
            violations = [*self.misnamed, *violations, *filled.violations]
        if pads is not None and pads.any() and not self.spec.pad_safe:
            actual, expected = f"{count(int(pads.sum()), 'pad row')} of {len(pads)}", "the stage is not pad_safe"
            violations = [*violations, Violation(code="BP033", field="batch", actual=actual, expected=expected)]
        if violations:
            saving = Broken(self, passage, "reads").saving()
            passage.found += settle(self.on_reads, self.beginning, violations, dims, passage.settings, saving)
        passage.sizes = sizes
        passage.versions = effects.versions(source.tensors, self._kept)
        if passage.carrier is not None:
            passage.carrier.note_reader(passage.batch, self.name, self._keys_read(source))

    def _keys_read(self, source: Stores) -> frozenset[str]:
        """The declared fields that the batch holds; looked up only where some may be absent."""
        if not self._optional:
            return self.read_keys
        return self.read_keys - {key for key in self._optional if source.find(key) is None}

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
        if self.unnamed and result is not None:
            return settled(self, passage, result).leave(passage, result)
        if result is None:
            changed = self._effects.changed_in_place(passage.versions, passage.source)
            if changed:
                saving = Broken(self, passage, "writes").saving()
                passage.found += settle(self.on_writes, self.ending, changed, [], passage.settings, saving)
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
            deliver(passage.event(self.name, self.read_keys, fields, leaving))

    def judge(self, passage: Passage, result: Any, *, whole: bool = False) -> tuple[Stores, Index | None]:
        """What a batch, a Writes or a `FromRows` holds that was written, and where its rows come from, once checked.

        Raises:
            ContractError: with everything that is wrong.
        """
        origin: Index | None = None
        if isinstance(result, FromRows):
            result, origin = result.result, result.origin
        fields, known = self.returned_fields(passage, result)
        origin = known if origin is None else origin
        found = self._effects.written(
            fields,
            passage.source,
            passage.filled.together(),
            rows_differ=self._rows_differ or (origin is not None and origin is not passage.origin),
            whole=whole or passage.level == "off" or self.handing.everything,
        )
        if passage.level != "off":
            self._check_writes(passage, found, origin, rows_of(fields))
        return found.fields, origin

    def returned_fields(self, passage: Passage, result: Any) -> tuple[Stores, Index | None]:
        """What a batch or a Writes holds that a stage returned, and where its rows come from, if it knows.

        Raises:
            ContractError: if it is neither.
        """
        try:
            return fields_of(result, self.returned, self.ending, self.on_writes)
        except ContractError as error:
            saving = Broken(self, passage, "writes").saving()
            raise error if saving is None else saving(error) from None

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
        sizes, wrong, dims = verdict(self.writes, found.together(), passage, given, pads)
        violations = [*self.wrong_names, *wrong, *found.violations]
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
            saving = Broken(self, passage, "writes", found.together(), given).saving()
            passage.found += settle(self.on_writes, self.ending, violations, dims, passage.settings, saving)
