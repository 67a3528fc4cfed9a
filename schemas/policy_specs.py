"""Policies as the record holds them, and what can be wrong with one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

from batchpact.schemas.definitions import qualified_name
from batchpact.schemas.describe import describe
from batchpact.schemas.dtypes import torch_dtypes
from batchpact.schemas.policies import MERGE_NAMES, SIDES, Fill, Group, Key, Merge, Pad
from batchpact.schemas.record import FillSpec, MergeSpec, PadSpec, PlaceSpec, PlainValue
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.text import quoted

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
        return MergeSpec(how=self.merge.how, rtol=self.merge.rtol, policy_of=chooser)

    def pad_spec(self) -> PadSpec | None:
        """`Pad` as data."""
        if self.pad is None:
            return None
        side = self.pad.side if isinstance(self.pad.side, str) else dict(self.pad.side)
        return PadSpec(value=_plain(self.pad.value), side=side)

    def fill_spec(self) -> FillSpec | None:
        """`Fill` as data."""
        return None if self.fill is None else FillSpec(value=_plain(self.fill.value))


NO_POLICIES = Policies()


def _plain(value: object) -> PlainValue:
    """JSON has no infinity and no NaN: they stand there by name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value  # type: ignore[return-value]  # checked by `policy_problems`


def policy_problems(policies: Policies, places: list[PlaceSpec], required: bool) -> Iterator[str]:
    """What is wrong with the policies of a field."""
    placements = {place.placement for place in places}
    tensor = next((place for place in places if place.placement == "tensor"), None)
    rows = placements & {"tensor", "non_tensor"}
    if policies.merge is not None:
        if "meta" not in placements:
            yield "Merge(...) says how meta values become one; rows are put one below the other"
        yield from _merge_problems(policies.merge)
    for marker in (policies.pad, policies.fill):
        if marker is not None and not rows:
            yield f"{type(marker).__name__}(...) is for fields with one value per row"
        elif marker is not None:
            yield from _value_problems(type(marker).__name__, marker.value, tensor, placements >= {"non_tensor"})
    if policies.pad is not None and rows:
        yield from _side_problems(policies.pad, tensor)
    if policies.fill is not None and required:
        yield "Fill(...) is for optional fields; add '| None = None', or leave it out: a required field is never filled"
    if policies.role is not None:
        word = policies.role.capitalize()
        if not rows:
            yield f"{word}() is for fields with one value per row"
        elif tensor is not None and len(parse_dims(tensor.dims or "")) != 1:
            yield f'{word}() needs one value per row: a tensor of dims "batch", not {tensor.dims!r}'


def _merge_problems(merge: Merge) -> Iterator[str]:
    if merge.how not in MERGE_NAMES:
        yield f"Merge({merge.how!r}) is not known; the policies are {quoted(MERGE_NAMES)}"
    elif merge.how == "by_key" and not callable(merge.policy_of):
        yield 'Merge("by_key") needs the function that says the policy of a key: Merge.by_key(policy_of)'
    elif merge.how == "close" and not (isinstance(merge.rtol, (int, float)) and 0 <= merge.rtol < math.inf):
        yield 'Merge("close") needs the deviation that is allowed: Merge.close(rtol=1e-5)'
    elif (merge.rtol is not None and merge.how != "close") or (merge.policy_of is not None and merge.how != "by_key"):
        yield f"rtol= belongs to Merge.close, policy_of= to Merge.by_key, and this is Merge({merge.how!r})"


def _value_problems(word: str, value: object, tensor: PlaceSpec | None, column: bool) -> Iterator[str]:
    if not (value is None or isinstance(value, (bool, int, float, str))):
        yield f"{word}({describe(value)}) cannot stand in the record; it is a number, a text or None"
    elif tensor is not None and not isinstance(value, (bool, int, float)):
        if not column:
            yield f"{word}({value!r}): a tensor takes a number"
    elif tensor is not None and isinstance(value, (bool, int, float)):
        lossy = [name for name in tensor.dtypes if not _fits(value, name)]
        if lossy and len(lossy) == len(tensor.dtypes):
            yield f"{word}({value!r}) does not fit into {quoted(lossy)}"


def _fits(value: float, dtype_name: str) -> bool:
    """Whether a dtype holds a number as it is; a cast would wrap or cut it."""
    dtype = next(iter(torch_dtypes((dtype_name,))))
    if dtype.is_floating_point or dtype.is_complex:
        return not math.isfinite(value) or abs(value) <= torch.finfo(dtype).max
    if not math.isfinite(value) or value != int(value):
        return False
    return value in (0, 1) if dtype is torch.bool else torch.iinfo(dtype).min <= value <= torch.iinfo(dtype).max


def _side_problems(pad: Pad, tensor: PlaceSpec | None) -> Iterator[str]:
    sides = [pad.side] if not isinstance(pad.side, Mapping) else list(pad.side.values())
    if any(side not in SIDES for side in sides):
        yield f"Pad(side={pad.side!r}): a side is 'left' or 'right'"
    if isinstance(pad.side, Mapping):
        dims = parse_dims("" if tensor is None else tensor.dims or "")[1:]
        expressions = [dim.as_expression() for dim in dims]
        names = {name for found in expressions if found is not None for name in found.names()}
        unknown = [name for name in pad.side if name not in names]
        if unknown:
            yield f"Pad(side=...): {quoted(unknown)} is no dim of {'' if tensor is None else tensor.dims!r}"
