"""Making a batch of single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch

from batchpact.dataproto.binding import Bound, bound
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.kinds import OBJECTS, from_cells
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.row_operations import DataProtoItem
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.tensors import Value, items, of_rows, store
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import describe
from batchpact.schemas.text import join_names, listed_rows
from batchpact.schemas.violations import Violation


def collate_fn(x: Sequence[DataProtoItem], *, schema: type[BatchSchema] | None = None) -> DataProto:
    """Make a batch of rows, as a `DataLoader`'s `collate_fn`.

    Rows that were taken out of batches become fields of the kind they came from: numeric columns, nested tensors. The
    cells of other rows become object columns. The meta of the rows is left out, as in verl.

    Args:
        x: one row or more, all with the same fields.
        schema: where given, it is bound to the result; optional fields with a `Fill` may be missing in some rows.

    Raises:
        BatchError: naming every field that a row lacks, and every tensor whose rows do not fit together.
        ContractError: if the result does not keep to the schema.
    """
    rows = list(x)
    if not rows:
        raise refuse("collate_fn", "BP042", "x", "no rows", "at least one")
    keeps_to = None if schema is None else bound(schema, {})
    policies = {} if keeps_to is None else keeps_to.named_by([{}]).policies
    optional = {key for key, declared in policies.items() if declared.fill is not None}
    tensors = [_without(items(row.batch), optional) for row in rows]
    cells = [_without(row.non_tensor_batch, optional) for row in rows]
    wrong = [*lacking(tensors, "batch of "), *lacking(cells, "non_tensor_batch of ")]
    if wrong:
        raise refuse_all("collate_fn", wrong)
    return _stacked(rows) if keeps_to is None else _filled(rows, optional, keeps_to)


def _filled(rows: list[DataProtoItem], optional: set[str], keeps_to: Bound) -> DataProto:
    """A batch of rows that may lack optional fields: rows with the same ones make a part of a concat, which fills."""
    kinds: dict[frozenset[str], list[int]] = {}
    for at, row in enumerate(rows):
        kinds.setdefault(frozenset(optional & {*items(row.batch), *row.non_tensor_batch}), []).append(at)
    parts = [_stacked([rows[at] for at in chosen]) for chosen in kinds.values()]
    for part in parts:
        part._bound = keeps_to
    joined = DataProto.concat(parts)
    order = np.argsort(np.concatenate([np.array(chosen) for chosen in kinds.values()]))
    return joined._take(Rows(index=order)).bind(keeps_to.schema)


def _stacked(rows: list[DataProtoItem]) -> DataProto:
    """A batch of rows that have the same fields."""
    tensors = [items(row.batch) for row in rows]
    cells = [row.non_tensor_batch for row in rows]
    wrong: list[Violation] = []
    stacked: dict[str, Value] = {}
    for key in tensors[0]:
        values = [row[key] for row in tensors]
        axes = {getattr(row, "_ragged", {}).get(key) for row in rows}
        axis = axes.pop() if len(axes) == 1 else None
        if axis is not None:
            stacked[key] = of_rows(cast("list[torch.Tensor]", values), axis)
        elif len({describe(value) for value in values}) > 1:
            kinds = join_names(list(dict.fromkeys(describe(value) for value in values)))
            hint = "rows that are taken out of a jagged tensor may differ in length"
            wrong.append(
                Violation(
                    code="BP042",
                    field=key,
                    placement="tensor",
                    actual=kinds,
                    expected="rows of one dtype and shape",
                    hint=hint,
                )
            )
        else:
            stacked[key] = cast(Value, torch.stack(cast("list[torch.Tensor]", values)))
    if wrong:
        raise refuse_all("collate_fn", wrong)
    columns = {}
    for key in cells[0]:
        kinds_of = {getattr(row, "_kinds", {}).get(key, OBJECTS) for row in rows}
        columns[key] = from_cells([row[key] for row in cells], kinds_of.pop() if len(kinds_of) == 1 else OBJECTS)
    batch = None if rows[0].batch is None else store(stacked, (len(rows),), rows[0].batch.device)
    return DataProto(batch, columns)


def _without(fields: Mapping[str, Any], optional: set[str]) -> Mapping[str, Any]:
    return {key: value for key, value in fields.items() if key not in optional} if optional else fields


def lacking(rows: Sequence[Mapping[str, Any]], where: str = "") -> list[Violation]:
    """The fields that only some of the rows have; `where` in a row that is."""
    found = []
    for key in dict.fromkeys(key for row in rows for key in row):
        without = [at for at, row in enumerate(rows) if key not in row]
        if without:
            found.append(
                Violation(
                    code="BP042",
                    field=key,
                    actual=f"not in {where}{listed_rows(without)}",
                    expected="every row has the same fields",
                )
            )
    return found
