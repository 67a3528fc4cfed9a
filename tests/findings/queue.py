"""verl's queue as a dict, for code that runs in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tensordict import NonTensorStack, TensorDict


class DictQueue:
    """Rows under keys, with the functions of `transfer_queue` that verl's trainer calls.

    As in TransferQueue, tensors come back as jagged columns, and a column that not all of the rows hold is left out.

    Attributes:
        rows: the row of each key.
        tags: the tags of each key.
        fetched: the columns that were asked for, one list for each fetch.
    """

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, dict[str, Any]] = {}
        self.fetched: list[list[str] | None] = []

    def kv_batch_put(
        self,
        keys: list[str],
        partition_id: str,
        fields: TensorDict | None = None,
        tags: Sequence[dict[str, Any]] | None = None,
    ) -> Any:
        from transfer_queue import KVBatchMeta

        for at, key in enumerate(keys):
            row = self.rows.setdefault(key, {})
            if fields is not None:
                row.update({name: _cell(fields.get(name), at) for name in fields.keys()})
            self.tags.setdefault(key, {}).update({} if tags is None else tags[at])
        return KVBatchMeta(
            keys=list(keys), tags=[self.tags[key] for key in keys], partition_id=partition_id, fields=self.columns(keys)
        )

    def kv_batch_get(self, keys: list[str], partition_id: str, select_fields: list[str] | None = None) -> TensorDict:
        self.fetched.append(None if select_fields is None else list(select_fields))
        names = [name for name in self.columns(keys) if select_fields is None or name in select_fields]
        return TensorDict({name: _column([self.rows[key][name] for key in keys]) for name in names}, [len(keys)])

    def columns(self, keys: list[str]) -> list[str]:
        """The columns that all of these rows hold."""
        return sorted(set.intersection(*(set(self.rows[key]) for key in keys)))


def _cell(column: Any, at: int) -> Any:
    cell = column[at] if isinstance(column, torch.Tensor) else column[at].data
    return cell.clone() if isinstance(cell, torch.Tensor) else cell


def _column(cells: list[Any]) -> Any:
    if not all(isinstance(cell, torch.Tensor) for cell in cells):
        return NonTensorStack(*cells)
    if cells[0].dim() == 0:
        return torch.stack(cells)
    return torch.nested.as_nested_tensor(cells, layout=torch.jagged)
