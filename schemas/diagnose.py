"""The careful look at a batch that the plan did not pass: every violation, in the order of declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from batchpact.schemas.axes import Size, axes, expression_holds, is_dense, many_axes
from batchpact.schemas.declared import either, placement_words, type_and_shape
from batchpact.schemas.describe import describe, describe_in_store, describe_tensor
from batchpact.schemas.dim_names import binds_dim, bound_names
from batchpact.schemas.dims import Disagreement, Votes, size_text
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.expressions import Expression
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.names import closest
from batchpact.schemas.plan import Plan
from batchpact.schemas.python_types import mismatch, outer_classes
from batchpact.schemas.record import FieldSpec, PlaceSpec
from batchpact.schemas.shapes import Dim
from batchpact.schemas.stores import Stores, store_of
from batchpact.schemas.violations import DimSizes, Violation

_SIZE_CODES = {"BP011", "BP012", "BP013", "BP014"}


@dataclass(frozen=True, slots=True)
class Context:
    """What a diagnosis may say beyond the batch itself.

    Attributes:
        given: sizes that are known before the batch is looked at, and in words where they come from.
        holder: what is looked at, in words: the batch, or the result of a stage.
        history: a text for a name ("written by 'infer_actor'", "last read by 'score'"), empty where nothing is known.
        values: whether values may be read (level `values`).
    """

    given: Mapping[str, Size] = field(default_factory=dict)
    given_from: str = "the call"
    holder: str = "batch"
    history: Mapping[str, str] = field(default_factory=dict)
    values: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found. Without violations the batch is healthy, and `sizes` are its dims."""

    violations: list[Violation]
    dims: list[DimSizes]
    sizes: dict[str, Size]


def diagnose(plan: Plan, stores: Stores, context: Context | None = None) -> Diagnosis:
    """Look at every declared field."""
    return _Examination(plan, stores, context or Context()).run()


