"""Single faults in a batch: what a stage, a carrier or a driver does to one field by mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas import FieldSpec
from batchpact.schemas import jagged as parts_of
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.stores import Stores, column

CAST = {torch.float32: torch.float64, torch.int64: torch.int32, torch.int32: torch.int64, torch.int16: torch.int64}


class Mutant(NamedTuple):
    """A batch with one fault."""

    kind: str
    field: FieldSpec
    stores: Stores


def mutants(fields: list[FieldSpec], stores: Stores) -> Iterator[Mutant]:
    """Every single fault of a batch; one that would change nothing is left out."""
    for field in fields:
        found = stores.find(field.key)
        if found is None or found[0] == "arg":
            continue
        placement, value = found
        yield Mutant("drop", field, without(stores, field.key))
        for moved in _moved(stores, field.key, value):
            yield Mutant("move", field, moved)
        for kind, change in _CHANGES.items():
            changed = change(value, placement)
            if changed is not None:
                yield Mutant(kind, field, put(stores, placement, field.key, changed))


def without(stores: Stores, key: str) -> Stores:
    taken = [{name: value for name, value in store.items() if name != key} for store in stores[:3]]
    return Stores(*taken, stores.args)


def put(stores: Stores, placement: str, key: str, value: object) -> Stores:
    name = {"tensor": "tensors", "non_tensor": "columns", "meta": "meta"}[placement]
    return stores._replace(**{name: {**getattr(stores, name), key: value}})


def _moved(stores: Stores, key: str, value: object) -> Iterator[Stores]:
    rest = without(stores, key)
    if isinstance(value, Tensor):
        yield put(rest, "non_tensor", key, column(list(value.unbind())))
        yield put(rest, "meta", key, value)
    elif isinstance(value, np.ndarray):
        yield put(rest, "meta", key, value.tolist())
        yield put(rest, "tensor", key, torch.zeros(len(value)))
    else:
        rows = len(next(iter((*rest.tensors.values(), *rest.columns.values())), ())) or 4
        yield put(rest, "non_tensor", key, column([value] * rows))
        yield put(rest, "tensor", key, torch.zeros(rows))


def _cast(value: Any, _: str) -> object:
    if isinstance(value, Tensor):
        to = CAST.get(value.dtype, torch.float32)
        return parts_of.like(value, value.values().to(to)) if is_jagged(value) else value.to(to)
    if isinstance(value, np.ndarray):
        return column([_other(cell) for cell in value])
    return _other(value)


def _other(value: object) -> object:
    return 7 if isinstance(value, (str, list)) else str(value)


def _transpose(value: Any, _: str) -> object:
    if not isinstance(value, Tensor) or value.dim() < (3 if is_jagged(value) else 2):
        return None
    turned = value.transpose(-2, -1)
    return None if turned.shape == value.shape else turned


def _squeeze(value: Any, _: str) -> object:
    if isinstance(value, np.ndarray):
        return value[0]
    if not isinstance(value, Tensor):
        return None
    return value.values() if is_jagged(value) else value[..., 0]


def _shorten(value: Any, _: str) -> object:
    if isinstance(value, np.ndarray):
        return value[:-1]
    if not isinstance(value, Tensor):
        return None
    if not is_jagged(value):
        return value[..., :-1]
    values, offsets, axis = parts_of.parts(value)
    if offsets[-1] == offsets[-2]:
        return None
    shorter = torch.cat([offsets[:-1], offsets[-1:] - 1])
    return parts_of.build(values.narrow(axis, 0, int(shorter[-1])), shorter, axis)


def _nan(value: Any, _: str) -> object:
    if isinstance(value, Tensor):
        if not value.dtype.is_floating_point:
            return None
        made = (value.values() if is_jagged(value) else value).clone()
        made.view(-1)[0] = torch.nan
        return parts_of.like(value, made) if is_jagged(value) else made
    if isinstance(value, np.ndarray):
        return column([float("nan"), *value[1:]]) if isinstance(value[0], float) else None
    return float("nan") if isinstance(value, float) else None


def _shuffle(value: Any, placement: str) -> object:
    """The rows of this field under the keys of others."""
    if placement == "meta" or not isinstance(value, (Tensor, np.ndarray)):
        return None
    if isinstance(value, np.ndarray):
        return np.roll(value, 1)
    if not is_jagged(value):
        return value.roll(1, 0)
    rows = list(value.unbind())
    return parts_of.of_rows([rows[-1], *rows[:-1]], parts_of.parts(value)[2] + 1)


_CHANGES: dict[str, Callable[[Any, str], object]] = {
    "cast": _cast,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "shorten": _shorten,
    "nan": _nan,
    "shuffle": _shuffle,
}
KINDS = ("drop", "move", *_CHANGES)
