"""The compiled check: what a boundary asks of a healthy batch, as a flat loop that formats nothing.

A plan only says yes or no. Where it says no, or meets something unusual such as a tensor subclass, `diagnose` looks at
everything in the order of declaration and has the last word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas.axes import Size, axes, expression_holds, is_dense, same_size
from batchpact.schemas.dim_names import binds_dim
from batchpact.schemas.expressions import Expression, Linear
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.python_types import outer_classes
from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.tensor_place import TensorPlace

_STRIDED = torch.strided


class _Member(NamedTuple):
    """One field of a group. `dtype` is the one that is allowed, or None where `dtypes` has several."""

    key: str
    dtype: torch.dtype | None
    dtypes: frozenset[torch.dtype]


class _Group(NamedTuple):
    """Dense tensors with the same dims: they have one shape, so one comparison each is enough.

    The axes of that shape are sorted into `names`, `fixed` sizes and `expressions`; an axis of any size is in neither.
    """

    rank: int
    names: tuple[tuple[int, str], ...]
    fixed: tuple[tuple[int, int], ...]
    expressions: tuple[tuple[int, Expression, Linear | None], ...]
    required: tuple[_Member, ...]
    optional: tuple[_Member, ...]


class _Value(NamedTuple):
    """A meta field or an argument: its key, the classes it may have, and whether it must be there."""

    key: str
    classes: tuple[type, ...] | None
    required: bool
    nullable: bool


class Plan:
    """A schema, compiled. Made once, when the class is.

    Attributes:
        spec: the record of the schema.
        types: the Python types of each field by placement, as far as it may stand elsewhere than among the tensors.
        tensor_places: the tensor placement of each field that has one, by key.
    """

    def __init__(self, spec: SchemaSpec, types: Mapping[str, Mapping[PlacementName, object]]) -> None:
        self.spec = spec
        self.tensor_places = {
            field.key: TensorPlace.of(place) for field in spec.fields if (place := field.place("tensor")) is not None
        }
        self.types = types
        groups: dict[object, list[FieldSpec]] = {}
        self._others: list[FieldSpec] = []
        self._columns: list[tuple[str, bool]] = []
        self._meta: list[_Value] = []
        self._args: list[_Value] = []
        for field in spec.fields:
            only = field.places[0].placement if len(field.places) == 1 else None
            if only == "tensor" and self._is_plain(field):
                groups.setdefault(self._group_key(field), []).append(field)
            elif only in ("non_tensor", "tag"):
                self._columns.append((field.key, field.required))
            elif only in ("meta", "arg"):
                classes = outer_classes(types[field.key][only])
                store = self._meta if only == "meta" else self._args
                store.append(_Value(field.key, classes, field.required, field.nullable))
            else:
                self._others.append(field)
        self._groups = [self._group(members) for members in groups.values()]
        self._optional: list[tuple[str, PlacementName]] = [
            (field.key, field.places[0].placement) for field in spec.fields if not field.required
        ]
        self._binders = [field.key for field in spec.fields if binds_dim(field)]

    def _is_plain(self, field: FieldSpec) -> bool:
        place = self.tensor_places[field.key]
        return place.ragged is None and all(dim.kind != "many" for dim in place.dims)

    def _group_key(self, field: FieldSpec) -> object:
        dims = self.tensor_places[field.key].dims
        # An axis of any size may differ between fields, so such a field is a group of its own.
        return field.key if any(dim.kind == "any" for dim in dims) else tuple(dim.text for dim in dims)

    def _group(self, fields: list[FieldSpec]) -> _Group:
        dims = self.tensor_places[fields[0].key].dims
        members = {field.key: self._member(field) for field in fields}
        return _Group(
            rank=len(dims),
            names=tuple((at, dim.name) for at, dim in enumerate(dims) if dim.kind == "name" and dim.name is not None),
            fixed=tuple((at, dim.size) for at, dim in enumerate(dims) if dim.size is not None),
            expressions=tuple(
                (at, dim.expression, dim.expression.linear())
                for at, dim in enumerate(dims)
                if dim.expression is not None
            ),
            required=tuple(members[field.key] for field in fields if field.required),
            optional=tuple(members[field.key] for field in fields if not field.required),
        )

    def _member(self, field: FieldSpec) -> _Member:
        dtypes = self.tensor_places[field.key].dtypes
        return _Member(field.key, next(iter(dtypes)) if len(dtypes) == 1 else None, dtypes)

    def sizes(self, stores: Stores, given: Mapping[str, Size] | None = None) -> dict[str, Size] | None:
        """Check the structure of a batch.

        Args:
            stores: the batch; values that stand there are looked at, never read.
            given: sizes that are known already, from the caller or from what the stage read.

        Returns:
            The size of every dim that was bound, or None where something is wrong or needs a closer look.
        """
        tensors, columns, meta, args = stores
        sizes: dict[str, Size] = dict(given) if given else {}
        try:
            for key in self._binders:
                value = meta.get(key, args.get(key))
                if type(value) is int and sizes.setdefault(key, value) != value:
                    return None
            computed = self._check_groups(tensors, sizes)
            if computed is None:
                return None
            for expression, linear, size in computed:
                if not _holds(expression, linear, size, sizes):
                    return None
            if self._meta and not _check_values(self._meta, meta):
                return None
            if self._args and not _check_values(self._args, args):
                return None
            several = self._check_others(stores, sizes) if self._others else ()
            if several is None:
                return None
            if (self._columns or several) and not self._check_columns(tensors, columns, sizes, several):
                return None
            for key, placement in self._optional:  # in a wrong store it is not left out
                if key not in stores.store(placement) and (
                    key in tensors or key in columns or key in meta or key in args
                ):
                    return None
        except (KeyError, RuntimeError, AttributeError, TypeError):
            # A name that is missing, a tensor without a shape (strided nested), something that is no tensor.
            return None
        return sizes

    def _check_groups(
        self, tensors: Mapping[str, object], sizes: dict[str, Size]
    ) -> list[tuple[Expression, Linear | None, int]] | None:
        """Check plain dense tensors and bind their names; returns the axes that are computed from names."""
        computed: list[tuple[Expression, Linear | None, int]] = []
        for rank, names, fixed, expressions, required, optional in self._groups:
            shape: torch.Size | None = None
            for key, dtype, dtypes in required:
                tensor: Tensor = tensors[key]  # type: ignore[assignment]  # what is no tensor fails in the next line
                if tensor.dtype is not dtype and (dtype is not None or tensor.dtype not in dtypes):
                    return None
                if tensor.layout is not _STRIDED or (type(tensor) is not Tensor and not _acts_plain(tensor)):
                    return None
                if shape is None:
                    shape = tensor.shape
                elif tensor.shape != shape:
                    return None
            for key, dtype, dtypes in optional:
                maybe = tensors.get(key)
                if maybe is None:
                    continue
                if not _acts_plain(maybe) or (maybe.dtype is not dtype and maybe.dtype not in dtypes):
                    return None
                if shape is None:
                    shape = maybe.shape
                elif maybe.shape != shape:
                    return None
            if shape is None:
                continue
            if len(shape) != rank:
                return None
            for axis, name in names:
                size = shape[axis]
                if sizes.setdefault(name, size) != size:
                    return None
            for axis, wanted in fixed:
                if shape[axis] != wanted:
                    return None
            for axis, expression, linear in expressions:
                computed.append((expression, linear, shape[axis]))
        return computed

    def _check_columns(
        self,
        tensors: Mapping[str, object],
        columns: Mapping[str, object],
        sizes: Mapping[str, Size],
        several: Sequence[tuple[str, bool]],
    ) -> bool:
        rows = sizes.get(self.spec.axis or "batch")
        if rows is None and self.spec.axis is not None:
            rows = self._rows_of_tensors(tensors)
        for key, required in (*self._columns, *several):
            column = columns.get(key)
            if column is None:
                if required or key in columns:
                    return False
                continue
            if type(column) is not np.ndarray:
                return False
            if rows is None:
                rows = len(column)
            elif len(column) != rows:
                return False
        return True

    def _rows_of_tensors(self, tensors: Mapping[str, object]) -> int | None:
        """The rows of the first declared tensor, for a batch axis that is an expression."""
        found = (tensors.get(key) for key in self.tensor_places)
        return next((tensor.size(0) for tensor in found if isinstance(tensor, Tensor)), None)

    def _check_others(self, stores: Stores, sizes: dict[str, Size]) -> Sequence[tuple[str, bool]] | None:
        """Check what the flat loops leave out; returns the fields of several placements that are columns here."""
        expressions: list[tuple[Expression, Size]] = []
        several: list[tuple[str, bool]] = []
        for field in self._others:
            found: PlacementName | None = next(
                (p.placement for p in field.places if field.key in stores.store(p.placement)), None
            )
            if found is None:
                if field.required or stores.find(field.key) is not None:
                    return None
                continue
            value = stores.store(found)[field.key]
            if found in ("meta", "arg"):
                classes = outer_classes(self.types[field.key][found])
                if classes is not None and not isinstance(value, classes):
                    return None
                continue
            if found != "tensor":
                several.append((field.key, True))
                continue
            place = self.tensor_places[field.key]
            if not isinstance(value, Tensor) or value.dtype not in place.dtypes or not place.layout_fits(value):
                return None
            if any(dim.kind == "many" and dim.name for dim in place.dims):
                return None  # shared names for several axes are rare; the diagnosis compares them
            bound = axes(place.dims, value)
            if bound is None:
                return None
            for dim, size in bound:
                if dim.kind == "name" and dim.name is not None:
                    if not same_size(sizes.setdefault(dim.name, size), size):
                        return None
                elif dim.kind == "fixed" and dim.size != size:
                    return None
                elif dim.expression is not None:
                    expressions.append((dim.expression, size))
        holds = all(expression_holds(expression, size, sizes) is not False for expression, size in expressions)
        return several if holds else None


def _check_values(values: list[_Value], store: Mapping[str, object]) -> bool:
    """Whether meta fields or arguments are there, with a value of their class."""
    for key, classes, required, nullable in values:
        value = store.get(key)
        if value is None:
            if required or (key in store and not nullable):
                return False
        elif classes is not None and not isinstance(value, classes):
            return False
    return True


def _holds(expression: Expression, linear: Linear | None, size: int, sizes: dict[str, Size]) -> bool:
    """Whether an axis has the size that its names give; the short way where they are all bound and only added."""
    if linear is not None:
        total, factors = linear
        for name, factor in factors:
            known = sizes.get(name)
            if not isinstance(known, int):
                break
            total += factor * known
        else:
            return total == size
    return bool(expression_holds(expression, size, sizes))


def _acts_plain(tensor: object) -> TypeGuard[Tensor]:
    """Whether a tensor is dense; subclasses (a Parameter, a fake or distributed tensor) can be checked like others."""
    return isinstance(tensor, Tensor) and is_dense(tensor)
