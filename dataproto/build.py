"""Making a `DataProto` out of dicts, setting its fields, and the rules that hold for every one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.columns import as_column
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import Value, items, store
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.stores import Column, Stores, store_of
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation


def from_dicts(
    tensors: Mapping[str, Any], non_tensors: Mapping[str, Any], num_batch_dims: int, operation: str = "from_dict"
) -> tuple[TensorDict | None, dict[str, Column]]:
    """The stores of a batch; the given dicts are not changed.

    Raises:
        BatchError: for a value of the wrong kind, or tensors that do not share their batch axis.
    """
    if num_batch_dims != 1:
        raise refuse(operation, "BP045", "num_batch_dims", str(num_batch_dims), "1: a batch has one batch axis")
    columns = {key: as_column(operation, key, value) for key, value in non_tensors.items()}
    if all(type(value) is torch.Tensor and value.ndim for value in tensors.values()):
        rows = {value.size(0) for value in tensors.values()}
        if len(rows) == 1:  # the common case, told without any words
            return store(tensors, (rows.pop(),)), columns
    sizes: dict[int, list[str]] = {}
    for key, value in tensors.items():
        if not isinstance(value, (torch.Tensor, TensorDictBase)):
            expected = "tensors holds tensors alone; torch.as_tensor(x) makes one, a column goes into non_tensors"
            raise refuse(operation, "BP045", key, describe(value), expected)
        if not value.dim():
            raise refuse(operation, "BP045", key, describe(value), "a batch axis")
        sizes.setdefault(leading_sizes(value, 1)[0], []).append(key)
    if len(sizes) > 1:
        listed = ", ".join(f"{count(size, 'row')} in {join_names(keys)}" for size, keys in sizes.items())
        raise refuse(operation, "BP016", "batch", listed, "all tensors share their batch axis")
    return (store(tensors, (next(iter(sizes)),)) if sizes else None), columns


def leading_sizes(value: torch.Tensor | TensorDictBase, axes: int) -> tuple[int, ...]:
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
        places = [] if declared is None else [store_of(p.placement) for p in declared.places]
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
) -> Stores:
    """What holds for every batch: columns are arrays with as many rows as the tensors, and a name has one place.

    Returns:
        The stores as plain mappings.

    Raises:
        BatchError: naming every field that breaks this.
    """
    held: dict[str, Value] = {}
    rows: int | None = None
    if batch is not None:
        if not isinstance(batch, TensorDictBase):
            raise refuse(operation, "BP045", "batch", describe(batch), "a TensorDict; from_dict makes one of a dict")
        size = batch.batch_size
        if not size:
            raise refuse(
                operation, "BP045", "batch", "a TensorDict without a batch axis", "batch_size has the rows first"
            )
        held = items(batch)
        if columns and held:
            rows = size[0]
    healthy = True
    for value in columns.values():
        if not isinstance(value, np.ndarray) or not value.ndim or (rows is not None and len(value) != rows):
            healthy = False
            break
        rows = len(value)
    # Iterating over the names asks none of the stores for one, which would be a look at what was withheld.
    apart = held.keys().isdisjoint(columns) and held.keys().isdisjoint(meta)
    if healthy and apart and (not meta or set(columns).isdisjoint(meta)):
        return Stores(held, columns, meta)
    raise refuse_all(operation, list(_wrong_stores(batch, columns, meta)))


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


def tensors_of(stores: Stores) -> dict[str, Value]:
    """The tensors of stores that are known to hold tensors there."""
    return dict(cast("Mapping[str, Value]", stores.tensors))


def columns_of(stores: Stores) -> dict[str, Column]:
    """The columns of stores that are known to hold arrays there."""
    return dict(cast("Mapping[str, Column]", stores.columns))


def own(chosen: Stores) -> tuple[dict[str, Value], dict[str, Column], dict[str, Any]]:
    """Stores that were just chosen out of a batch's, as another batch may keep them: their dicts are nobody else's."""
    return cast("tuple[dict[str, Value], dict[str, Column], dict[str, Any]]", chosen[:3])


class ThreeStores(Protocol):
    """What our `DataProto` and verl's have in common."""

    batch: TensorDict | None
    non_tensor_batch: dict[str, Column]
    meta_info: dict[str, Any]


Make: TypeAlias = "Callable[[dict[str, Value], Sequence[int]], TensorDict]"
"""Makes a tensor store for a batch."""


def unlock(batch: ThreeStores, make: Make) -> None:
    """Let a batch whose TensorDict is locked, and would refuse half-way, go on with one of its own."""
    if batch.batch is not None and batch.batch.is_locked:
        batch.batch = make(items(batch.batch), batch.batch.batch_size)


def put(
    batch: ThreeStores,
    fields: Stores,
    drops: Collection[str],
    make: Make,
) -> None:
    """Set fields that are known to fit and remove others; a field that changes its place leaves the old one.

    Args:
        batch: changed in place.
        fields: what is set.
        drops: names that are removed first, wherever they stand.
        make: makes a tensor store for this batch, where it needs one of its own.
    """
    unlock(batch, make)
    for key in drops:
        for held in (batch.batch, batch.non_tensor_batch, batch.meta_info):
            if held is not None and key in held.keys():
                held.pop(key)
    if fields.tensors and (batch.batch is None or not len(batch.batch.keys())):
        tensors = tensors_of(fields)
        batch.batch = make(tensors, leading_sizes(next(iter(tensors.values())), 1))
    elif batch.batch is not None:
        plain = {key: value for key, value in tensors_of(fields).items() if isinstance(value, torch.Tensor)}
        batch.batch.update(plain)
        for key, value in fields.tensors.items():
            if key not in plain:  # update() would merge a nested TensorDict with the one that it replaces
                batch.batch[key] = value
    batch.non_tensor_batch.update(columns_of(fields))
    batch.meta_info.update(fields.meta)
