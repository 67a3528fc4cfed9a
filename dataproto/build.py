"""Making a `DataProto` out of dicts and parts, and the rules that hold for every one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.columns import as_column
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import items, store
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import STORE_NAMES, describe, describe_in_store
from batchpact.schemas.errors import MissingFieldError
from batchpact.schemas.names import closest
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.dataproto.container import DataProto

Keys = Sequence[str] | None


def from_dicts(
    tensors: Mapping[str, Any], non_tensors: Mapping[str, Any], num_batch_dims: int
) -> tuple[TensorDict | None, dict[str, Column]]:
    """The stores of a batch; the given dicts are not changed.

    Raises:
        BatchError: for a value of the wrong kind, or tensors that do not share their leading axes.
    """
    if num_batch_dims < 1 or (num_batch_dims > 1 and non_tensors):
        raise refuse("from_dict", "BP045", "num_batch_dims", str(num_batch_dims), "1 or more, and 1 beside columns")
    sizes: dict[tuple[int, ...], list[str]] = {}
    for key, value in tensors.items():
        if not isinstance(value, (torch.Tensor, TensorDictBase)):
            expected = "tensors holds tensors alone; torch.as_tensor(x) makes one, a column goes into non_tensors"
            raise refuse("from_dict", "BP045", key, describe(value), expected)
        if value.dim() < num_batch_dims:
            raise refuse("from_dict", "BP045", key, describe(value), f"{num_batch_dims} leading batch axes")
        sizes.setdefault(_leading(value, num_batch_dims), []).append(key)
    if len(sizes) > 1:
        listed = ", ".join(f"{list(size)} in {join_names(keys)}" for size, keys in sizes.items())
        raise refuse("from_dict", "BP016", "batch", listed, "all tensors share their batch axes")
    columns = {key: as_column("from_dict", key, value) for key, value in non_tensors.items()}
    return (store(tensors, next(iter(sizes))) if sizes else None), columns


def _leading(value: torch.Tensor | TensorDictBase, axes: int) -> tuple[int, ...]:
    """The sizes of the leading axes; a strided nested tensor has no shape beyond its rows."""
    if isinstance(value, torch.Tensor):
        return (torch.Tensor.size(value, 0),) if axes == 1 else tuple(value.shape[:axes])
    return tuple(value.batch_size[:axes])


def sort_fields(
    data: Mapping[str, Any], schema: type[BatchSchema] | None
) -> tuple[dict[str, torch.Tensor], dict[str, Any], dict[str, Any]]:
    """Sort one dict into tensors, columns and meta: by declaration where there is one, else by kind of value."""
    tensors: dict[str, torch.Tensor] = {}
    columns: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    for key, value in data.items():
        declared = None if schema is None else schema.__batchpact__.spec.field(key)
        places = [] if declared is None else [place.placement for place in declared.places]
        if isinstance(value, torch.Tensor):
            tensors[key] = value
        elif "meta" in places and not ("non_tensor" in places and isinstance(value, (np.ndarray, list, tuple))):
            meta[key] = value
        elif isinstance(value, np.ndarray) or "non_tensor" in places:
            columns[key] = value
        else:
            expected = "a tensor, a numpy column, or a field that the schema places"
            hint = "torch.tensor(x) makes a tensor, column(x) a column; one value for the batch goes into meta_info"
            raise refuse("from_single_dict", "BP045", key, describe(value), expected, hint)
    return tensors, columns, meta


def check_stores(
    operation: str, batch: TensorDictBase | None, columns: Mapping[str, Column], meta: Mapping[str, Any]
) -> None:
    """What holds for every batch: columns are arrays with as many rows as the tensors, and a name has one place.

    Raises:
        BatchError: naming every field that breaks this.
    """
    names: Any = ()
    rows: int | None = None
    if batch is not None:
        if not isinstance(batch, TensorDictBase):
            raise refuse(operation, "BP045", "batch", describe(batch), "a TensorDict; from_dict makes one of a dict")
        if not batch.batch_size:
            raise refuse(
                operation, "BP045", "batch", "a TensorDict without a batch axis", "batch_size has the rows first"
            )
        names = batch.keys()
        if columns and len(names):
            rows = batch.batch_size[0]
    healthy = True
    for value in columns.values():
        if not isinstance(value, np.ndarray) or not value.ndim or (rows is not None and len(value) != rows):
            healthy = False
            break
        rows = len(value)
    if healthy and set(columns).isdisjoint(meta) and (not names or not _shared(names, columns, meta)):
        return
    raise refuse_all(operation, list(_wrong_stores(batch, columns, meta)))


def _shared(names: Any, columns: Mapping[str, Any], meta: Mapping[str, Any]) -> bool:
    held = set(names)
    return not (held.isdisjoint(columns) and held.isdisjoint(meta))


def _wrong_stores(batch: TensorDictBase | None, columns: Mapping[str, Any], meta: Mapping[str, Any]) -> list[Violation]:
    found = []
    tensors = items(batch)
    for key, value in columns.items():
        if not isinstance(value, np.ndarray) or not value.ndim:
            expected = "a column is a numpy array with one value per row"
            hint = "batchpact.dataproto.column(values) makes one"
            found.append(Violation(code="BP045", field=key, actual=describe(value), expected=expected, hint=hint))
    lengths: dict[int, list[str]] = {}
    if tensors and batch is not None:
        lengths[batch.batch_size[0]] = ["the tensors"]
    for key, value in columns.items():
        if isinstance(value, np.ndarray) and value.ndim:
            lengths.setdefault(len(value), []).append(key)
    if len(lengths) > 1:
        listed = ", ".join(f"{count(size, 'row')} in {join_names(keys)}" for size, keys in lengths.items())
        found.append(
            Violation(code="BP016", field="batch", actual=listed, expected="one number of rows in both stores")
        )
    for key in dict.fromkeys((*tensors, *columns, *meta)):
        places = [place for place, held in Stores(tensors, columns, meta).by_placement() if key in held]
        if len(places) > 1:
            actual = f"in {' and in '.join(STORE_NAMES[place] for place in places)}"
            found.append(Violation(code="BP045", field=key, actual=actual, expected="one place for one name"))
    return found


def choose(operation: str, stores: Stores, keys: tuple[Keys, Keys, Keys]) -> Stores:
    """The fields of these names; None takes all of a store.

    Raises:
        MissingFieldError: with every name that is not there and the closest one, in all stores.
    """
    chosen: list[dict[str, object]] = []
    missing: list[Violation] = []
    for (placement, held), wanted in zip(stores.by_placement(), keys, strict=False):
        names = list(held) if wanted is None else [wanted] if isinstance(wanted, str) else list(wanted)
        for name in names:
            if name not in held:
                missing.append(_missing(name, STORE_NAMES[placement], held, stores))
        chosen.append({name: held[name] for name in names if name in held})
    if missing:
        raise MissingFieldError(f"in DataProto.{operation}; nothing was changed", missing)
    return Stores(*chosen)


def _missing(name: str, where: str, held: Mapping[str, object], stores: Stores) -> Violation:
    elsewhere = stores.find(name)
    if elsewhere is not None:
        hint = f"the batch has {describe_in_store(elsewhere[1], elsewhere[0])}"
    else:
        match = closest(name, held) or closest(name, stores.names())
        hint = "" if match is None else f"closest name: '{match}'"
    return Violation(code="BP046", field=name, actual=f"not in {where}", expected=hint)


def check_new_names(old: Sequence[str], new: Sequence[str], stores: Stores) -> None:
    """New names are as many as old ones, different, and free."""
    if not len(old) == len(set(old)) == len(new) == len(set(new)):
        actual = f"{count(len(set(old)), 'old key')}, {count(len(set(new)), 'new key')}"
        raise refuse("rename", "BP046", "new_keys", actual, "one new name for each old one")
    taken = [name for name in new if name not in old and stores.find(name) is not None]
    if taken:
        raise refuse("rename", "BP045", taken[0], "the name is taken", "one place for one name")


def columns_of(stores: Stores) -> dict[str, Column]:
    """The columns of stores that are known to hold arrays there."""
    return dict(cast("Mapping[str, Column]", stores.columns))


def deep_copies(
    columns: Mapping[str, Column], meta: Mapping[str, object]
) -> tuple[dict[str, Column], dict[str, object]]:
    """Copies of columns with their cells, and of meta."""
    return {key: deepcopy(value) for key, value in columns.items()}, deepcopy(dict(meta))


def joined(parts: Sequence[DataProto], stores: Stores) -> DataProto:
    """The batch of a concat, with what the parts carry unseen."""
    filled = [part for part in parts if part._row_count() is not None]
    first = (filled or parts)[0]
    rows = sum(len(part) for part in filled or parts)
    batch = None
    if stores.tensors or first.batch is not None:
        tail = () if first.batch is None else tuple(first.batch.batch_size[1:])
        batch = first._tensor_store(dict(stores.tensors), (rows, *tail))
    made = first._derive(batch, columns_of(stores), dict(stores.meta))
    made._writers = {key: stage for part in reversed(parts) for key, stage in part._writers.items()}
    made._rewrites = frozenset().union(*(part._rewrites for part in parts))
    made._bound = next((part._bound for part in parts if part._bound is not None), None)
    if filled and all(part._origin is not None for part in filled):
        made._origin = np.concatenate([part._origin for part in filled if part._origin is not None])
    if any(part._pads is not None for part in filled):
        marks = [np.zeros(len(part), dtype=bool) if part._pads is None else part._pads for part in filled]
        made._pads = np.concatenate(marks)
    return made


def other_rows(row: int, mine: np.ndarray, theirs: np.ndarray) -> Violation:
    """Two sides of a union whose rows come from different rows of a stage's input."""
    return Violation(
        code="BP016",
        field="batch",
        actual=f"row {row} is input row {mine[row]} on the left and input row {theirs[row]} on the right",
        expected="a union joins fields of the same rows",
        hint="one side was reordered or selected; do the same to the other",
    )


def brief(rows: int, stores: Stores) -> str:
    """A batch in a few lines: every field with what it is."""
    lines = [f"DataProto({count(rows, 'row')}"]
    for placement, held in stores.by_placement():
        if placement != "arg":
            fields = ", ".join(f"{key}: {describe(value)}" for key, value in held.items())
            lines.append(f"  {STORE_NAMES[placement]}: {fields or '-'}")
    return "\n".join(lines) + ")"
