"""Operations on rows: all of them make an index plan and take it from every store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import torch
from tensordict import TensorDictBase
from typing_extensions import Self

from batchpact.dataproto import build, splitting
from batchpact.dataproto.auto_padding import padding_enabled
from batchpact.dataproto.core import Batch
from batchpact.dataproto.display import FIELDS_IN_TEXT, text
from batchpact.dataproto.facts import row_facts
from batchpact.dataproto.kinds import Kind, kind_of
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.row_marks import UNMARKED
from batchpact.dataproto.rows import RowLike, Rows, plan_rows, repeat_each, repeat_rows
from batchpact.dataproto.tensors import Value, cut, items, ragged_axes, take_all
from batchpact.schemas.stores import Stores


@dataclass
class DataProtoItem:
    """One row of a batch: tensors without their batch axis, one object per column, the meta."""

    batch: TensorDictBase | None = None
    non_tensor_batch: dict[str, Any] = field(default_factory=dict)
    meta_info: dict[str, Any] = field(default_factory=dict)

    # What the fields were in the batch, where a cell or a row does not say it itself.
    _kinds: dict[str, Kind] = field(default_factory=dict, init=False, repr=False, compare=False)
    _ragged: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        stores = self.batch, self.non_tensor_batch, self.meta_info
        return text(row_facts(type(self).__name__, *stores, most=FIELDS_IN_TEXT))


class RowOperations(Batch):
    """Indexing, slicing, repeating, reordering and cutting."""

    @overload
    def __getitem__(self, item: int | np.integer[Any]) -> DataProtoItem: ...
    @overload
    def __getitem__(self, item: RowLike) -> Self: ...
    def __getitem__(self, item: int | np.integer[Any] | RowLike) -> DataProtoItem | Self:
        """Rows of the batch: a `DataProtoItem` for an int, a `DataProto` for a slice, list, array, tensor or mask."""
        stores = self.consistent_stores()
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            row = int(item)
            if not -len(self) <= row < len(self):
                raise refuse("__getitem__", "BP044", "index", f"row {row}", f"the batch has {len(self)} rows")
            return self._row(row, stores)
        return self._choose("__getitem__", plan_rows("__getitem__", item, len(self)))

    def _row(self, row: int, stores: Stores) -> DataProtoItem:
        """One row, with what the fields were in the batch."""
        tensors = build.tensors_of(stores)
        batch = None
        if self.batch is not None:
            batch = self._tensor_store({key: value[row] for key, value in tensors.items()}, self.batch.batch_size[1:])
        columns = build.columns_of(stores)
        cells = self._known({key: column[row] for key, column in columns.items()})
        found = DataProtoItem(batch, cells, self._known(dict(stores.meta)))
        found._kinds = {key: kind_of(column) for key, column in columns.items() if column.dtype != object}
        found._ragged = ragged_axes(tensors)
        return found

    def select_idxs(self, idxs: RowLike) -> Self:
        """The rows of an index or a mask."""
        self.check_consistency()
        return self._choose("select_idxs", plan_rows("select_idxs", idxs, len(self)))

    def slice(self, start: int | None = None, end: int | None = None, step: int | None = None) -> Self:
        """The rows of a slice, as views where the step allows."""
        self.check_consistency()
        return self._take(plan_rows("slice", slice(start, end, step), len(self)))

    def repeat(self, repeat_times: int = 2, interleave: bool = True) -> Self:
        """Every row `repeat_times` times: in a run each, or with `interleave=False` the whole batch over and over."""
        self.check_consistency()
        splitting.check_count("repeat", "repeat_times", repeat_times)
        return self._choose("repeat", repeat_rows(len(self), repeat_times, interleave=interleave))

    def sample_level_repeat(self, repeat_times: Sequence[int] | np.ndarray | torch.Tensor) -> Self:
        """Every row in a run, as often as its own number says.

        Args:
            repeat_times: one number for each row; 0 leaves the row out.

        Raises:
            BatchError: if the numbers are not one for each row, or one is negative.
        """
        self.check_consistency()
        return self._choose("sample_level_repeat", repeat_each("sample_level_repeat", repeat_times, len(self)))

    def reorder(self, indices: RowLike) -> None:
        """Put the rows into another order, in place."""
        self.check_consistency()
        taken = self._choose("reorder", plan_rows("reorder", indices, len(self)))
        self.batch, self.non_tensor_batch = taken.batch, taken.non_tensor_batch
        self._marks = taken._marks

    def chunk(self, chunks: int, *, uneven: bool = False) -> list[Self]:
        """Cut the batch into `chunks` parts of equal length, as views.

        Args:
            chunks: how many parts.
            uneven: allow parts that differ by one row, the longer ones first; so does auto-padding.

        Raises:
            BatchError: if the rows cannot be shared equally and nothing allows unequal parts.
        """
        self.check_consistency()
        return self._cut(splitting.chunk_rows(len(self), chunks, uneven=uneven or padding_enabled(self.meta_info)))

    def split(self, split_size: int) -> list[Self]:
        """Cut the batch into parts of `split_size` rows, as views; the last part may be shorter."""
        self.check_consistency()
        return self._cut(splitting.split_rows(len(self), split_size))

    def _choose(self, operation: str, rows: Rows) -> Self:
        """Rows that somebody asks for; where the rows have a declared key, none may be there twice."""
        if self._bound is not None and rows.slice is None:
            keys = [field.key for field in self._bound.keys]
            times = np.bincount(rows.index(len(self)), minlength=len(self))
            if self._marks.pads is not None:
                times[self._marks.pads] = 0
            held = {*items(self.batch), *self.non_tensor_batch}
            if keys and held.issuperset(keys) and times.max(initial=0) > 1:
                actual = f"row {times.argmax()}, {times.max()} times"
                hint = "where rows may be copies of one another, the field is a Group()"
                raise refuse(operation, "BP023", ", ".join(keys), actual, "one row for one key", hint)
        return self._take(rows)

    def _take(self, rows: Rows) -> Self:
        """The one way in which rows leave a batch: one plan, applied to every store and to what is carried unseen."""
        return self._part(None if self.batch is None else take_all(items(self.batch), rows), rows)

    def _cut(self, parts: list[Rows]) -> list[Self]:
        """Consecutive parts that make up the whole, as views."""
        if self.batch is None:
            return [self._part(None, rows) for rows in parts]
        pieces = {key: cut(value, parts) for key, value in items(self.batch).items()}
        return [self._part({key: cuts[at] for key, cuts in pieces.items()}, rows) for at, rows in enumerate(parts)]

    def _part(self, tensors: dict[str, Value] | None, rows: Rows) -> Self:
        """A batch of these rows, from its tensors."""
        batch = None
        if tensors is not None and self.batch is not None:
            batch = self._tensor_store(tensors, (rows.count, *self.batch.batch_size[1:]))
        columns = {key: rows.of(column) for key, column in self.non_tensor_batch.items()}
        taken = self._derive(batch, columns, dict(self.meta_info))
        if self._marks is not UNMARKED:
            taken._marks = self._marks.take(rows)
        return taken

    def __iter__(self) -> Iterator[DataProtoItem]:
        return (self[row] for row in range(len(self)))
