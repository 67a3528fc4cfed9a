"""Policies as the record holds them, and what can be wrong with one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from batchpact.schemas.bounds import bounded
from batchpact.schemas.definitions import qualified_name
from batchpact.schemas.describe import describe
from batchpact.schemas.dtypes import fits, torch_dtypes
from batchpact.schemas.policies import MERGE_NAMES, SIDES, Fill, Group, Key, Merge, Pad, PadValue
from batchpact.schemas.python_types import mismatch, outer_classes
from batchpact.schemas.record import FillSpec, MergeSpec, PadSpec, PlaceSpec, RuleSpec, named
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.text import join_names

if TYPE_CHECKING:
    from batchpact.schemas.annotations import Reading


class Policies(NamedTuple):
    """The policies of a field."""

    merge: Merge | None = None
    pad: Pad | None = None
    fill: Fill | None = None
    role: Literal["key", "group"] | None = None

    @classmethod
    def of(cls, reading: Reading) -> Policies:
        """What stands in an annotation."""
        role: Literal["key", "group"] | None = "key" if reading.marker(Key) is not None else None
        if role is None and reading.marker(Group) is not None:
            role = "group"
        return cls(reading.marker(Merge), reading.marker(Pad), reading.marker(Fill), role)

    def merge_spec(self) -> MergeSpec | None:
        """`Merge` as data."""
        if self.merge is None:
            return None
        chooser = None if self.merge.policy_of is None else qualified_name(self.merge.policy_of)
        return MergeSpec(how=self.merge.how, rtol=self.merge.rtol, policy_of=chooser, atol=self.merge.atol or None)

    def pad_spec(self) -> PadSpec | None:
        """`Pad` as data."""
        if self.pad is None:
            return None
        side = self.pad.side if isinstance(self.pad.side, str) else dict(self.pad.side)
        return PadSpec(value=named(self.pad.value), side=side)

    def fill_spec(self) -> FillSpec | None:
        """`Fill` as data."""
        return None if self.fill is None else FillSpec(value=named(self.fill.value))


NO_POLICIES = Policies()


def policy_problems(reading: Reading, rules: Sequence[RuleSpec], *, required: bool) -> Iterator[str]:
    """What is wrong with the policies of a field, which has these rules."""
    merge, pad, fill, role = Policies.of(reading)
    rows = [place for place in reading.places if place.placement in ("tensor", "non_tensor", "tag")]
    if merge is not None:
        if "meta" not in reading.types and not (rows and merge.how == "close"):
            other = "rows are put one below the other" if rows else "an argument goes with one call"
            yield f"Merge(...) says how meta values become one; {other}"
        yield from _merge_problems(merge)
    for marker in (pad, fill):
        if marker is not None and rows:
            yield from _value_problems(marker, rows, reading, rules)
        elif marker is not None:
            yield f"{type(marker).__name__}(...) is for fields with one value per row"
    if pad is not None and rows:
        yield from _side_problems(pad, rows)
    if fill is not None and required:
        yield "Fill(...) is for optional fields; add '| None = None', or leave it out: a required field is never filled"
    if role is not None:
        yield from _role_problems(role.capitalize(), rows, reading)
    if role == "key" and reading.marker(Group) is not None:
        yield "Key() and Group() cannot both be true: no two rows have the same key"


def _merge_problems(merge: Merge) -> Iterator[str]:
    if merge.how not in MERGE_NAMES:
        yield f"Merge({merge.how!r}) is not known; the policies are {join_names(MERGE_NAMES, len(MERGE_NAMES))}"
    elif merge.how == "by_key" and merge.policy_of is None:
        yield 'Merge("by_key") needs the function that says the policy of a key: Merge.by_key(policy_of)'
    elif merge.how == "by_key" and not isinstance(merge.policy_of, (FunctionType, MethodType)):
        yield f"Merge.by_key takes a function, whose name stands in the record, not {type(merge.policy_of).__name__}"
    elif merge.how == "close" and not (_is_deviation(merge.rtol) and _is_deviation(merge.atol)):
        yield 'Merge("close") needs the deviation that is allowed: Merge.close(rtol=1e-5)'
    elif (merge.rtol is not None and merge.how != "close") or (merge.policy_of is not None and merge.how != "by_key"):
        yield f"rtol= belongs to Merge.close, policy_of= to Merge.by_key, and this is Merge({merge.how!r})"


def _is_deviation(rtol: object) -> bool:
    return isinstance(rtol, (int, float)) and not isinstance(rtol, bool) and 0 <= rtol < math.inf


def _value_problems(
    marker: Pad | Fill, rows: Sequence[PlaceSpec], reading: Reading, rules: Sequence[RuleSpec]
) -> Iterator[str]:
    """A value has to be right wherever the field may stand, or the next check of the batch finds it."""
    word, value = type(marker).__name__, marker.value
    if not (value is None or isinstance(value, (bool, int, float, str))):
        yield f"{word}({describe(value)}) cannot stand in the record; it is a number, a text or None"
        return
    for place in rows:
        wrong = _number_problem(value, place) if place.placement == "tensor" else None
        wrong = wrong or mismatch(bounded(reading.types.get(place.placement, Any), rules), value)
        if wrong is not None:
            yield f"{word}({value!r}) is no value of the field: {wrong}"


def _number_problem(value: PadValue, tensor: PlaceSpec) -> str | None:
    if value is None or isinstance(value, str):
        return "a tensor holds numbers"
    if tensor.dtypes and not any(fits(value, dtype) for dtype in torch_dtypes(tensor.dtypes)):
        return f"{tensor.dtype} cannot hold it"
    return None


def _side_problems(pad: Pad, rows: Sequence[PlaceSpec]) -> Iterator[str]:
    sides = list(pad.side.values()) if isinstance(pad.side, Mapping) else [pad.side]
    dims = next((place.dims or "" for place in rows if place.placement == "tensor"), "")
    axes = parse_dims(dims)[1:]
    if any(side not in SIDES for side in sides):
        yield f"Pad(side={pad.side!r}): a side is 'left' or 'right'"
    elif pad.side != "right" and not axes:
        yield f"Pad(side={pad.side!r}): the field has no axis that can be longer"
    elif isinstance(pad.side, Mapping):
        expressions = (axis.as_expression() for axis in axes)
        names = {name for found in expressions if found is not None for name in found.names()}
        for name in pad.side:
            if name not in names:
                yield f"Pad(side={pad.side!r}): no axis of {dims!r} can be longer in {name!r}"


def _role_problems(word: str, rows: Sequence[PlaceSpec], reading: Reading) -> Iterator[str]:
    if not rows:
        yield f"{word}() is for fields with one value per row"
    for place in rows:
        if place.placement == "tensor":
            if len(parse_dims(place.dims or "")) != 1:
                yield f'{word}() needs one value per row: a tensor of dims "batch", not {place.dims!r}'
        elif any(cls.__hash__ is None for cls in outer_classes(reading.types[place.placement]) or ()):
            yield f"{word}() needs a text or a number per row, not {place.type}"
