"""Making a `TensorDict`: of dicts, of rows, and of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from tensordict import NonTensorData, TensorDict, TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.build import check_stores, from_dicts
from batchpact.dataproto.collate import lacking
from batchpact.dataproto.columns import column
from batchpact.dataproto.entries import ColumnEntry, check_names, from_entries, is_column, tensordict_of, unstack
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensordicts.given import check
from batchpact.dataproto.tensordicts.nested_tensors import misfits
from batchpact.dataproto.tensordicts.non_tensors import meta_value
from batchpact.dataproto.tensors import Value
from batchpact.dataproto.withheld import knowing
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.text import listed_rows
from batchpact.schemas.violations import Violation


def get_tensordict(
    tensor_dict: Mapping[str, Any] | TensorDictBase, non_tensor_dict: Mapping[str, Any] | None = None
) -> TensorDict:
    """Make a `TensorDict` of dicts, which are left as they are.

    Args:
        tensor_dict: tensors and columns by name, `[batch, ...]`; a list, an array or a `NonTensorStack` is a column,
            whatever its values are.
        non_tensor_dict: meta by name.

    Returns:
        A `TensorDict` of batch size `[batch]`, or `[]` where there is meta alone.

    Raises:
        BatchError: naming every field that is in the wrong dict or has other rows than the rest.
    """
    function = "tensordicts.get_tensordict"
    tensors: dict[str, Value] = {}
    columns: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    for key, value in tensor_dict.items():
        if is_column(value):
            columns[key] = unstack(cast(ColumnEntry, value))
        elif isinstance(value, NonTensorData) and isinstance(tensor_dict, TensorDictBase):
            meta[key] = value.data
        elif isinstance(value, (Tensor, TensorDictBase)):
            tensors[key] = value
        elif isinstance(value, (list, tuple, np.ndarray)):
            _check_cells(function, key, value)
            columns[key] = value
        else:
            expected = "a tensor, or a list or an array with one value per row"
            hint = "one value for the batch goes into non_tensor_dict"
            raise refuse(function, "BP045", key, describe(value), expected, hint)
    given = {key: meta_value(function, key, value) for key, value in (non_tensor_dict or {}).items()}
    twice = [key for key in given if key in meta]
    if twice:
        raise refuse(function, "BP045", twice[0], "in both dicts", "one place for one name")
    meta.update(given)
    check_names(function, Stores(tensors, columns, meta))
    batch, made = from_dicts(tensors, columns, 1, function)
    check_stores(function, batch, made, meta)
    size = batch.batch_size if batch is not None else torch.Size([len(cells) for cells in made.values()][:1])
    return tensordict_of(Stores(tensors, made, meta), size)


def list_of_dict_to_tensordict(list_of_dicts: Sequence[Mapping[str, Any]]) -> TensorDict:
    """Make a `TensorDict` of rows.

    A field of tensors becomes a dense tensor where its rows have one shape, and a jagged one where they differ in one
    axis; every other field becomes a column.

    Args:
        list_of_dicts: one row or more, all with the same fields.

    Raises:
        BatchError: naming every field that a row lacks, and every one whose rows do not fit together.
    """
    function = "tensordicts.list_of_dict_to_tensordict"
    rows = list(list_of_dicts)
    if not rows:
        raise refuse(function, "BP042", "list_of_dicts", "no rows", "at least one")
    wrong = lacking(rows)
    if wrong:
        raise refuse_all(function, wrong)
    tensors: dict[str, Tensor] = {}
    columns: dict[str, Column] = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        others = [at for at, value in enumerate(values) if not isinstance(value, Tensor)]
        if len(others) == len(values):
            columns[key] = column(values)
        elif others:
            wrong.append(_mixed(key, values, others))
        else:
            axis = _ragged_axis(values)
            misfit = misfits(key, values, axis)
            wrong += misfit
            if not misfit:
                tensors[key] = torch.stack(values) if axis is None else nested.of_rows(values, axis)
    fields = Stores(tensors, columns, {})
    if wrong:
        raise refuse_all(function, wrong)
    check_names(function, fields)
    return tensordict_of(fields, torch.Size([len(rows)]))


def contiguous(data: TensorDictBase) -> TensorDict:
    """A `TensorDict` of the same fields whose tensors lie in memory without gaps; those that do are not copied.

    Args:
        data: it stays as it is.
    """
    check("tensordicts.contiguous", data)
    fields = from_entries(data)
    tensors = {key: _contiguous(cast(Value, value)) for key, value in fields.tensors.items()}
    return knowing(data, tensordict_of(fields._replace(tensors=tensors), data.batch_size, data.device))


def _contiguous(value: Value) -> Value:
    if isinstance(value, Tensor) and is_jagged(value):
        values, offsets, axis = nested.parts(value)
        return nested.build(values.contiguous(), offsets, axis)
    made: Value = value.contiguous()
    return made


def _check_cells(function: str, key: str, cells: Sequence[object] | np.ndarray) -> None:
    """A list of tensors was hardly meant as a column, which no device and no operation on tensors would reach."""
    at = next((at for at, cell in enumerate(cells) if isinstance(cell, Tensor)), None)
    if at is not None:
        expected = "a tensor: torch.stack(rows), or nested_tensor_from_tensor_list(rows) if their lengths differ"
        raise refuse(function, "BP045", key, f"{describe(cells)} with a tensor in row {at}", expected)


def _mixed(key: str, values: Sequence[object], others: Sequence[int]) -> Violation:
    tensors = [at for at in range(len(values)) if at not in others]
    return Violation(
        code="BP042",
        field=key,
        actual=f"a tensor in {listed_rows(tensors)}, {describe(values[others[0]])} in {listed_rows(others)}",
        expected="a tensor in every row or in none",
    )


def _ragged_axis(rows: Sequence[Tensor]) -> int | None:
    """The one axis in which rows differ, counted with the rows as axis 0; None where there is none, or not one."""
    if len({row.dim() for row in rows}) > 1:
        return None
    differ = [at for at in range(rows[0].dim()) if len({row.shape[at] for row in rows}) > 1]
    return differ[0] + 1 if len(differ) == 1 else None