class _Examination:
    def __init__(self, plan: Plan, stores: Stores, context: Context) -> None:
        self._plan = plan
        self._stores = stores
        self._context = context
        self._votes = Votes(context.given, context.given_from, values=context.values)
        self._found: list[tuple[int, Violation]] = []
        self._many: dict[str, tuple[tuple[int, ...], str]] = {}
        self._computed: list[tuple[int, FieldSpec, Dim, Size]] = []
        self._rows: list[tuple[str, int]] = []
        self._shown: dict[str, tuple[int, FieldSpec, PlaceSpec, str]] = {}

    def run(self) -> Diagnosis:
        for order, spec in enumerate(self._plan.spec.fields):
            violation = self._look(order, spec)
            if violation is not None:
                self._found.append((order, violation))
        if self._rows:
            axis = self._plan.spec.axis or "batch"
            tensors = [(spec.key, size) for _, spec, dim, size in self._computed if dim.text == axis]
            self._votes.join(axis, [*tensors, *self._rows])
        self._judge_sizes()
        sizes = self._judge_expressions()
        found = [violation for _, violation in sorted(self._found, key=lambda item: item[0])]
        about_sizes = any(violation.code in _SIZE_CODES for violation in found)
        return Diagnosis(found, self._votes.report() if about_sizes else [], sizes)

    def _look(self, order: int, spec: FieldSpec) -> Violation | None:
        found = ((place, self._stores.store(place.placement).get(spec.key)) for place in spec.places)
        place, value = next(((place, value) for place, value in found if value is not None), (None, None))
        if place is None:
            return self._absent(spec, [place.placement for place in spec.places])
        self._shown[spec.key] = (order, spec, place, describe(value))
        if place.placement == "tensor":
            return self._look_at_tensor(order, spec, place, value)
        if place.placement in ("meta", "arg"):
            return self._look_at_value(spec, place, value)
        return self._look_at_column(spec, place, value)

    def _absent(self, spec: FieldSpec, allowed: list[PlacementName]) -> Violation | None:
        elsewhere = self._stores.find(spec.key)
        stores = [store_of(placement) for placement in allowed]
        if elsewhere is not None and elsewhere[0] not in stores:
            placement, value = elsewhere
            return _violation(
                "BP003",
                spec,
                placement,
                actual=describe_in_store(value, placement),
                expected=placement_words(spec),
                hint=_way_over(spec, placement, value),
            )
        if elsewhere is not None and not spec.nullable:
            hint = "" if spec.required else "leave the field out where there is no value"
            return _violation("BP006", spec, actual="None", expected=either(spec), hint=hint)
        if spec.required and not (elsewhere is not None and spec.nullable):
            hint = _ways_to_pass(spec) if allowed == ["arg"] else self._closest(spec.key)
            if spec.source is not None and allowed != ["arg"]:
                hint = f"set {spec.source} in the configuration, or write it before; {hint}"
            return _violation("BP001", spec, expected=either(spec), hint=hint)
        return None

    def _closest(self, key: str) -> str:
        history = self._context.history.get(key, "")
        if history:
            return f"{history}, and no longer in the {self._context.holder}"
        match = closest(key, self._stores.names())
        if match is None:
            return f"no name in the {self._context.holder} is close"
        found = self._stores.find(match)
        where = describe_in_store(found[1], found[0]) if found is not None else ""
        writer = self._context.history.get(match, "")
        return f"closest name in the {self._context.holder}: '{match}' ({where}{', ' + writer if writer else ''})"

    def _look_at_tensor(self, order: int, spec: FieldSpec, place: PlaceSpec, value: object) -> Violation | None:
        if not isinstance(value, torch.Tensor):
            way = "torch.from_numpy(x)" if isinstance(value, np.ndarray) else "torch.tensor(x, dtype=...)"
            return _wrong_type(spec, place, value, f"convert it where it is made: {way}")
        check = self._plan.tensor_places[spec.key]
        shown = describe_tensor(value)
        if not check.layout_fits(value):
            actual = f"{_layout_prefix(value)}{shown}"
            return _violation("BP015", spec, place.placement, actual=actual, expected=_layout_words(place))
        if value.dtype not in check.dtypes:
            wanted = short_name(place.dtype or "any")
            hint = f"cast it where it is made: x.to(torch.{next(iter(place.dtypes))})" if len(place.dtypes) == 1 else ""
            actual = short_name(dtype_name(value.dtype))
            # Its axes count all the same: a wrong dtype must not hide a wrong shape.
            dtype = _violation("BP005", spec, place.placement, actual=actual, expected=wanted, hint=hint)
            self._found.append((order, dtype))
        bound = axes(check.dims, value)
        if bound is None:
            hint = f"{_axes_words(value.dim(), check.dims)}; nothing is squeezed or expanded"
            return _violation("BP011", spec, place.placement, actual=shown, expected=f'"{place.dims}"', hint=hint)
        wrong = [f"{dim.text} is {size_text(size)}" for dim, size in bound if dim.kind == "fixed" and dim.size != size]
        for dim, size in bound:
            if dim.kind == "name" and dim.name is not None:
                self._votes.add(dim.name, size, spec.key)
            elif dim.expression is not None:
                self._computed.append((order, spec, dim, size))
        many = many_axes(check.dims, value)
        if many is not None:
            sizes, first = self._many.setdefault(many[0], (many[1], spec.key))
            if sizes != many[1]:
                wrong.append(f"*{many[0]} is {list(many[1])} here and {list(sizes)} in {first}")
        if wrong:
            return _violation(
                "BP012", spec, place.placement, actual=shown, expected=f'"{place.dims}"', hint=", ".join(wrong)
            )
        return None

    def _look_at_value(self, spec: FieldSpec, place: PlaceSpec, value: object) -> Violation | None:
        live = self._plan.types[spec.key][place.placement]
        classes = outer_classes(live)
        if classes is not None and not isinstance(value, classes):
            hint = "a numpy scalar; .item() gives the Python value" if isinstance(value, np.generic) else ""
            return _wrong_type(spec, place, value, hint)
        if self._context.values:
            inner = mismatch(live, value)
            if inner is not None:
                return _wrong_type(spec, place, value, inner)
        if binds_dim(spec) and type(value) is int:
            self._votes.add(spec.key, value, spec.key)
        return None

    def _look_at_column(self, spec: FieldSpec, place: PlaceSpec, value: object) -> Violation | None:
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            return _wrong_type(spec, place, value, "a column is made by batchpact.dataproto.column(values)")
        self._rows.append((spec.key, len(value)))
        return None

    def _judge_sizes(self) -> None:
        blamed: dict[str, list[Disagreement]] = {}
        for disagreement in self._votes.disagreements():
            if disagreement.right is None:
                self._found.append(
                    (
                        len(self._plan.spec.fields),
                        Violation(
                            code="BP013",
                            field=disagreement.name,
                            actual=disagreement.listing(),
                            expected="all must agree, and no size is in the majority",
                        ),
                    )
                )
            for key in disagreement.blamed:
                blamed.setdefault(key, []).append(disagreement)
        for key, reasons in blamed.items():
            order, spec, place, shown = self._shown[key]
            expected = either(spec) if place.dims is None else f'"{place.dims}"'
            hint = ", ".join(reason.majority() for reason in reasons)
            wrong = _violation("BP012", spec, place.placement, actual=shown, expected=expected, hint=hint)
            self._found.append((order, wrong))

    def _judge_expressions(self) -> dict[str, Size]:
        """Hold every expression against the plain names; returns all sizes, with the names that follow from one."""
        sizes = self._votes.sizes()
        for order, spec, dim, size in self._computed:
            if dim.expression is None:
                continue
            holds = expression_holds(dim.expression, size, sizes, values=self._context.values)
            unbound = dim.expression.unbound(sizes)
            if holds is False:
                inputs = {name: sizes[name] for name in dict.fromkeys(dim.expression.names()) if name in sizes}
                hint = f"{dim.text} is {size_text(size)}, with " + ", ".join(
                    f"{name}={size_text(value)}" for name, value in inputs.items()
                )
                _, _, place, shown = self._shown[spec.key]
                wrong = _violation("BP012", spec, place.placement, actual=shown, expected=f'"{place.dims}"', hint=hint)
                self._found.append((order, wrong))
            elif unbound and not self._may_bind(dim.expression, unbound):
                self._found.append(
                    (
                        order,
                        _violation(
                            "BP014",
                            spec,
                            "tensor",
                            actual=f"{dim.text} cannot be computed",
                            expected=f"nothing has a size for {' or '.join(unbound)}",
                            hint="declare an integer meta field or an argument of that name",
                        ),
                    )
                )
        return sizes

    def _may_bind(self, expression: Expression, names: Sequence[str]) -> bool:
        """Whether the names need no binding, or a declared field that is absent would have bound them.

        A single name that stands alone follows from the size, though row by row where the axis is ragged.
        """
        if len(names) == 1 and expression.isolates(names[0]):
            return True
        return set(names) <= bound_names(self._plan.spec.fields)


