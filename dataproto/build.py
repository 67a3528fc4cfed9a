"""Making a `DataProto` out of dicts and parts, and the rules that hold for every one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.columns import as_column
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import Value, items, store
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.dataproto.container import DataProto


def from_dicts(
    tensors: Mapping[str, Any], non_tensors: Mapping[str, Any], num_batch_dims: int, operation: str = "from_dict"
) -> tuple[TensorDict | None, dict[str, Column]]:
    """The stores of a batch; the given dicts are not changed.

    Raises:
        BatchError: for a value of the wrong kind, or tensors that do not share their leading axes.
    """
    if num_batch_dims < 1 or (num_batch_dims > 1 and non_tensors):
        raise refuse(operation, "BP045", "num_batch_dims", str(num_batch_dims), "1 or more, and 1 beside columns")
    sizes: dict[tuple[int, ...], list[str]] = {}
    for key, value in tensors.items():
        if not isinstance(value, (torch.Tensor, TensorDictBase)):
            expected = "tensors holds tensors alone; torch.as_tensor(x) makes one, a column goes into non_tensors"
            raise refuse(operation, "BP045", key, describe(value), expected)
        if value.dim() < num_batch_dims:
            raise refuse(operation, "BP045", key, describe(value), f"{num_batch_dims} leading batch axes")
        sizes.setdefault(leading_sizes(value, num_batch_dims), []).append(key)
    if len(sizes) > 1:
        listed = ", ".join(f"{list(size)} in {join_names(keys)}" for size, keys in sizes.items())
        raise refuse(operation, "BP016", "batch", listed, "all tensors share their batch axes")
    columns = {key: as_column(operation, key, value) for key, value in non_tensors.items()}
    return (store(tensors, next(iter(sizes))) if sizes else None), columns


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
    held: dict[str, Value] = {}
    rows: int | None = None
    if batch is not None:
        if not isinstance(batch, TensorDictBase):
            raise refuse(operation, "BP045", "batch", describe(batch), "a TensorDict; from_dict makes one of a dict")
        if not batch.batch_size:
            raise refuse(
                operation, "BP045", "batch", "a TensorDict without a batch axis", "batch_size has the rows first"
            )
        held = items(batch)
        if columns and held:
            rows = batch.batch_size[0]
    healthy = True
    for value in columns.values():
        if not isinstance(value, np.ndarray) or not value.ndim or (rows is not None and len(value) != rows):
            healthy = False
            break
        rows = len(value)
    # Iterating over the names asks none of the stores for one, which would be a look at what was withheld.
    if healthy and set(columns).isdisjoint(meta) and held.keys().isdisjoint((*columns, *meta)):
        return
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
