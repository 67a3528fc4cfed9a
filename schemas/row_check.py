"""One row, checked where it is born: a batch of its schema in which no tensor has a batch axis yet.

A row is a mapping by the keys of the fields: a tensor without its batch axis (dense, also where the batch is jagged),
one object where a column is declared, one value for meta or none. It is checked by the same plan and explained by the
same diagnosis as a batch, under its schema without axis 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor

from batchpact.schemas.axes import Size
from batchpact.schemas.declared import type_and_shape
from batchpact.schemas.describe import describe
from batchpact.schemas.diagnose import Context, Diagnosis, diagnose
from batchpact.schemas.errors import SettingError, contract_error
from batchpact.schemas.keys import naming_fields, shown_key
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.plan import Plan
from batchpact.schemas.python_types import outer_classes
from batchpact.schemas.record import FieldSpec, PlaceSpec, SchemaSpec
from batchpact.schemas.row_names import named_in_rows
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.stores import Stores, column
from batchpact.schemas.tensor_place import TensorPlace
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.schemas.batch import BatchSchema

Row: TypeAlias = "Mapping[str, object]"
RowLevel: TypeAlias = Literal["structure", "values"]

_AXIS = "one row"  # no dim can have this name, so nothing in a row contradicts it
_KEPT: Mapping[str, Size] = {_AXIS: 1}


def check_row(schema: type[BatchSchema], row: Row, level: RowLevel = "structure") -> None:
    """Check one row; `BatchSchema.check_row` says how."""
    if level not in ("structure", "values"):
        expected = "'structure' and 'values' are"
        raise SettingError(
            "in check_row",
            [Violation(code="BP052", field="level", actual=f"{level!r} is not known", expected=expected)],
        )
    schema = named_in_rows(schema, [row])
    contract = row_contract(schema)
    held = contract.stores(row)
    found = None if contract.sizes(row, held) is not None else contract.explain(row, held)
    violations = [] if found is None else found.violations
    if level == "values" and not violations:
        violations = _broken_rules(schema, row)
    if violations:
        name = name_of(contract.plan.spec, row)
        subject = f"where a row of {contract.name} is checked"
        dims = () if found is None else found.dims
        raise contract_error(f"{subject} ({name})" if name else subject, violations, dims)


def _broken_rules(schema: type[BatchSchema], row: Row) -> list[Violation]:
    from batchpact.schemas.collating import stacked  # here, as both of them need a schema class that is made
    from batchpact.schemas.values import check_values

    return check_values(schema, stacked(schema, [row]), named=lambda _: "the row")


def name_of(spec: SchemaSpec, row: Row) -> str:
    """What names a row, as `uid 'a'`; empty where it has nothing of the kind. Reads values."""
    for fields in naming_fields(spec) if isinstance(row, Mapping) else ():
        cells = [row.get(field.key) for field in fields]
        if cells and all(cell is not None for cell in cells):
            plain = (cell.item() if isinstance(cell, Tensor) and cell.numel() == 1 else cell for cell in cells)
            return f"{', '.join(field.key for field in fields)} {shown_key(tuple(plain))}"
    return ""


class _Cell(NamedTuple):
    """A field with one object per row: the classes that it may have, and whether None is one of its values."""

    classes: tuple[type, ...] | None
    takes_none: bool
    nullable: bool


class RowContract:
    """A schema, compiled for its single rows. Meta may be missing in any of them, and arguments belong to no row.

    Attributes:
        name: what the schema is called: `Answer.Writes`.
        plan: the check of one row; its columns have one cell.
        places: the dims that each tensor has in a row; `ragged` is the axis on which the batch is.
        whole: the check of rows that are put together.
    """

    def __init__(self, schema: type[BatchSchema]) -> None:
        declared = schema.__batchpact__.plan
        self.name = schema.__qualname__.rpartition("<locals>.")[2]
        fields = [made for field in declared.spec.fields if (made := _in_rows(field)) is not None]
        types = {field.key: declared.types[field.key] for field in fields}
        rows = tuple(field.model_copy(update={"places": tuple(map(_row_place, field.places))}) for field in fields)
        self.whole = Plan(declared.spec.model_copy(update={"fields": tuple(fields)}), types)
        self.plan = Plan(declared.spec.model_copy(update={"fields": rows, "axis": _AXIS}), types)
        self.places = {key: _row_tensor(place) for key, place in self.whole.tensor_places.items()}
        self._open = declared.spec.extra == "allow"
        self._arguments = {field.key for field in declared.spec.fields} - types.keys()
        self._fields = {field.key: field for field in rows}
        self._cells = {field.key: cell for field in rows if (cell := _cell(field, types[field.key])) is not None}
        self._homes = {field.key: _home(field) for field in rows}

    def stores(self, row: Row) -> Stores:
        """The values of a row as stores: each object as a column of one cell; None as it is, where it is no value."""
        tensors: dict[str, object] = {}
        columns: dict[str, object] = {}
        meta: dict[str, object] = {}
        if not isinstance(row, Mapping):
            return Stores(tensors, columns, meta)
        homes = self._homes
        for key, value in row.items():
            home = homes.get(key) or self._home_of(key, value)
            if home == "tensor":
                tensors[key] = value
            elif home == "meta":
                meta[key] = value
            else:
                cell = self._cells.get(key)
                if value is not None or cell is None or cell.takes_none:
                    columns[key] = column((value,))
                elif not cell.nullable:
                    columns[key] = None
        return Stores(tensors, columns, meta)

    def _is_free(self, key: str) -> bool:
        """Whether a row may have a key that no field with rows, and no meta, has."""
        return self._open and key not in self._arguments

    def _home_of(self, key: str, value: object) -> str:
        """Where a value stands that nothing, or more than one placement, is declared for."""
        field = self._fields.get(key)
        places = [] if field is None else [place.placement for place in field.places]
        if isinstance(value, Tensor) and (field is None or "tensor" in places):
            return "tensor"
        return next((place for place in places if place != "tensor"), "non_tensor")

    def sizes(self, row: Row, held: Stores, given: Mapping[str, int] | None = None) -> dict[str, Size] | None:
        """Check the structure of a row.

        Args:
            row: the row.
            held: its values, as `stores` gives them.
            given: sizes that are known already.

        Returns:
            The size of every dim that was bound, or None where something is wrong or needs a closer look.
        """
        if not isinstance(row, Mapping) or not all(key in self._homes or self._is_free(key) for key in row.keys()):
            return None
        for key, (classes, _, _) in self._cells.items():
            cell = held.columns.get(key)
            if cell is not None and classes is not None and not isinstance(cell[0], classes):  # type: ignore[index]
                return None
        return self.plan.sizes(held, {**given, **_KEPT} if given else _KEPT)

    def explain(self, row: Row, held: Stores, given: Mapping[str, int] | None = None) -> Diagnosis:
        """Every violation of a row, in the order of declaration; without one it is healthy."""
        if not isinstance(row, Mapping):
            expected = "a mapping by the keys of the fields"
            wrong = Violation(code="BP006", field="row", actual=describe(row), expected=expected)
            return Diagnosis([wrong], [], {})
        context = Context(given={**(given or {}), **_KEPT}, given_from="dims", holder="row")
        found = diagnose(self.plan, held, context)
        violations = [*found.violations, *self._wrong_cells(held), *self._unasked(row)]
        order = {key: at for at, key in enumerate(self._fields)}
        violations.sort(key=lambda violation: order.get(violation.field, len(order)))
        return Diagnosis(violations, found.dims, found.sizes)

    def _wrong_cells(self, held: Stores) -> Iterator[Violation]:
        for key, (classes, _, _) in self._cells.items():
            cells = held.columns.get(key)
            if not isinstance(cells, np.ndarray) or classes is None or isinstance(cells[0], classes):
                continue
            place = next(place for place in self._fields[key].places if place.placement in ("non_tensor", "tag"))
            yield Violation(
                code="BP006",
                field=key,
                placement=place.placement,
                actual=describe(cells[0]),
                expected=type_and_shape(place),
                hint=_way_to_python(cells[0]),
            )

    def _unasked(self, row: Row) -> Iterator[Violation]:
        for key, value in row.items():
            if key in self._arguments:
                yield _unasked(key, value, "an argument goes with the call, not with a row")
            elif key not in self._homes and not self._is_free(key):
                yield _unasked(key, value, f"{self.name} does not declare it", "declare it, or leave it out of the row")


def _unasked(key: object, value: object, expected: str, hint: str = "") -> Violation:
    return Violation(code="BP004", field=str(key), actual=describe(value), expected=expected, hint=hint)


def _in_rows(field: FieldSpec) -> FieldSpec | None:
    """A field as rows have it; None for an argument."""
    places = tuple(place for place in field.places if place.placement != "arg")
    required = field.required and all(place.placement != "meta" for place in places)
    return field.model_copy(update={"places": places, "required": required}) if places else None


def _row_place(place: PlaceSpec) -> PlaceSpec:
    """A tensor without its batch axis, dense wherever the batch is jagged."""
    if place.placement != "tensor":
        return place
    dims = " ".join(dim.text for dim in parse_dims(place.dims or "")[1:])
    return place.model_copy(update={"dims": dims, "layout": "dense", "ragged": None})


def _row_tensor(place: TensorPlace) -> TensorPlace:
    return replace(place, dims=place.dims[1:], ragged=None if place.ragged is None else place.ragged - 1)


def _home(field: FieldSpec) -> str:
    """The one place of a field; empty where its values say which of several it is."""
    return field.places[0].placement if len(field.places) == 1 else ""


def _cell(field: FieldSpec, types: Mapping[PlacementName, object]) -> _Cell | None:
    place = next((place for place in field.places if place.placement in ("non_tensor", "tag")), None)
    if place is None:
        return None
    classes = outer_classes(types[place.placement])
    return _Cell(classes, classes is None or type(None) in classes, field.nullable)


def _way_to_python(value: object) -> str:
    """How an array or a scalar of one becomes what is declared; nothing is converted silently."""
    if isinstance(value, np.generic):
        return "a numpy scalar; .item() gives the Python value"
    return ".tolist() gives Python values" if isinstance(value, (np.ndarray, Tensor)) else ""


_KNOWN: WeakKeyDictionary[type[BatchSchema], RowContract] = WeakKeyDictionary()


def row_contract(schema: type[BatchSchema]) -> RowContract:
    """What a schema asks of a row, compiled when it is asked for first."""
    known = _KNOWN.get(schema)
    if known is None:
        known = _KNOWN[schema] = RowContract(schema)
    return known
