"""From an annotation to placements: what `Meta[float] | Float32[Tensor, "batch"] | None` says about a field."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import numpy as np
import torch
from annotated_types import BaseMetadata, GroupedMetadata
from jaxtyping import AbstractArray
from pydantic.fields import FieldInfo

from batchpact.schemas.columns import Opened
from batchpact.schemas.dtypes import torch_dtypes
from batchpact.schemas.markers import MARKERS, Jagged, NonTensor, Placed, PlacementName, Tag
from batchpact.schemas.python_types import is_alias
from batchpact.schemas.record import PlaceSpec
from batchpact.schemas.shapes import ShapeSyntaxError, parse_dims


@dataclass(slots=True)
class Reading:
    """What an annotation says.

    `types` holds the Python type of each placement other than tensor, which the record can only name; `bounds` the
    constraints that pydantic or annotated-types declare; `columns` is true of `Columns[...]`, whose names stand
    elsewhere; `problems` are what is wrong, in words.
    """

    places: list[PlaceSpec] = field(default_factory=list)
    types: dict[PlacementName, object] = field(default_factory=dict)
    markers: list[object] = field(default_factory=list)
    bounds: list[BaseMetadata] = field(default_factory=list)
    description: str | None = None
    nullable: bool = False
    columns: bool = False
    problems: list[str] = field(default_factory=list)

    def marker(self, kind: type) -> Any:
        """The marker of this kind, or None."""
        return next((marker for marker in self.markers if isinstance(marker, kind)), None)


def read_annotation(annotation: object, metadata: Sequence[object]) -> Reading:
    """Read one field's annotation with the metadata that pydantic has already taken off its outside."""
    reading = Reading()
    placed = _take_metadata(metadata, reading)
    _read(annotation, placed, reading)
    for kind in MARKERS:
        if sum(isinstance(marker, kind) for marker in reading.markers) > 1:
            reading.problems.append(f"{kind.__name__}(...) stands there twice")
    _apply_layout(reading)
    return reading


def _read(annotation: object, placed: Placed | Opened | None, reading: Reading) -> None:
    origin = get_origin(annotation)
    if isinstance(placed, Opened):
        _read_columns(annotation, reading)
    elif placed is not None:
        _add(reading, placed.placement, annotation)
    elif annotation is None or annotation is type(None):
        reading.nullable = True
    elif origin in (Union, types.UnionType):
        whole = not reading.columns
        for member in get_args(annotation):
            _read(member, None, reading)
        if whole and reading.columns:
            reading.problems.append(
                "Columns[...] stands alone; where there may be none, the list of names is empty, and with "
                "named_by(..., optional=True) those that are named may be absent"
            )
    elif origin is Annotated:
        inner, *metadata = get_args(annotation)
        _read(inner, _take_metadata(metadata, reading), reading)
    elif origin is NonTensor or origin is Tag:
        _add(reading, "tag" if origin is Tag else "non_tensor", get_args(annotation)[0])
    elif is_alias(annotation):
        if annotation is NonTensor or annotation is Tag:
            name = annotation.__name__
            reading.problems.append(f"{name} needs the type of one row, as in {name}[str]")
        else:
            _read(annotation.__value__, None, reading)
    elif isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        _add_tensor(reading, annotation)
    else:
        reading.problems.append(_guess(annotation))


def _read_columns(annotation: object, reading: Reading) -> None:
    """What each of some open columns is."""
    column = get_args(annotation)[1]
    if reading.columns:
        reading.problems.append("Columns inside Columns: a name says one column")
    elif isinstance(column, TypeVar):
        reading.columns = True
        reading.problems.append("Columns needs what one of them is, as in Columns[NonTensor[float]]")
    elif isinstance(column, type) and not issubclass(column, AbstractArray) and column is not torch.Tensor:
        reading.columns = True
        name = type_name(column)
        reading.problems.append(f"Columns[{name}] says no placement; write Columns[NonTensor[{name}]]")
    else:
        reading.columns = True
        _read(column, None, reading)
        for place in reading.places:
            if place.placement in ("meta", "arg"):
                word = place.placement.capitalize()
                reading.problems.append(
                    f"Columns[{word}[...]]: columns have one value per row, in Columns[NonTensor[...]] or a tensor"
                )
    if reading.nullable:
        reading.nullable = False
        reading.problems.append("'| None' inside Columns; named_by(..., optional=True) lets columns be absent")


def _take_metadata(metadata: Sequence[object], reading: Reading) -> Placed | Opened | None:
    """Sort markers, bounds and descriptions into `reading`; return the placement mark, if one is there."""
    placed: Placed | Opened | None = None
    for item in metadata:
        if isinstance(item, (Placed, Opened)):
            placed = item
        elif isinstance(item, FieldInfo):
            reading.description = reading.description or item.description
            if item.alias is not None:
                reading.problems.append(
                    'alias= renames the constructor\'s argument; the key in the batch is Name("...")'
                )
            _take_metadata(item.metadata, reading)
        elif isinstance(item, GroupedMetadata):
            _take_metadata([part for part in item if isinstance(part, BaseMetadata)], reading)
        elif isinstance(item, BaseMetadata):
            reading.bounds.append(item)
        elif isinstance(item, type) and item in MARKERS:
            reading.problems.append(f"{item.__name__} is a class where an instance belongs: {item.__name__}(...)")
        elif isinstance(item, types.MethodType) and item.__self__ in MARKERS:
            way = item.__qualname__
            reading.problems.append(f"{way} is a function where what it makes belongs: {way}(...)")
        elif isinstance(item, MARKERS):
            reading.markers.append(item)
    return placed


