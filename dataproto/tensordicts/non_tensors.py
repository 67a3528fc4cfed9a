"""Columns and meta: setting them, and looking at what stands behind an entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from tensordict import NonTensorData, NonTensorStack, TensorDictBase

from batchpact.dataproto.columns import as_column
from batchpact.dataproto.entries import ColumnEntry, check_names, is_column, put_entries, unstack
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensordicts.given import check, check_writable
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

T = TypeVar("T", bound=TensorDictBase)


def assign_non_tensor_data(tensor_dict: TensorDictBase, key: str, val: Any) -> None:
    """Set a meta value, in place: one value for the batch, whatever its kind and length.

    Args:
        tensor_dict: what is changed.
        key: the name.
        val: the value.

    Raises:
        BatchError: if the `TensorDict` is locked, or the value is a column.
    """
    _assign("tensordicts.assign_non_tensor_data", tensor_dict, {}, {key: val})


def assign_non_tensor_stack(tensor_dict: TensorDictBase, key: str, val: list[Any]) -> None:
    """Set a column, in place: one value per row, whatever the values are.

    Args:
        tensor_dict: what is changed.
        key: the name.
        val: the values.

    Raises:
        BatchError: if the `TensorDict` is locked, or there is not one value for each of its rows.
    """
    _assign("tensordicts.assign_non_tensor_stack", tensor_dict, {key: val}, {})


def assign_non_tensor(tensor_dict: T, **kwargs: Any) -> T:
    """Set columns and meta by keyword, in place: a list is a column, everything else is meta.

    Args:
        tensor_dict: what is changed.
        **kwargs: the values; `NonTensorData` makes a list meta, and a `NonTensorStack` is a column.

    Returns:
        The same `TensorDict`.

    Raises:
        BatchError: if the `TensorDict` is locked, or a column has not one value for each row; nothing is set then.
    """
    columns = {key: value for key, value in kwargs.items() if isinstance(value, list) or is_column(value)}
    meta = {key: value for key, value in kwargs.items() if key not in columns}
    _assign("tensordicts.assign_non_tensor", tensor_dict, columns, meta)
    return tensor_dict


def unwrap_non_tensor_data(data: Any) -> Any:
    """The value of `NonTensorData`; anything else as it is."""
    return data.data if isinstance(data, NonTensorData) and not is_column(data) else data


def get_non_tensor_data(data: TensorDictBase, key: str, default: Any) -> Any:
    """A meta value by name; a field that is no meta is returned as its entry.

    Args:
        data: what is looked at.
        key: the name.
        default: what is returned where the name is not there.
    """
    check("tensordicts.get_non_tensor_data", data)
    return unwrap_non_tensor_data(data.get(key, default))


def meta_value(function: str, key: str, value: object) -> object:
    """What somebody gave as a meta value, as one.

    Raises:
        BatchError: if it is a column.
    """
    if isinstance(value, NonTensorStack):
        raise refuse(function, "BP045", key, "a NonTensorStack, which is a column", "one value for the batch")
    return unwrap_non_tensor_data(value)


def _assign(function: str, batch: TensorDictBase, columns: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
    check_writable(function, batch)
    cells = {
        key: unstack(cast(ColumnEntry, value)) if is_column(value) else as_column(function, key, value)
        for key, value in columns.items()
    }
    fields = Stores({}, cells, {key: meta_value(function, key, value) for key, value in meta.items()})
    check_names(function, fields)
    rows = int(batch.batch_size[0]) if batch.batch_size else None
    wrong = [
        Violation(
            code="BP016",
            field=key,
            placement="non_tensor",
            actual=count(len(column), "value"),
            expected=f"one for each of {count(rows, 'row')}",
        )
        for key, column in cells.items()
        if rows is not None and len(column) != rows
    ]
    if wrong:
        raise refuse_all(function, wrong)
    put_entries(batch, fields)