def _violation(code: str, spec: FieldSpec, placement: PlacementName | None = None, **parts: str) -> Violation:
    """A violation of a field, in the placement where it was found or else in the first that is declared."""
    where = spec.places[0].placement if placement is None else placement
    return Violation.model_validate({"code": code, "field": spec.key, "placement": where, **parts})


def _wrong_type(spec: FieldSpec, place: PlaceSpec, value: object, hint: str) -> Violation:
    return _violation("BP006", spec, place.placement, actual=describe(value), expected=type_and_shape(place), hint=hint)


def _axes_words(rank: int, dims: Sequence[Dim]) -> str:
    """`2 axes where 1 is declared`, `1 axis where at least 2 are declared`."""
    least = sum(dim.kind != "many" for dim in dims)
    wanted = str(least) if least == len(dims) else f"at least {least}"
    return f"{rank} {'axis' if rank == 1 else 'axes'} where {wanted} {'is' if least == 1 else 'are'} declared"


def _layout_prefix(tensor: torch.Tensor) -> str:
    """What the text of a tensor does not say of its layout."""
    if tensor.layout is torch.jagged:
        return "jagged, "
    return "" if is_dense(tensor) or tensor.is_nested else f"{tensor.layout}, "


def _layout_words(place: PlaceSpec) -> str:
    return f'jagged on "{place.ragged}"' if place.ragged is not None else f'dense "{place.dims}"'


def _ways_to_pass(spec: FieldSpec) -> str:
    """How an argument that is missing comes to a stage."""
    configured = "" if spec.source is None else f", or set {spec.source} in the configuration"
    return f"pass {spec.name}=... with the call{configured}"


def _way_over(spec: FieldSpec, placement: PlacementName, value: object) -> str:
    """How a value that is in the wrong store gets to the right one, where that is plain."""
    target = store_of(spec.places[0].placement)
    if target == "tensor" and isinstance(value, np.ndarray) and value.dtype != object:
        return "torch.from_numpy(column) is the tensor"
    if target == "non_tensor" and placement == "meta" and isinstance(value, (list, tuple)):
        return "a column is made by batchpact.dataproto.column(values)"
    return ""
