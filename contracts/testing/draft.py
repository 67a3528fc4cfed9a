"""The rows of a sample: tensors and columns that keep to the declaration of each field by itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from batchpact.contracts.testing import numbers
from batchpact.contracts.testing.asked import Asked
from batchpact.contracts.testing.choosing import Chosen
from batchpact.contracts.testing.dice import Dice
from batchpact.contracts.testing.known_sizes import known_sizes
from batchpact.contracts.testing.overrides import Held, with_cells
from batchpact.contracts.testing.python_values import python_value
from batchpact.contracts.testing.sizes import Sizes
from batchpact.contracts.testing.twins import Twins, rules_of
from batchpact.contracts.testing.unmeetable import Unmeetable, refusal
from batchpact.schemas import jagged
from batchpact.schemas.axes import Size
from batchpact.schemas.dim_names import bound_names
from batchpact.schemas.dtypes import one_dtype, torch_dtypes
from batchpact.schemas.equality import equal
from batchpact.schemas.lengthening import segments_of
from batchpact.schemas.policies import Pad
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import column
from batchpact.schemas.tensor_place import TensorPlace

_TRIES_FOR_A_KEY = 1000
_IN_A_GROUP = 2


class Draft:
    """Draws the rows of a sample, as often as wanted: dims, keys and groups stay, everything else is drawn anew.

    Args:
        chosen: which fields there are; the integers in it that are sizes get their values.
        asked: what is wanted.
        dice: what decides.

    Attributes:
        rows: the number of rows.
        twins: the fields with one value per row, in classes of those that have the same values.
        fixed: the keys of fields that are given as a whole, twins of such fields included.
        kept: the keys of fields that every draw has alike: those, keys and groups.

    Raises:
        SampleError: if sizes, twins or overrides cannot hold together.
    """

    def __init__(self, chosen: Chosen, asked: Asked, dice: Dice) -> None:
        self._chosen = chosen
        self._asked = asked
        self._dice = dice
        self._name = chosen.schema.__batchpact__.spec.name
        plan = chosen.schema.__batchpact__.plan
        self._types = plan.types
        self._policies = chosen.schema.__batchpact__.policies
        fields = [field for field in chosen.fields if chosen.places[field.key] not in ("meta", "arg")]
        self._places = {f.key: plan.tensor_places[f.key] for f in fields if chosen.places[f.key] == "tensor"}
        self.twins = Twins(fields)
        self._given = self._given_values()
        self.fixed = frozenset(self._given)
        self._padded = self._padded_dims()
        self._wanted = known_sizes(chosen, asked, self._places, self._given, self.twins)
        self._sizes = self._wanted.choose(dice.of("sizes"), self._padded, even=asked.manner.even)
        self.rows = self._sizes.rows
        for field in chosen.open:
            store = chosen.meta if chosen.places[field.key] == "meta" else chosen.args
            store[field.key] = self._sizes.dims[field.key]
        self._inner = {key: self._inner_shape(key, place) for key, place in self._places.items()}
        self._names = self._draw_names()
        self.kept = self.fixed.union(field.key for key in self._names for field in self.twins.of(key))

    def draw(self, turn: int) -> dict[str, Held]:
        """Every field with one value per row, by key, in the order of declaration.

        Raises:
            SampleError: for a field of which no value can be made, or an override that does not fit.
        """
        dice = self._dice.again(turn)
        sizes = self._sizes
        if turn:
            sizes = self._wanted.redrawn(sizes, dice.of("sizes"), self._padded, even=self._asked.manner.even)
        made: dict[str, Held] = {}
        offsets: dict[str, Tensor] = {}
        for members in self.twins:
            first = members[0].key
            value = self._given.get(first, self._names.get(first))
            if value is None:
                value = self._drawn(members, sizes, dice.of(first), offsets)
            for field in members:
                made[field.key] = value if field.key == first else copied(value)
        self.put_back(made)
        return {field.key: made[field.key] for field in self._chosen.fields if field.key in made}

    def put_back(self, values: dict[str, Held]) -> None:
        """Write the rows that are given into fields that were drawn or made."""
        for key, cells in self._asked.overrides.rows.items():
            if key in values:
                for field in self.twins.of(key):
                    values[field.key] = with_cells(key, values[field.key], cells)

    def unbound_sizes(self) -> dict[str, Size]:
        """The sizes of dims that no field tells: what a stage writes may be as long as something that it read."""
        told = bound_names(self._chosen.fields)
        return {name: size for name, size in self._sizes.by_name().items() if name not in told}

    # --- one field -----------------------------------------------------------------------------------------------

    def _drawn(
        self, members: Sequence[FieldSpec], sizes: Sizes, rng: np.random.Generator, offsets: dict[str, Tensor]
    ) -> Held:
        try:
            if members[0].key in self._places:
                return self._tensor(members, sizes, rng, offsets)
            rules = rules_of(members)
            live = self._live(members[0])
            return column([python_value(live, rules, rng) for _ in range(self.rows)])
        except Unmeetable as error:
            raise refusal(self._name, members, error) from None

    def _live(self, field: FieldSpec) -> object:
        return self._types[field.key][self._chosen.places[field.key]]

    def _tensor(
        self, members: Sequence[FieldSpec], sizes: Sizes, rng: np.random.Generator, offsets: dict[str, Tensor]
    ) -> Tensor:
        field = members[0]
        place, rules, dtype = self._places[field.key], rules_of(members), self._dtype(members)
        shape = list(self._inner[field.key])
        if place.ragged is None:
            value = numbers.tensor(rules, dtype, (self.rows, *shape), rng)
            return self._with_padding(field, place, value, sizes)
        axis, text = place.ragged - 1, place.dims[place.ragged].text
        if text not in offsets:
            expression = place.dims[place.ragged].as_expression()
            lengths = np.zeros(0) if expression is None else sizes.row_sizes(expression)
            offsets[text] = jagged.offsets_of_lengths(torch.as_tensor(lengths, dtype=torch.int64))
        shape[axis] = int(offsets[text][-1])
        return jagged.build(numbers.tensor(rules, dtype, tuple(shape), rng), offsets[text], axis)

    def _dtype(self, members: Sequence[FieldSpec]) -> torch.dtype:
        lists = [place.dtypes for field in members if (place := field.place("tensor")) is not None and place.dtypes]
        names = tuple(name for name in lists[0] if all(name in other for other in lists)) if lists else ()
        if lists and not names:
            raise Unmeetable(f"twins share no dtype: {' and '.join(', '.join(each) for each in lists)}")
        if self._asked.manner.bfloat16 and torch.bfloat16 in torch_dtypes(names):
            return torch.bfloat16
        return one_dtype(names)

    def _with_padding(self, field: FieldSpec, place: TensorPlace, value: Tensor, sizes: Sizes) -> Tensor:
        """The field with the value of its `Pad` where its rows are padding; a mask is 1 everywhere else."""
        declared = self._policies.get(field.key)
        pad = None if declared is None else declared.pad
        if pad is None or not sizes.real:
            return value
        many = next((at for at, dim in enumerate(place.dims) if dim.kind == "many"), len(place.dims))
        real = torch.ones((self.rows, *[1] * (value.dim() - 1)), dtype=torch.bool)
        for at, dim in enumerate(place.dims):
            segments = segments_of(dim)
            if at and segments is not None and not sizes.real.keys().isdisjoint(segments):
                axis = at if at < many else value.dim() - len(place.dims) + at
                along = torch.from_numpy(_real_part(segments, pad, sizes))
                shape = [self.rows, *[1] * (axis - 1), value.shape[axis], *[1] * (value.dim() - axis - 1)]
                real = real & along.reshape(shape)
        mask = any(rule.kind == "binary" for rule in field.rules)
        padding = torch.as_tensor(pad.value, dtype=value.dtype)
        return torch.where(real, torch.ones_like(value) if mask else value, padding)

    def _inner_shape(self, key: str, place: TensorPlace) -> tuple[int, ...]:
        """The sizes of the axes behind the batch axis; 0 stands for the ragged one."""
        shape: list[int] = []
        for at, dim in enumerate(place.dims[1:], start=1):
            expression = dim.as_expression()
            if at == place.ragged:
                shape.append(0)
            elif expression is not None:
                shape.append(self._sizes.size(expression))
            elif dim.kind == "many":
                rng = self._dice.of(f"axes of {key if dim.name is None else dim.text}")
                drawn = tuple(int(size) for size in rng.integers(1, 4, rng.integers(2)))
                shape += self._sizes.many.get(dim.name or "", drawn)
            else:
                shape.append(int(self._dice.of(f"axis {at} of {key}").integers(1, 4)))
        return tuple(shape)

    # --- which row is which --------------------------------------------------------------------------------------

    def _draw_names(self) -> dict[str, Held]:
        """The keys, which differ from row to row, and the groups, which some rows share."""
        found: dict[str, Held] = {}
        keys = [members for members in self.twins if any(field.role == "key" for field in members)]
        drawn = [members for members in keys if members[0].key not in self._given]
        if drawn:
            given = [list(_cells(self._given[m[0].key])) for m in keys if m[0].key in self._given]
            rngs = [self._dice.of(members[0].key) for members in drawn]
            rows = self._distinct(
                lambda row: (*(cells[row] for cells in given), *map(self._cell, drawn, rngs)), self.rows, drawn[0]
            )
            for at, members in enumerate(drawn, start=len(given)):
                found[members[0].key] = self._of_cells(members, [row[at] for row in rows])
        for members in self.twins:
            if members[0].key not in self._given and any(field.role == "group" for field in members):
                rng, groups = self._dice.of(members[0].key), -(-self.rows // _IN_A_GROUP)
                cells = [self._cell(members, rng) for _ in range(groups)]
                found[members[0].key] = self._of_cells(members, [cells[row // _IN_A_GROUP] for row in range(self.rows)])
        return found

    def _distinct(
        self, draw: Callable[[int], tuple[Hashable, ...]], rows: int, members: Sequence[FieldSpec]
    ) -> list[tuple[Hashable, ...]]:
        found: list[tuple[Hashable, ...]] = []
        seen: set[tuple[Hashable, ...]] = set()
        for row in range(rows):
            drawn = next((each for _ in range(_TRIES_FOR_A_KEY) if (each := draw(row)) not in seen), None)
            if drawn is None:
                raise refusal(self._name, members, Unmeetable(f"no {rows} rows have different keys"))
            seen.add(drawn)
            found.append(drawn)
        return found

    def _cell(self, members: Sequence[FieldSpec], rng: np.random.Generator) -> Any:
        rules, many = rules_of(members), max(100, 4 * self.rows)
        try:
            if members[0].key in self._places:
                return numbers.tensor(rules, self._dtype(members), (1,), rng, many).tolist()[0]
            return python_value(self._live(members[0]), rules, rng, many)
        except Unmeetable as error:
            raise refusal(self._name, members, error) from None

    def _of_cells(self, members: Sequence[FieldSpec], cells: Sequence[object]) -> Held:
        if members[0].key in self._places:
            return torch.tensor(cells, dtype=self._dtype(members))
        return column(cells)

    # --- what is known before ------------------------------------------------------------------------------------

    def _given_values(self) -> dict[str, Held]:
        """The fields that are given as a whole, and those that are twins of one."""
        found: dict[str, Held] = {}
        for members in self.twins:
            given = [
                (field.key, self._asked.overrides.whole[field.key])
                for field in members
                if field.key in self._asked.overrides.whole
            ]
            if not given:
                continue
            values = [column(value) if isinstance(value, list) else value for _, value in given]
            wrong = next((value for value in values if not isinstance(value, (Tensor, np.ndarray))), None)
            if wrong is not None:
                error = Unmeetable(f"it is given as a {type(wrong).__name__}")
                raise refusal(self._name, members, error, "a tensor, or a list or an array with one object per row")
            if any(not equal(values[0], value) for value in values[1:]):
                words = " and ".join(key for key, _ in given)
                raise refusal(
                    self._name, members, Unmeetable(f"{words} are given, and differ"), "twins have the same values"
                )
            own = dict(zip((key for key, _ in given), values, strict=True))
            for field in members:
                value: Any = own.get(field.key, values[0])
                found[field.key] = value if field.key in own else copied(value)
        return found

    def _padded_dims(self) -> list[str]:
        """The dims in which a mask says what is padding."""
        masks = [
            place
            for field in self._chosen.fields
            if (place := self._places.get(field.key)) is not None and place.ragged is None
            if field.pad is not None and any(rule.kind == "binary" for rule in field.rules)
        ]
        dims = [dim for place in masks for dim in place.dims[1:]]
        return list(dict.fromkeys(name for dim in dims for name in segments_of(dim) or () if not name.isdecimal()))


def copied(value: Held) -> Held:
    """The same values once more; a jagged tensor keeps its offsets."""
    return value.clone() if isinstance(value, Tensor) else value.copy()


def _real_part(segments: Sequence[str], pad: Pad, sizes: Sizes) -> np.ndarray:
    """Which places of an axis are no padding, `[rows, size]`: each of its dims is padded on its own side."""
    parts = []
    for name in segments:
        size = int(name) if name.isdecimal() else sizes.dims[name]
        real = sizes.real.get(name, np.full(sizes.rows, size))[:, None]
        at = np.arange(size)[None]
        parts.append(at >= size - real if pad.side_of(name) == "left" else at < real)
    return np.concatenate(parts, axis=1)


def _cells(value: Held) -> list[object]:
    return list(value.tolist())
