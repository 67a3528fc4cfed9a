"""What the code of a stage does, held against what the stage declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.lint.names import COMPUTED
from batchpact.contracts.lint.trace import Access, Result, Site, Trace
from batchpact.contracts.lint.values import Entry, Field
from batchpact.contracts.signature import keyword_parameters
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.describe import STORE_NAMES
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.names import closest
from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.stores import store_of
from batchpact.schemas.violations import Severity, Violation, Where


class Judge:
    """Holds one stage against its contract.

    Args:
        boundary: the contract.
        trace: what its code does.
    """

    def __init__(self, boundary: Boundary, trace: Trace) -> None:
        self._trace = trace
        self._stage = boundary.name
        self._spec = boundary.spec
        self._reads = without_locals(boundary.reads.__qualname__)
        self._writes = without_locals(boundary.writes.__qualname__)
        self._typed = boundary.typed
        self._unpacking = boundary.unpacking
        self._parameters = keyword_parameters(boundary.function)
        self._in_rules = {name for rule in boundary.reads.__batchpact__.rules.values() for name in _names_in(rule)}

    def findings(self) -> Iterator[Violation]:
        """Everything that does not fit: by kind, and then by name or in the order of the declaration."""
        if self._trace.stub:
            return
        for access in sorted(self._trace.accesses, key=lambda access: access.key):
            if not (access.own or self._asked_elsewhere(access)):
                yield from self._read(access)
        yield from self._gone_through()
        yield from self._unused()
        for result in self._trace.results:
            for (key, placement), entry in sorted(result.entries.items(), key=lambda item: item[0][0]):
                yield from self._written(key, placement, entry, result)
        yield from self._unset()
        hidden = [
            (STORE_NAMES[opaque.placement or "tensor"], opaque.what, opaque.site)
            for opaque in self._trace.opaque
            if opaque.what != COMPUTED or not _may_hold(self._spec.reads, opaque.placement)
        ]
        for name, what, site in sorted(hidden):
            yield self._found("BP076", name, site, what, "which fields, cannot be told", "", "warning")

    # --- reads ---------------------------------------------------------------------------------------------------

    def _asked_elsewhere(self, access: Access) -> bool:
        """Whether code that does not know where a field stands asks several stores, the right one among them."""
        field = self._spec.reads.field(access.key)
        if field is None or self._stands_in(field, access.placement):
            return False
        others = [other for other in self._trace.accesses if other.key == access.key]
        found = any(self._stands_in(field, other.placement) for other in others)
        return found and any(other.how == "looked for" for other in others)

    def _read(self, access: Access) -> Iterator[Violation]:
        field = self._spec.reads.field(access.key)
        actual = access.how
        if access.placement is not None:
            actual += f" {'in' if actual == 'looked for' else 'from'} {STORE_NAMES[access.placement]}"
        if field is not None:
            if not self._stands_in(field, access.placement):
                declared = self._places(field)
                hint = f"take it from there, or declare it {_in_store(access.placement)}"
                if self._is_parameter(field):
                    hint = f"use the parameter {field.name}"
                expected = f"{self._reads} declares it {declared}"
                yield self._found("BP073", access.key, access.site, actual, expected, hint, placement=access.placement)
        elif self._spec.reads.extra == "forbid":
            expected = f"{self._reads} does not declare it"
            match = closest(access.key, (field.key for field in self._spec.reads.fields))
            if self._may_be_named(self._spec.reads, access.key, access.placement, match):
                return
            hint = f"add {access.key} to it, or leave it alone"
            if self._spec.writes.field(access.key) is not None:
                hint = f"add {access.key} to it, too: a field that is rewritten stands in both"
            elif match is not None:
                hint = f"closest name: '{match}'"
            yield self._found("BP071", access.key, access.site, actual, expected, hint, placement=access.placement)

    def _gone_through(self) -> Iterator[Violation]:
        """Loops over stores of which the stage is handed nothing, so that their bodies never run.

        Code that goes through a store with declared fields, too, is code for whole batches, which is right for any.
        """
        reads = self._spec.reads
        stores = {store for field in (*reads.fields, *reads.columns) for store in _stores_of(field)}
        looped = [whole for whole in self._trace.whole if not whole.own]
        if reads.extra == "allow" or any(whole.placement in stores for whole in looped):
            return
        expected, hint = f"{self._reads} declares nothing in it", "declare what the code needs of it"
        for whole in looped:
            place = whole.placement
            if place is not None:
                name = STORE_NAMES[place]
                yield self._found("BP071", name, whole.site, "gone through", expected, hint, "warning", place)

    def _unused(self) -> Iterator[Violation]:
        used = {access.key for access in self._trace.accesses}
        for field in self._spec.reads.fields:
            if field.key in used or self._is_needed(field):
                continue
            filled = self._filled_by(field)
            if filled:
                if not filled.isdisjoint(self._trace.parameters):
                    continue
            elif self._trace.out_of_sight(_stores_of(field)):
                continue
            expected = f"{self._reads} declares it"
            hint = "use it, or take it out: what is declared is shipped"
            yield self._found("BP074", field.key, self._trace.site, "nothing uses it", expected, hint, "warning")
        for column in self._spec.reads.columns:
            stores = _stores_of(column)
            by_name = any(
                self._spec.reads.field(access.key) is None and access.placement in (None, *stores)
                for access in self._trace.accesses
            )
            if not by_name and not self._trace.out_of_sight(stores) and column.name not in self._in_rules:
                expected = f"{self._reads} declares these columns"
                hint = "use them, or take them out: what is declared is shipped"
                yield self._found("BP074", column.key, self._trace.site, "nothing uses them", expected, hint, "warning")

    def _is_needed(self, field: FieldSpec) -> bool:
        """Whether a declaration means more than what the code reads: a rewrite, a drop, a key, a dim, a rule, names."""
        spec = self._spec
        if spec.writes.field(field.key) is not None or field.key in spec.drops or field.role is not None:
            return True
        if field.name in self._in_rules or field.same_as is not None:
            return True
        sources = (column.named_by for column in (*spec.reads.columns, *spec.writes.columns))
        if any(source is not None and (source.source, source.name) == ("meta", field.key) for source in sources):
            return True
        others = [other for other in (*spec.reads.fields, *spec.writes.fields) if other.key != field.key]
        dims = {name for other in others for name in _dim_names(other)}
        return field.place("tensor") is None and field.key in dims

    # --- writes --------------------------------------------------------------------------------------------------

    def _written(self, key: str, placement: PlacementName | None, entry: Entry, result: Result) -> Iterator[Violation]:
        """A name in a result. Code that sorts values by their kind may set it in the right store, too."""
        field, read = self._spec.writes.field(key), self._spec.reads.field(key)
        where = "the result" if placement is None else STORE_NAMES[placement]
        if field is not None:
            if not any(self._stands_in(field, place) for name, place in result.entries if name == key):
                hint = f"set it there, or declare it {_in_store(placement)}"
                expected = f"{self._writes} declares it {self._places(field)}"
                for site in entry.sites:
                    yield self._found("BP073", key, site, f"set in {where}", expected, hint, placement=placement)
        elif read is not None:
            passed_on = Field(key) in entry.value or self._spec.rows.kind != "same"
            for site in () if passed_on else entry.sites:
                expected = "the stage reads it and does not write it"
                hint = "declare it in Writes too, or leave it out of the result"
                yield self._found(
                    "BP072", key, site, f"set in {where} to another value", expected, hint, placement=placement
                )
        elif self._spec.writes.extra == "forbid" and Field(key) not in entry.value:
            match = closest(key, (field.key for field in self._spec.writes.fields))
            if self._may_be_named(self._spec.writes, key, placement, match):
                return
            hint = "declare it, or leave it out of the result" if match is None else f"closest name: '{match}'"
            expected = f"{self._writes} does not declare it"
            for site in entry.sites:
                yield self._found("BP072", key, site, f"set in {where}", expected, hint, placement=placement)

    def _unset(self) -> Iterator[Violation]:
        results = self._trace.results
        if not results or any(result.open for result in results):
            return
        names = {key for result in results for key, _ in result.entries}
        changed_in_place = {access.key for access in self._trace.accesses} if any(r.given for r in results) else set()
        for field in self._spec.writes.fields:
            rewritten = field.key in changed_in_place and self._spec.reads.field(field.key) is not None
            if field.key in names or rewritten:
                continue
            severity: Severity = "error" if field.required and field.when is None else "warning"
            expected, hint = f"{self._writes} declares it", "set it in what is returned, or take it out"
            yield self._found("BP075", field.key, self._trace.site, "no result sets it", expected, hint, severity)
        others = [name for name in names if self._spec.writes.field(name) is None]
        for column in self._spec.writes.columns if not others else ():
            expected, hint = f"{self._writes} declares these columns", "set them in what is returned, or take them out"
            yield self._found("BP075", column.key, self._trace.site, "no result sets them", expected, hint, "warning")

    # --- words ---------------------------------------------------------------------------------------------------

    def _filled_by(self, field: FieldSpec) -> AbstractSet[str]:
        """The parameters that take a field: of a function of plain values any field's, else an argument's."""
        if self._unpacking is not None:
            return self._unpacking.parameters_of(field.name)
        return {field.name} if self._is_parameter(field) else set()

    def _is_parameter(self, field: FieldSpec) -> bool:
        return self._unpacking is None and field.place("arg") is not None and field.name in self._parameters

    def _stands_in(self, field: FieldSpec, placement: PlacementName | None) -> bool:
        """Whether code that looks for the field in this store finds it."""
        if placement is None:
            return True
        return placement in _stores_of(field) and not (placement == "meta" and self._is_parameter(field))

    def _may_be_named(
        self, schema: SchemaSpec, key: str, placement: PlacementName | None, closest_name: str | None
    ) -> bool:
        """Whether a name that a schema does not declare may be one of its open columns, or stands for all of them."""
        if any(column.key == key for column in schema.columns):
            return True
        is_attribute = self._typed and placement is None
        return closest_name is None and not is_attribute and _may_hold(schema, placement)

    def _places(self, field: FieldSpec) -> str:
        if self._is_parameter(field):
            return "an argument of the call"
        return " or ".join(_in_store(placement) for placement in _stores_of(field))

    def _found(
        self,
        code: str,
        field: str,
        site: Site,
        actual: str,
        expected: str,
        hint: str,
        severity: Severity = "error",
        placement: PlacementName | None = None,
    ) -> Violation:
        where = Where(stage=self._stage, file=site.file, line=site.line, column=site.column)
        return Violation(
            code=code,
            field=field,
            placement=placement,
            actual=actual,
            expected=expected,
            hint=hint,
            where=where,
            severity=severity,
        )


def _stores_of(field: FieldSpec) -> list[PlacementName]:
    """The stores in which code finds a field."""
    found: dict[PlacementName, None] = {}
    for place in field.places:
        found["meta" if place.placement == "arg" else store_of(place.placement)] = None
    return list(found)


def _may_hold(schema: SchemaSpec, placement: PlacementName | None) -> bool:
    """Whether a store may hold open columns; any of them where it is not known which store it is."""
    stores = {store for column in schema.columns for store in _stores_of(column)}
    return bool(stores) and (placement is None or placement in stores)


def _in_store(placement: PlacementName | None) -> str:
    return "" if placement is None else f"in {STORE_NAMES[placement]}"


def _dim_names(field: FieldSpec) -> Iterator[str]:
    for place in field.places:
        for dim in parse_dims(place.dims or ""):
            yield from (dim.text,) if dim.expression is None else dim.expression.names()


def _names_in(rule: object) -> Iterable[str]:
    code = getattr(rule, "__code__", None)
    return () if code is None else code.co_names
