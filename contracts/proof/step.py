"""One stage over one batch: what it reads is there, in the place, with the dtype, rank, layout and dims that it says.

Dims are tracked across stages. A name in a schema is local to its stage; what it stands for is a symbol of the stage
that made the axis, or arithmetic over such symbols.
"""

from __future__ import annotations

from collections.abc import Callable

from batchpact.contracts.proof.comparing import (
    admits,
    batch_axis,
    by_words,
    has_words,
    is_size,
    may_agree,
    ragged_axis,
)
from batchpact.contracts.proof.open_columns import fields_of
from batchpact.contracts.proof.state import Held, Snapshot
from batchpact.schemas.declared import either, placement_words, type_and_shape
from batchpact.schemas.dtypes import short_name
from batchpact.schemas.expressions import Expression
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import FieldSpec, PlaceSpec, SchemaSpec
from batchpact.schemas.shapes import Dim, parse_dims
from batchpact.schemas.violations import Severity, Violation


class Step:
    """What a stage, or a pipeline at its start, finds in a batch.

    Args:
        reads: what is read.
        snapshot: the batch.
        who: says what would write a field that is missing.

    Attributes:
        names: what the dim names of the reads stand for.
        found: what does not fit.
    """

    def __init__(self, reads: SchemaSpec, snapshot: Snapshot, who: Callable[[str], str]) -> None:
        self._snapshot = snapshot
        self._who = who
        self.names: dict[str, Expression] = {}
        self.found: list[Violation] = []
        share_rows(reads, snapshot.batch, self.names)
        self._read(reads)

    def _add(self, code: str, field: str, **parts: str) -> None:
        self.found.append(Violation.model_validate({"code": code, "field": field, **parts}))

    def _read(self, reads: SchemaSpec) -> None:
        computed: list[tuple[FieldSpec, Dim, Expression, Held]] = []
        opened = {field.key for column in reads.columns for field in fields_of(reads, column)}
        for field in reads.fields:
            held = self._snapshot.held.get(field.key)
            if all(place.placement == "arg" for place in field.places):
                self._beside_the_batch(field, held)
                continue
            if held is None:
                if self._snapshot.opened and field.key in opened:
                    continue
                if field.required and field.source is None:
                    place = field.places[0].placement
                    self._add("BP001", field.key, placement=place, expected=either(field), hint=self._who(field.key))
                continue
            if field.required and field.source is None and not held.field.required:
                hint = f"{by_words(held.writer)} may leave it out; make it required there or optional here"
                self._add("BP001", field.key, expected=either(field), hint=hint)
            if field.role == "key" and held.repeated:
                hint = "where rows may be copies of one another, the field is a Group()"
                copies = f"'{held.repeated}' makes several rows of one"
                self._add("BP023", field.key, actual=copies, expected="one row for one key", hint=hint)
            if self._same_places(field, held):
                self._bind(field, held, computed)
        for field, dim, actual, held in computed:
            self._compare_expression(field, dim, actual, held)

    def _beside_the_batch(self, field: FieldSpec, held: Held | None) -> None:
        """Say that an argument stands in the batch as well: what belongs to one call has reached the next ones."""
        if held is None:
            return
        written = held.field.places[0]
        hint = "what stands in the batch is not handed out for it; give it by keyword, and write nothing under its name"
        self._add(
            "BP003",
            field.key,
            placement=written.placement,
            actual=has_words(held.writer, written),
            expected=placement_words(field),
            hint=hint,
            severity="warning",
        )

    def _same_places(self, field: FieldSpec, held: Held) -> bool:
        """Compare placement, dtype or type, layout and rank; False where there is nothing left to compare."""
        for written in held.field.places:
            wanted = field.place(written.placement) or self._among_the_columns(field, written, held)
            if wanted is None:
                by, expected = has_words(held.writer, written), placement_words(field)
                self._add("BP003", field.key, placement=written.placement, actual=by, expected=expected)
                return False
            if written.placement == "tensor":
                if not self._same_tensor(field, wanted, written, held):
                    return False
            elif not admits(wanted.type or "", written.type or ""):
                by, expected = has_words(held.writer, written), type_and_shape(wanted)
                self._add("BP006", field.key, placement=written.placement, actual=by, expected=expected)
        return True

    def _among_the_columns(self, field: FieldSpec, written: PlaceSpec, held: Held) -> PlaceSpec | None:
        """How a field is read that is a tag for one side and non-tensor for the other.

        A batch keeps both among its columns, so this is right for most carriers, and only said.
        """
        other: dict[PlacementName, PlacementName] = {"tag": "non_tensor", "non_tensor": "tag"}
        wanted = field.place(other[written.placement]) if written.placement in other else None
        if wanted is not None:
            by, expected = has_words(held.writer, written), placement_words(field)
            hint = "one place in a batch, and two in TransferQueue: declare both alike"
            parts = {"actual": by, "expected": expected, "hint": hint, "severity": "warning"}
            self._add("BP003", field.key, placement=written.placement, **parts)
        return wanted

    def _same_tensor(self, field: FieldSpec, wanted: PlaceSpec, written: PlaceSpec, held: Held) -> bool:
        by = has_words(held.writer, written)
        if wanted.dtypes and not set(written.dtypes) & set(wanted.dtypes) and written.dtypes:
            self._add("BP005", field.key, actual=by, expected=short_name(wanted.dtype or "any"))
        elif wanted.dtypes and not (written.dtypes and set(written.dtypes) <= set(wanted.dtypes)):
            expected = f"{short_name(wanted.dtype or 'any')} alone"
            self._add("BP005", field.key, actual=by, expected=expected, severity="warning")
        if wanted.layout != written.layout or ragged_axis(wanted) != ragged_axis(written):
            self._add("BP015", field.key, actual=by, expected=type_and_shape(wanted))
            return False
        reader, writer = parse_dims(wanted.dims or ""), parse_dims(written.dims or "")
        open_ended = any(dim.kind == "many" for dim in (*reader, *writer))
        if not open_ended and len(reader) != len(writer):
            self._add("BP011", field.key, actual=by, expected=f'"{wanted.dims}"')
            return False
        return True

    # --- dims ----------------------------------------------------------------------------------------------------

    def _bind(
        self,
        field: FieldSpec,
        held: Held,
        computed: list[tuple[FieldSpec, Dim, Expression, Held]],
    ) -> None:
        """Bind a reader's dim names to the writer's axes; two meanings of one name are a finding."""
        if is_size(field) and held.axes:
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
                meaning = self.names.setdefault(dim.name, actual)
                if meaning != actual:
                    hint = f"{dim.name} is {meaning} elsewhere in what it reads, and {actual} here"
                    self._differ(field, held, hint, "warning" if may_agree(meaning, actual) else "error")
            elif dim.kind == "fixed" and dim.size is not None:
                constant = actual.evaluate({})
                if constant is not None and constant != dim.size:
                    self._differ(field, held, f"the axis {dim.text} has size {constant} here")
            elif dim.kind == "expression":
                computed.append((field, dim, actual, held))

    def _compare_expression(self, field: FieldSpec, dim: Dim, actual: Expression, held: Held) -> None:
        if dim.expression is None:
            return
        unbound = dim.expression.unbound(self.names)
        if len(unbound) == 1 and dim.expression.isolates(unbound[0]):
            # The one name that nothing else binds is what is left of the writer's axis.
            rest = dim.expression.substitute({**self.names, unbound[0]: Expression(())})
            if dict(dim.expression.terms)[(unbound[0],)] == 1:
                self.names[unbound[0]] = actual + -rest
            return
        if unbound:
            return
        expected = dim.expression.substitute(self.names)
        # A writer's axis under a name of its own may well have this size; only arithmetic can contradict arithmetic.
        if expected != actual and (len(actual.terms) > 1 or actual.evaluate({}) is not None):
            self._differ(field, held, f"{dim.text} is {expected}, and {actual} here")

    def _differ(self, field: FieldSpec, held: Held, hint: str, severity: Severity = "error") -> None:
        actual = has_words(held.writer, held.field.places[0])
        self._add("BP012", field.key, actual=actual, expected=either(field), hint=hint, severity=severity)


def share_rows(schema: SchemaSpec, batch: Expression | None, names: dict[str, Expression]) -> None:
    """The batch axis of a schema is the one that the batch has here, whether or not a tensor is read."""
    dim = batch_axis(schema)
    if dim.kind == "name" and batch is not None:
        names.setdefault(dim.text, batch)
