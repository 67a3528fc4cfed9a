"""Rows that were born one at a time, as one batch: what it is like is said by the schema, never by the rows.

Equal lengths stay jagged where the schema says so, no row gives tensors without rows, and a field that the first row
lacks is not lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch import Tensor

from batchpact.schemas import jagged
from batchpact.schemas.axes import Size
from batchpact.schemas.columns import field_name
from batchpact.schemas.describe import describe
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.dim_names import dims_of
from batchpact.schemas.dtypes import one_dtype
from batchpact.schemas.errors import contract_error
from batchpact.schemas.lengthening import Pieces, lengthen, longest_of
from batchpact.schemas.merging import DEFAULTS, merge_meta
from batchpact.schemas.record import PlaceSpec
from batchpact.schemas.row_check import Row, RowContract, name_of, row_contract
from batchpact.schemas.row_filling import fill_rows
from batchpact.schemas.row_names import named_in_rows
from batchpact.schemas.stores import Stores, column
from batchpact.schemas.tensor_place import TensorPlace
from batchpact.schemas.text import by_kind, count, listed_rows, quoted
from batchpact.schemas.violations import DimSizes, Violation

if TYPE_CHECKING:
    from batchpact.schemas.batch import BatchSchema

S = TypeVar("S", bound="BatchSchema")

_NONE: Mapping[str, int] = {}


def collate(schema: type[S], rows: Iterable[Row], dims: Mapping[str, int], *, pad: bool) -> S:
    """An instance of a schema that holds these rows; `BatchSchema.collate` says how."""
    rows = list(rows)
    named = named_in_rows(schema, rows)
    made = stacked(named, rows, dims, pad=pad)
    compiled = named.__batchpact__
    names = {field.key: field.name for field in compiled.spec.fields}
    held = {names.get(key, key): value for store in made[:3] for key, value in store.items()}
    for name, keys in compiled.named.items():
        each = {key: field_name(name, key) for key in keys}
        held[name] = {key: held.pop(field) for key, field in each.items() if field in held}
    return schema(**held)


def stacked(
    schema: type[BatchSchema], rows: Sequence[Row], dims: Mapping[str, int] = _NONE, *, pad: bool = False
) -> Stores:
    """The stores of a batch of these rows.

    Raises:
        ContractError: with what is wrong in the rows, each by itself; or else with what is wrong between them.
    """
    return _Collation(schema, rows, dims, pad).stores()


class _Collation:
    """The way from rows to a batch. What is wrong at one step is told before the next one, which relies on it."""

    def __init__(self, schema: type[BatchSchema], rows: Sequence[Row], dims: Mapping[str, int], pad: bool) -> None:
        self._spec = schema.__batchpact__.spec
        self._policies = schema.__batchpact__.policies
        self._contract = row_contract(schema)
        self._rows = rows
        self._dims = dims
        self._pad = pad
        self._none_is_meant = {field.key for field in self._spec.fields if field.required}

    def stores(self) -> Stores:
        known = dims_of(self._spec)
        unknown = [name for name in self._dims if name not in known]
        if unknown:
            actual, expected = f"{self._contract.name} has no dim {quoted(unknown)}", f"its dims are {quoted(known)}"
            self._refuse([Violation(code="BP036", field="dims", actual=actual, expected=expected)])
        whole = self._joined() if self._rows else _without_rows(self._contract, self._dims)
        plan = self._contract.whole
        if plan.sizes(whole, self._dims) is None:
            found = diagnose(plan, whole, Context(given=self._dims, given_from="dims"))
            self._refuse(found.violations, found.dims)
        return whole

    def _refuse(self, violations: Sequence[Violation], dims: Sequence[DimSizes] = ()) -> None:
        if violations:
            words = f"{count(len(self._rows), 'row')} of {self._contract.name}"
            raise contract_error(f"where {words} {'is' if len(self._rows) == 1 else 'are'} collated", violations, dims)

    def _named(self, rows: Sequence[int]) -> str:
        return listed_rows(rows, self._name)

    def _name(self, row: int) -> str:
        name = name_of(self._spec, self._rows[row])
        return f"{row} ({name})" if name else str(row)

    def _joined(self) -> Stores:
        held, sizes = self._healthy()
        held, wrong = fill_rows(self._contract.places, self._policies, held, sizes, self._named)
        self._refuse(wrong)
        if self._pad:
            longest = {**longest_of(sizes), **self._dims}
            self._refuse(self._too_long(sizes))
            pieces = Pieces(0, self._named, describe)
            held, wrong = lengthen(self._contract.places, self._policies, held, sizes, longest, pieces)
            self._refuse(wrong)
        merges = {key: policies.merge for key, policies in self._policies.items() if policies.merge is not None}
        meta, wrong = merge_meta([self._meta(row) for row in held], {**DEFAULTS, **merges}, noun="row")
        tensors = {key: [cast(Tensor, row.tensors[key]) for row in held] for key in held[0].tensors}
        self._refuse([*(v for key, values in tensors.items() for v in self._unlike(key, values)), *wrong])
        offsets: dict[object, Tensor] = {}
        return Stores(
            {key: _stack(values, self._contract.places.get(key), offsets) for key, values in tensors.items()},
            {key: column([cast("list[object]", row.columns[key])[0] for row in held]) for key in held[0].columns},
            meta,
        )

    def _healthy(self) -> tuple[list[Stores], list[dict[str, Size]]]:
        """The values and the dims of each row, where every row by itself keeps to the schema."""
        given = _NONE if self._pad else self._dims
        held = [self._contract.stores(row) for row in self._rows]
        sizes: list[dict[str, Size]] = []
        found: dict[Violation, list[int]] = {}
        for at, (row, values) in enumerate(zip(self._rows, held, strict=True)):
            known = self._contract.sizes(row, values, given)
            if known is None:
                diagnosis = self._contract.explain(row, values, given)
                known = diagnosis.sizes
                for violation in diagnosis.violations:
                    found.setdefault(violation, []).append(at)
            sizes.append(known)
        self._refuse([self._in_rows(violation, rows) for violation, rows in found.items()])
        return held, sizes

    def _in_rows(self, violation: Violation, rows: Sequence[int]) -> Violation:
        """A violation with the rows that have it; what is missing has no text of its own to stand beside them."""
        words = self._named(rows)
        if not violation.actual:
            return violation.model_copy(update={"hint": f"not in {words}; {violation.hint}".removesuffix("; ")})
        return violation.model_copy(update={"actual": f"{words}: {violation.actual}"})

    def _too_long(self, sizes: Sequence[Mapping[str, Size]]) -> list[Violation]:
        violations = []
        for name, most in self._dims.items():
            known = ((at, row.get(name)) for at, row in enumerate(sizes))
            longer = [(at, f"{name}={size}") for at, size in known if isinstance(size, int) and size > most]
            if longer:
                actual = by_kind(longer, self._named)
                expected = f"{name}={most} by dims"
                violations.append(
                    Violation(code="BP012", field=name, actual=actual, expected=expected, hint="rows are never cut")
                )
        return violations

    def _unlike(self, key: str, values: Sequence[Tensor]) -> list[Violation]:
        """A tensor has one dtype, device and shape in all rows, but for the lengths of a ragged axis."""
        place = self._contract.places.get(key)
        ragged = None if place is None else place.ragged
        first = _kind(values[0], ragged)
        if all(_kind(value, ragged) == first for value in values):
            return []
        if len({value.device for value in values}) > 1:
            kinds, expected, hint = [str(value.device) for value in values], "one device", ""
        else:
            kinds, expected = [describe(value) for value in values], "one dtype and shape in all rows"
            hint = self._way_out(key, place) if len({(value.dtype, value.dim()) for value in values}) == 1 else ""
        actual = by_kind(enumerate(kinds), self._named)
        return [Violation(code="BP042", field=key, placement="tensor", actual=actual, expected=expected, hint=hint)]

    def _way_out(self, key: str, place: TensorPlace | None) -> str:
        """How rows of different lengths may stand in one batch."""
        policies = self._policies.get(key)
        if place is None:
            return ""
        if policies is not None and policies.pad is not None:
            return "" if self._pad else "collate(rows, pad=True) makes rows equally long"
        return "declare Pad(value, side) and collate(rows, pad=True), or declare Jagged(dim)"

    def _meta(self, row: Stores) -> Mapping[str, object]:
        """The meta of a row; None where an optional field may be None says that there is no value."""
        return {key: value for key, value in row.meta.items() if value is not None or key in self._none_is_meant}


def _kind(value: Tensor, ragged: int | None) -> tuple[object, ...]:
    shape = value.shape if ragged is None else (*value.shape[:ragged], *value.shape[ragged + 1 :])
    return value.dtype, value.device, shape


def _stack(values: Sequence[Tensor], place: TensorPlace | None, offsets: dict[object, Tensor]) -> Tensor:
    """Rows as one tensor in the declared layout; ragged ones of the same lengths share their offsets."""
    if place is None or place.ragged is None:
        return torch.stack(list(values))
    axis = place.ragged
    lengths = tuple(value.shape[axis] for value in values)
    device = values[0].device
    if (lengths, device) not in offsets:
        offsets[lengths, device] = jagged.offsets_of_lengths(torch.tensor(lengths, device=device))
    return jagged.build(torch.cat(list(values), dim=axis), offsets[lengths, device], axis)


def _without_rows(contract: RowContract, dims: Mapping[str, int]) -> Stores:
    """The required fields with no row in them, in the declared dtype and rank."""
    tensors: dict[str, object] = {}
    columns: dict[str, object] = {}
    for field in contract.whole.spec.fields:
        place = field.places[0]
        if not field.required:
            continue
        if place.placement == "tensor":
            tensors[field.key] = _no_rows(place, contract.places[field.key], dims)
        else:
            columns[field.key] = column(())
    return Stores(tensors, columns, {})


def _no_rows(declared: PlaceSpec, row: TensorPlace, dims: Mapping[str, int]) -> Tensor:
    shape = []
    for dim in row.dims:
        expression = dim.as_expression()
        if dim.kind != "many":
            names = () if expression is None else expression.names()
            size = None if expression is None else expression.evaluate({name: dims.get(name, 0) for name in names})
            shape.append(max(size or 0, 0))
    dtype = one_dtype(declared.dtypes)
    if row.ragged is None:
        return torch.zeros((0, *shape), dtype=dtype)
    shape[row.ragged] = 0
    return jagged.build(torch.zeros(shape, dtype=dtype), torch.zeros(1, dtype=torch.int64), row.ragged)