def _add(reading: Reading, placement: PlacementName, live: object) -> None:
    if reading.types.get(placement) is not None:
        reading.problems.append(f"the placement {placement} stands there twice")
    if isinstance(live, TypeVar):
        word = placement.capitalize()
        reading.problems.append(f"{word} needs the type of its value, as in {word}[float]")
    if placement in ("meta", "arg") and get_origin(live) in (Union, types.UnionType):
        reading.nullable = reading.nullable or type(None) in get_args(live)
    for marker in _markers_inside(live):
        call = f"{type(marker).__name__}(...)"
        reading.problems.append(
            f"{call} inside the type of a value is not read; write Annotated[..., {call}] around it"
        )
    reading.places.append(PlaceSpec(placement=placement, type=type_name(live)))
    reading.types[placement] = live


def _markers_inside(live: object) -> Iterator[object]:
    for part in get_args(live):
        if isinstance(part, MARKERS):
            yield part
        else:
            yield from _markers_inside(part)


def _add_tensor(reading: Reading, annotation: type[AbstractArray]) -> None:
    family = annotation.__name__.partition("[")[0]
    if annotation.array_type is not torch.Tensor:
        name = getattr(annotation.array_type, "__name__", str(annotation.array_type))
        reading.problems.append(
            f'{family}[{name}, ...] is an array of another library; a tensor field is {family}[Tensor, "..."]'
        )
        return
    if any(place.placement == "tensor" for place in reading.places):
        reading.problems.append("two tensor types for one field; declare a family such as Float[Tensor, ...] instead")
        return
    dims = " ".join(annotation.dim_str.split())
    try:
        parsed = parse_dims(dims)
    except ShapeSyntaxError as error:
        reading.problems.append(f"the dims {dims!r} cannot be read: {error}")
        return
    if not parsed:
        reading.problems.append('a tensor has a batch axis, as in "batch"; one value for the whole batch is Meta[...]')
        return
    if parsed[0].kind not in ("name", "expression"):
        reading.problems.append(
            f'axis 0 is the batch axis and needs a name, as in "batch {dims}"; {parsed[0].text!r} is none'
        )
        return
    names = annotation.dtypes
    dtypes = tuple(names) if isinstance(names, (list, tuple)) else ()
    known = tuple(name for name in dtypes if torch_dtypes((name,)))
    if dtypes and not known:
        reading.problems.append(f"torch has no dtype {', '.join(map(str, dtypes))}")
        return
    dtype = known[0] if len(known) == 1 else family.lower() if known else "any"
    reading.places.append(PlaceSpec(placement="tensor", dtype=dtype, dtypes=known, dims=dims, layout="dense"))


def _apply_layout(reading: Reading) -> None:
    jagged = reading.marker(Jagged)
    if jagged is None:
        return
    for at, place in enumerate(reading.places):
        if place.placement == "tensor" and place.dims is not None:
            names = [dim.text for dim in parse_dims(place.dims)]
            if any(dim.kind == "many" for dim in parse_dims(place.dims)):
                reading.problems.append(
                    "a jagged tensor needs every axis by name; '...' and '*name' hide which is ragged"
                )
            elif jagged.dim not in names:
                reading.problems.append(f"Jagged({jagged.dim!r}) names no dim of {place.dims!r}")
            elif names.index(jagged.dim) == 0:
                reading.problems.append(f"Jagged({jagged.dim!r}): the batch axis cannot be ragged")
            else:
                reading.places[at] = place.model_copy(update={"layout": "jagged", "ragged": jagged.dim})
            return
    if reading.places:
        reading.problems.append("Jagged(...) belongs on a tensor")


def _guess(annotation: object) -> str:
    """What somebody probably meant by an annotation that says no placement."""
    ways = "Meta[T], NonTensor[T], Arg[T] or a jaxtyping type of torch.Tensor"
    if annotation is torch.Tensor:
        return 'a bare Tensor has no dtype and shape; write Float32[Tensor, "batch ..."]'
    if annotation is np.ndarray or get_origin(annotation) is np.ndarray:
        return "a bare numpy array has no placement; one value per row is NonTensor[T]"
    if isinstance(annotation, tuple):
        return "the annotation is a tuple: a comma too many?"
    if isinstance(annotation, type):
        name = annotation.__name__
        return f"{name} says no placement; write Meta[{name}], NonTensor[{name}] or Arg[{name}]"
    return f"{type_name(annotation)} says no placement; write {ways}"


def type_name(live: object) -> str:
    """A type as text without module paths of the standard library: `list[str]`, `int | None`, `PIL.Image.Image`."""
    if live is None or live is type(None):
        return "None"
    if live is Any:
        return "Any"
    origin, args = get_origin(live), get_args(live)
    if origin in (Union, types.UnionType):
        return " | ".join(type_name(arg) for arg in args)
    if origin is Annotated:
        return type_name(args[0])
    if origin is not None and args:
        return f"{type_name(origin)}[{', '.join(_argument_names(args))}]"
    if isinstance(live, type):
        return (
            live.__qualname__ if live.__module__ in ("builtins", "typing") else f"{live.__module__}.{live.__qualname__}"
        )
    return str(live).replace("typing.", "")


def _argument_names(args: Sequence[object]) -> Iterator[str]:
    for arg in args:
        if arg is Ellipsis:
            yield "..."
        elif isinstance(arg, (str, int)):
            yield repr(arg)
        else:
            yield type_name(arg)
