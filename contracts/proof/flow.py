"""All stages of a pipeline over every configuration: each read has been written before, as what it is read as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from batchpact.contracts.proof.comparing import axis_of, batch_axis, by_words, origin_words
from batchpact.contracts.proof.loose_ends import LooseEnds
from batchpact.contracts.proof.open_columns import has_key, named_in, told_by, with_columns, with_names
from batchpact.contracts.proof.scopes import scoped
from batchpact.contracts.proof.space import Space
from batchpact.contracts.proof.state import INPUTS, Snapshot, State
from batchpact.contracts.proof.step import Step, share_rows
from batchpact.contracts.proof.writing import has_rows, written
from batchpact.schemas.condition_specs import ConditionSpec, SubjectSpec, words
from batchpact.schemas.expressions import Expression
from batchpact.schemas.names import closest
from batchpact.schemas.record import PipelineSpec, SchemaSpec, StageSpec
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Violation, Where


def check_flow(
    pipeline: PipelineSpec,
    known: Iterable[StageSpec],
    look_up: Callable[[SubjectSpec], object] | None = None,
) -> list[Violation]:
    """Every read has been written before, in the same place, with the same dtype, rank, layout and consistent dims.

    Args:
        pipeline: the stages in their order.
        known: stages outside the pipeline, which may be what is missing.
        look_up: the values of one configuration, if only that one is checked.

    Returns:
        What is wrong; where it is wrong only in some configurations, the hint says the smallest of them.
    """
    return Flow(pipeline, list(known), look_up).findings


class Flow:
    """The proof of one pipeline.

    Args:
        pipeline: the stages in their order.
        known: stages outside the pipeline, which may be what is missing.
        look_up: the values of one configuration, if only that one is looked at.

    Attributes:
        findings: what is wrong.
        broken: the points in which each of the findings is.
        one: whether one configuration was looked at, not all.
        stages: the stages, with their conditions about nothing but this pipeline, and open columns among their fields.
        inputs: what the batch holds at the start, in the same way.
        space: the configurations.
        valid: the points that are looked at.
        live: the points in which each stage runs.
        edges: who reads what of whom: number of the writer (-1: the inputs), of the reader, and key.
        delivered: whose values the outputs are: number of the writer, and key.
    """

    def __init__(
        self,
        pipeline: PipelineSpec,
        known: Sequence[StageSpec],
        look_up: Callable[[SubjectSpec], object] | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._known = known
        self._look_up = look_up
        self._declared = [scoped(stage) for stage in pipeline.stages]
        self.stages = [with_names(stage, look_up) for stage in self._declared]
        self.inputs = with_columns(pipeline.inputs, look_up)
        self.space = Space(_conditions(self.inputs, self.stages), pipeline.always)
        self.one = look_up is not None
        self.valid = self.space.valid if look_up is None else self.space.valid & self.space.where(look_up)
        self._state = State()
        self.live: list[int] = []
        self.edges: dict[tuple[int, int, str], None] = {}  # a set that keeps its order
        self.delivered: set[tuple[int, str]] = set()
        self._found: dict[Violation, int] = {}
        self._ends = LooseEnds(self.stages, pipeline.inputs)
        self.findings = self._run()

    @property
    def configurations(self) -> int:
        """How many configurations are told apart."""
        return self.valid.bit_count()

    def switches(self) -> str:
        """The stages in their order, as the configurations switch them: on, off, or on under a condition."""
        lines = []
        for stage, points in zip(self._pipeline.stages, self.live, strict=True):
            word = "off" if not points else "on" if points == self.valid else "open"
            when = "" if stage.when is None else f"  where {words(stage.when)}"
            lines.append(f"  {word:<4}  {stage.name}{when}")
        return "\n".join(lines)

    def _run(self) -> list[Violation]:
        """Take the stages one after the other."""
        start = Snapshot({}, None)
        self._state.set_batch(self.valid, None)
        self._check_names(self.valid, "inputs", "writes", self._pipeline.inputs)
        for points, inputs in self._narrowed(self.valid, self.inputs):
            names: dict[str, Expression] = {}
            self._state.set_batch(points, axis_of(batch_axis(inputs), "inputs", names))
            self._write(points, -1, INPUTS, inputs, names, start)
        for at, stage in enumerate(self.stages):
            self._take(at, stage)
        for key in self._pipeline.outputs:
            self._check_output(key)
        broken = any(violation.severity == "error" for violation in self._found)
        if self._pipeline.outputs and not broken:  # else nobody said what is wanted, or a reader is missing anyway
            for violation, writer, points in self._ends.unread(self._state, self._pipeline.outputs):
                self._add(violation, writer, points, "writes")
        self.broken = list(self._found.values())
        return [self._with_configuration(violation, points) for violation, points in self._found.items()]

    def _take(self, at: int, stage: StageSpec) -> None:
        points = self.valid & self._points(stage.when)
        self.live.append(points)
        self._check_names(points, stage.name, "reads", self._declared[at].reads)
        self._check_names(points, stage.name, "writes", self._declared[at].writes)
        keys = self._ends.with_twins([field.key for field in (*stage.reads.fields, *stage.writes.fields)])
        keys += stage.drops
        parts = [
            (part, reads, writes)
            for group in self._state.groups(points, keys)
            for piece, reads in self._narrowed(group, stage.reads)
            for part, writes in self._narrowed(piece, stage.writes)
        ]
        for part, reads, writes in parts:
            snapshot = self._state.snapshot(part, keys)
            step = Step(reads, snapshot, partial(self._who_for, part, stage, at))
            for violation in step.found:
                self._add(violation, stage.name, part)
            self._note(at, reads, snapshot, part)
            for violation, where in self._ends.written(at, reads, writes, snapshot, part):
                self._add(violation, stage.name, where, "writes")
            self._rows(part, stage, writes, step.names)
            for key in stage.drops:
                if key in snapshot.held:
                    self._state.lose(part, key, f"dropped by '{stage.name}'")
            self._write(part, at, stage.name, writes, step.names, snapshot)

    def _note(self, at: int, reads: SchemaSpec, snapshot: Snapshot, points: int) -> None:
        """Note what a stage has read of whom."""
        for field in reads.fields:
            held = snapshot.held.get(field.key)
            if held is not None:
                self._ends.read(field.key, held.stage, points)
                self.edges[held.stage, at, field.key] = None

    def _check_names(self, points: int, stage: str, boundary: str, schema: SchemaSpec) -> None:
        """What the configuration says about the names of open columns is wrong where these are there."""
        for column in schema.columns:
            found = told_by(schema, self._look_up).get(column.name)
            where = points & self._points(column.when)
            if where and isinstance(found, Violation):
                self._add(found, stage, where, boundary)

    # --- conditions ----------------------------------------------------------------------------------------------

    def _points(self, condition: ConditionSpec | None) -> int:
        return self.space.points_of(condition, self._state.where)

    def _narrowed(self, points: int, schema: SchemaSpec) -> list[tuple[int, SchemaSpec]]:
        """A set of points cut along the conditions of the fields, with the fields that are there in each part."""
        conditional = [field for field in schema.fields if field.when is not None]
        parts = [(points, schema)]
        for field in conditional:
            holds = self._points(field.when)
            cut = []
            for part, kept in parts:
                if inside := part & holds:
                    cut.append((inside, kept))
                if outside := part & ~holds:
                    fewer = tuple(other for other in kept.fields if other.name != field.name)
                    cut.append((outside, kept.model_copy(update={"fields": fewer})))
            parts = cut
        return [(part, kept) for part, kept in parts if part]

    def _add(self, violation: Violation, stage: str, points: int, boundary: str = "reads") -> None:
        where = Where(pipeline=self._pipeline.name, stage=stage, boundary=boundary)
        placed = violation.model_copy(update={"where": where})
        self._found[placed] = self._found.get(placed, 0) | points

    def _with_configuration(self, violation: Violation, points: int) -> Violation:
        """The violation with the smallest configuration that breaks it, where others do not."""
        live = self.valid & ~points
        smallest = self.space.smallest(points, self.valid) if live else ""
        if not smallest:
            return violation
        hint = f"{violation.hint}; " if violation.hint else ""
        return violation.model_copy(update={"hint": f"{hint}with {smallest}"})

    # --- reading -------------------------------------------------------------------------------------------------

    def _who_for(self, points: int, stage: StageSpec, at: int, key: str) -> str:
        """What would write a field that a stage misses, and what it needs it for where it does not declare it."""
        need, who = named_in(stage, key), self._who(points, key, at)
        return f"{need}; {who}" if need else who

    def _who(self, points: int, key: str, at: int) -> str:
        """What would write a field that is missing."""
        lost = self._state.how_lost(points, key)
        if lost:
            return f"it was there, and {lost}"
        stages = self.stages
        before = [stage.name for stage in stages[:at] if has_key(stage.writes, key)]
        if before:
            return f"'{before[-1]}' writes it, and not in every configuration"
        later = [stage.name for stage in stages[at + 1 :] if has_key(stage.writes, key)]
        if later:
            return f"nothing before writes it; '{later[0]}' writes it, and comes later"
        inside = {stage.qualname for stage in stages}
        outside = [stage for stage in self._known if has_key(stage.writes, key) and stage.qualname not in inside]
        if outside:
            listed = join_names([f"'{stage.name}' ({stage.qualname})" for stage in outside], limit=3)
            verb = "is" if len(outside) == 1 else "are"
            return f"nothing before writes it; {listed} would, and {verb} not in the pipeline"
        match = closest(key, [name for name, held in self._state.fields.items() if held])
        near = "" if match is None else f"; closest name: '{match}', {origin_words(self._writer(match))}"
        return f"nothing before writes it, and no known stage does{near}"

    def _writer(self, key: str) -> str:
        return self._state.fields[key][-1][1].writer

    def _check_output(self, key: str) -> None:
        certain, maybe = self._state.where(key)
        absent = self.valid & ~certain & ~maybe
        for points in self._state.groups(absent, [key]) if absent else ():
            hint = self._who(points, key, len(self.stages))
            violation = Violation(code="BP001", field=key, expected="an output of the pipeline", hint=hint)
            self._add(violation, "outputs", points)
        for points, held in self._state.fields.get(key, ()):
            self.delivered.add((held.stage, key))
            if not held.field.required:
                hint = f"{by_words(held.writer)} may leave it out; make it required there"
                violation = Violation(code="BP001", field=key, expected="an output of the pipeline", hint=hint)
                self._add(violation, "outputs", points)

    # --- writing -------------------------------------------------------------------------------------------------

    def _rows(self, points: int, stage: StageSpec, writes: SchemaSpec, names: dict[str, Expression]) -> None:
        """What a stage does to the batch axis of everything that the batch holds."""
        state, kind = self._state, stage.rows.kind
        if kind == "new":
            state.opened &= ~points
            for key, variants in state.fields.items():
                there = points & sum(chosen for chosen, _ in variants)
                if there:
                    state.lose(there, key, f"left behind by '{stage.name}', which makes new rows")
        if kind in ("same", "permute"):
            batch = next((expression for chosen, expression in state.batches if chosen & points), None)
            share_rows(writes, batch, names)
            return
        dim = batch_axis(stage.writes, stage.reads)
        names.pop(dim.text, None)
        batch = axis_of(dim, stage.name, names)
        state.set_batch(points, batch)
        for key, variants in list(state.fields.items()):
            for chosen, held in variants:
                if chosen & points and has_rows(held):
                    axes = held.axes if not held.axes else (batch, *held.axes[1:])
                    repeated = stage.name if kind in ("repeat", "select") else held.repeated
                    state.set(chosen & points, key, replace(held, axes=axes, repeated=repeated))

    def _write(
        self,
        points: int,
        at: int,
        writer: str,
        schema: SchemaSpec,
        names: dict[str, Expression],
        before: Snapshot,
    ) -> None:
        if schema.extra == "allow":
            self._state.opened |= points
        for field in schema.fields:
            self._state.set(points, field.key, written(at, writer, field, names, before.held.get(field.key)))


def _conditions(inputs: SchemaSpec, stages: Iterable[StageSpec]) -> list[ConditionSpec]:
    schemas, found = [inputs], []
    for stage in stages:
        schemas += [stage.reads, stage.writes]
        found.append(stage.when)
    fields = [field for schema in schemas for field in (*schema.fields, *schema.columns)]
    return [condition for condition in (*found, *(field.when for field in fields)) if condition is not None]
