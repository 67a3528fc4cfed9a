"""What a batch holds at each point of a pipeline, as far as declarations tell: the first static check.

Dims are tracked across stages. A name in a schema is local to its stage; what it stands for is a symbol of the stage
that made the axis, or arithmetic over such symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from batchpact.schemas.declared import either, placement_words, type_and_shape
from batchpact.schemas.dtypes import short_name
from batchpact.schemas.expressions import Expression
from batchpact.schemas.names import closest
from batchpact.schemas.record import FieldSpec, PipelineSpec, PlaceSpec, SchemaSpec, StageSpec
from batchpact.schemas.shapes import Dim, parse_dims
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Severity, Violation, Where

INPUTS = "the inputs"


@dataclass(frozen=True, slots=True)
class Held:
    """A field at one point of a pipeline: who wrote it, as what, and its axes, where they are known."""

    writer: str
    field: FieldSpec
    axes: tuple[Expression | None, ...] | None = None


def check_flow(pipeline: PipelineSpec, known: Iterable[StageSpec]) -> list[Violation]:
    """Every read has been written before, in the same place, with the same dtype, rank, layout and consistent dims.

    Args:
        pipeline: the stages in their order.
        known: stages outside the pipeline, which may be what is missing.
    """
    return _Flow(pipeline, list(known)).run()


class _Flow:
    def __init__(self, pipeline: PipelineSpec, known: Sequence[StageSpec]) -> None:
        self._pipeline = pipeline
        self._known = known
        self._held: dict[str, Held] = {}
        self._lost: dict[str, str] = {}
        self._found: list[Violation] = []
        self._batch: Expression | None = None

    def run(self) -> list[Violation]:
        names: dict[str, Expression] = {}
        self._batch = _axis(_batch_axis(self._pipeline.inputs), "inputs", names)
        self._write(INPUTS, self._pipeline.inputs, names)
        for at, stage in enumerate(self._pipeline.stages):
            names = self._read(at, stage)
            self._rows(stage, names)
            for key in stage.drops:
                if self._held.pop(key, None) is not None:
                    self._lost[key] = f"dropped by '{stage.name}'"
            self._write(stage.name, stage.writes, names)
        for key in self._pipeline.outputs:
            if key not in self._held:
                self._add("outputs", "BP001", key, expected="an output of the pipeline", hint=self._who(key, None))
            elif not self._held[key].field.required:
                hint = f"{_by(self._held[key].writer)} may leave it out; make it required there"
                self._add("outputs", "BP001", key, expected="an output of the pipeline", hint=hint)
        return self._found

    def _add(self, stage: str, code: str, field: str, **parts: str) -> None:
        where = Where(pipeline=self._pipeline.name, stage=stage, boundary="reads")
        self._found.append(Violation.model_validate({"code": code, "field": field, "where": where, **parts}))

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self, at: int, stage: StageSpec) -> dict[str, Expression]:
        """Check what a stage reads; returns what its dim names stand for."""
        names: dict[str, Expression] = {}
        self._share_rows(stage.reads, names)
        computed: list[tuple[FieldSpec, Dim, Expression, Held]] = []
        for field in stage.reads.fields:
            if all(place.placement == "arg" for place in field.places):
                continue
            held = self._held.get(field.key)
            if held is None:
                if field.required and field.source is None:
                    place, hint = field.places[0].placement, self._who(field.key, at)
                    self._add(stage.name, "BP001", field.key, placement=place, expected=either(field), hint=hint)
                continue
            if field.required and field.source is None and not held.field.required:
                hint = f"{_by(held.writer)} may leave it out; make it required there or optional here"
                self._add(stage.name, "BP001", field.key, expected=either(field), hint=hint)
            if self._same_places(stage, field, held):
                self._bind(stage, field, held, names, computed)
        for field, dim, actual, held in computed:
            self._compare_expression(stage, field, dim, actual, held, names)
        return names

    def _who(self, key: str, at: int | None) -> str:
        """What would write a field that is missing."""
        if key in self._lost:
            return f"it was there, and {self._lost[key]}"
        stages = self._pipeline.stages
        later = [stage.name for stage in stages[at + 1 :] if stage.writes.field(key)] if at is not None else []
        if later:
            return f"nothing before writes it; '{later[0]}' writes it, and comes later"
        inside = {stage.qualname for stage in stages}
        outside = [stage for stage in self._known if stage.writes.field(key) and stage.qualname not in inside]
        if outside:
            listed = join_names([f"'{stage.name}' ({stage.qualname})" for stage in outside], limit=3)
            verb = "is" if len(outside) == 1 else "are"
            return f"nothing before writes it; {listed} would, and {verb} not in the pipeline"
        match = closest(key, self._held)
        near = "" if match is None else f"; closest name: '{match}', {_origin(self._held[match].writer)}"
        return f"nothing before writes it, and no known stage does{near}"

    def _same_places(self, stage: StageSpec, field: FieldSpec, held: Held) -> bool:
        """Compare placement, dtype or type, layout and rank; False where there is nothing left to compare."""
        for written in held.field.places:
            wanted = field.place(written.placement)
            if wanted is None:
                by, expected = _has(held.writer, written), placement_words(field)
                self._add(stage.name, "BP003", field.key, placement=written.placement, actual=by, expected=expected)
                return False
            if written.placement == "tensor":
                if not self._same_tensor(stage, field, wanted, written, held):
                    return False
            elif not _admits(wanted.type or "", written.type or ""):
                by, expected = _has(held.writer, written), type_and_shape(wanted)
                self._add(stage.name, "BP006", field.key, placement=written.placement, actual=by, expected=expected)
        return True

    def _same_tensor(
        self, stage: StageSpec, field: FieldSpec, wanted: PlaceSpec, written: PlaceSpec, held: Held
    ) -> bool:
        by = _has(held.writer, written)
        if wanted.dtypes and not set(written.dtypes) & set(wanted.dtypes) and written.dtypes:
            self._add(stage.name, "BP005", field.key, actual=by, expected=short_name(wanted.dtype or "any"))
        elif wanted.dtypes and not (written.dtypes and set(written.dtypes) <= set(wanted.dtypes)):
            expected = f"{short_name(wanted.dtype or 'any')} alone"
            self._add(stage.name, "BP005", field.key, actual=by, expected=expected, severity="warning")
        if wanted.layout != written.layout or _ragged_axis(wanted) != _ragged_axis(written):
            self._add(stage.name, "BP015", field.key, actual=by, expected=type_and_shape(wanted))
            return False
        reader, writer = parse_dims(wanted.dims or ""), parse_dims(written.dims or "")
        open_ended = any(dim.kind == "many" for dim in (*reader, *writer))
        if not open_ended and len(reader) != len(writer):
            self._add(stage.name, "BP011", field.key, actual=by, expected=f'"{wanted.dims}"')
            return False
        return True

    # --- dims ----------------------------------------------------------------------------------------------------

    def _bind(
        self,
        stage: StageSpec,
        field: FieldSpec,
        held: Held,
        names: dict[str, Expression],
        computed: list[tuple[FieldSpec, Dim, Expression, Held]],
    ) -> None:
        """Bind a reader's dim names to the writer's axes; two meanings of one name are a finding."""
        if _is_size(field) and held.axes:
            pairs: list[tuple[Dim, Expression | None]] = [(Dim(field.key, "name", name=field.key), held.axes[0])]
        else:
            place = field.place("tensor")
            dims = parse_dims(place.dims or "") if place is not None else ()
            if held.axes is None or len(held.axes) != len(dims) or any(dim.kind == "many" for dim in dims):
                return
            pairs = list(zip(dims, held.axes, strict=True))
        for dim, actual in pairs:
            if actual is None:
                continue
            if dim.kind == "name" and dim.name is not None:
                meaning = names.setdefault(dim.name, actual)
                if meaning != actual:
                    hint = f"{dim.name} is {meaning} elsewhere in what it reads, and {actual} here"
                    self._differ(stage, field, held, hint, "warning" if _may_agree(meaning, actual) else "error")
            elif dim.kind == "fixed" and dim.size is not None:
                constant = actual.evaluate({})
                if constant is not None and constant != dim.size:
                    self._differ(stage, field, held, f"the axis {dim.text} has size {constant} here")
            elif dim.kind == "expression":
                computed.append((field, dim, actual, held))

    def _compare_expression(
        self, stage: StageSpec, field: FieldSpec, dim: Dim, actual: Expression, held: Held, names: dict[str, Expression]
    ) -> None:
        if dim.expression is None:
            return
        unbound = dim.expression.unbound(names)
        if len(unbound) == 1 and dim.expression.isolates(unbound[0]):
            # The one name that nothing else binds is what is left of the writer's axis.
            rest = dim.expression.substitute({**names, unbound[0]: Expression(())})
            if dict(dim.expression.terms)[(unbound[0],)] == 1:
                names[unbound[0]] = actual + -rest
            return
        if unbound:
            return
        expected = dim.expression.substitute(names)
        # A writer's axis under a name of its own may well have this size; only arithmetic can contradict arithmetic.
        if expected != actual and (len(actual.terms) > 1 or actual.evaluate({}) is not None):
            self._differ(stage, field, held, f"{dim.text} is {expected}, and {actual} here")

    def _differ(self, stage: StageSpec, field: FieldSpec, held: Held, hint: str, severity: Severity = "error") -> None:
        actual = _has(held.writer, held.field.places[0])
        self._add(stage.name, "BP012", field.key, actual=actual, expected=either(field), hint=hint, severity=severity)

    # --- writing -------------------------------------------------------------------------------------------------

    def _rows(self, stage: StageSpec, names: dict[str, Expression]) -> None:
        """What a stage does to the batch axis of everything that the batch holds."""
        kind = stage.rows.kind
        if kind == "new":
            self._lost.update({key: f"left behind by '{stage.name}', which makes new rows" for key in self._held})
            self._held.clear()
        if kind in ("same", "permute"):
            self._share_rows(stage.writes, names)
            return
        dim = _batch_axis(stage.writes, stage.reads)
        names.pop(dim.text, None)
        self._batch = _axis(dim, stage.name, names)
        for key, held in self._held.items():
            if held.axes and held.field.place("tensor") is not None:
                self._held[key] = replace(held, axes=(self._batch, *held.axes[1:]))

    def _share_rows(self, schema: SchemaSpec, names: dict[str, Expression]) -> None:
        """The batch axis of a schema is the one that the batch has here, whether or not the stage reads a tensor."""
        dim = _batch_axis(schema)
        if dim.kind == "name" and self._batch is not None:
            names.setdefault(dim.text, self._batch)

    def _write(self, writer: str, schema: SchemaSpec, names: dict[str, Expression]) -> None:
        label = "inputs" if writer == INPUTS else writer
        for field in schema.fields:
            if _is_size(field):
                self._held[field.key] = Held(writer, field, (Expression.name(f"{label}.{field.key}"),))
                continue
            place = field.place("tensor")
            axes = None
            if place is not None:
                dims = parse_dims(place.dims or "")
                if all(dim.kind != "many" for dim in dims):
                    axes = tuple(_axis(dim, label, names) for dim in dims)
            before = self._held.get(field.key)
            if before is not None and before.field.required and not field.required:
                field = field.model_copy(update={"required": True})  # left out, the field is what it was before
            self._held[field.key] = Held(writer, field, axes)


def _ragged_axis(place: PlaceSpec) -> int | None:
    """Which axis of a jagged tensor is ragged."""
    return next((at for at, dim in enumerate(parse_dims(place.dims or "")) if dim.text == place.ragged), None)


def _batch_axis(*schemas: SchemaSpec) -> Dim:
    """The dim of axis 0, by the first of the schemas that has a tensor."""
    return parse_dims(next((schema.axis for schema in schemas if schema.axis), "batch"))[0]


def _axis(dim: Dim, writer: str, names: dict[str, Expression]) -> Expression | None:
    """What an axis that a stage writes stands for; a name that it did not read is a symbol of its own."""
    if dim.kind == "name" and dim.name is not None:
        return names.setdefault(dim.name, Expression.name(f"{writer}.{dim.name}"))
    expression = dim.as_expression()
    if expression is None:
        return None
    for name in expression.names():
        names.setdefault(name, Expression.name(f"{writer}.{name}"))
    return expression.substitute(names)


def _may_agree(one: Expression, other: Expression) -> bool:
    """Whether two axes have the same size if their writers mean the same: one name, made by two stages."""
    names, others = list(one.names()), list(other.names())
    if [len(names), len(others)] != [1, 1] or Expression.name(names[0]) != one or Expression.name(others[0]) != other:
        return False
    return names[0].rpartition(".")[2] == others[0].rpartition(".")[2]


def _is_size(field: FieldSpec) -> bool:
    return all(place.placement == "meta" and place.type == "int" for place in field.places)


def _by(writer: str) -> str:
    return INPUTS if writer == INPUTS else f"'{writer}'"


def _origin(writer: str) -> str:
    return "in the inputs" if writer == INPUTS else f"written by '{writer}'"


def _has(writer: str, place: PlaceSpec) -> str:
    return f"{_by(writer)} {'hold' if writer == INPUTS else 'writes'} {type_and_shape(place)}"


def _admits(wanted: str, written: str) -> bool:
    """Whether a reader's type admits a writer's, by their outer names; generic arguments are left to run time."""
    heads = {part.strip().partition("[")[0] for part in wanted.split(" | ")}
    if heads & {"Any", "object"}:
        return True
    numbers = {"int": {"float", "complex"}, "bool": {"int", "float"}, "float": {"complex"}}
    for part in written.split(" | "):
        head = part.strip().partition("[")[0]
        if head not in heads | {"Any", "object"} and not numbers.get(head, set()) & heads:
            return False
    return True
