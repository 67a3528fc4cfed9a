"""Pad rows: copies of rows that are marked, so that they are found again wherever operations have put them.

Where a bound schema declares `Pad`, pad rows hold its value instead of a copy: they are neutral in sums and means.
The marks travel unseen through every operation; stages that are not `pad_safe` refuse a batch that has any.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
import torch

from batchpact.dataproto import nested
from batchpact.dataproto.auto_padding import padding_enabled
from batchpact.dataproto.core import check_batch
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.row_marks import Mask, marked
from batchpact.dataproto.row_operations import RowOperations
from batchpact.dataproto.rows import Index, Rows
from batchpact.dataproto.splitting import check_count
from batchpact.dataproto.tensors import items
from batchpact.schemas.axes import is_dense, is_jagged
from batchpact.schemas.declared_values import misfit
from batchpact.schemas.policies import PadValue
from batchpact.schemas.stores import Column
from batchpact.schemas.text import count

B = TypeVar("B", bound=RowOperations)


class PaddingOperations(RowOperations):
    """Padding by rows of the batch itself, and asking for pad rows."""

    @property
    def pad_mask(self) -> Mask:
        """One boolean per row: whether it is padding. An array of its own."""
        return np.array(marked(self._marks.pads, len(self)))

    def is_padding_enabled(self) -> bool:
        """Whether auto-padding is on, for this batch or for all; `chunk` then allows parts that differ by a row."""
        return padding_enabled(self.meta_info)

    def padding(self, padding_size: int, padding_candidate: str = "") -> None:
        """Append copies of one row, in place, neutral where the bound schema says how; they are marked as padding.

        Args:
            padding_size: how many.
            padding_candidate: `"first"` for the first row; `"last"`, or nothing, for the last one.

        Raises:
            BatchError: if there is no row to copy, or an argument is none of these.
        """
        self.check_consistency()
        check_count("padding", "padding_size", padding_size, least=0)
        if padding_candidate not in ("", "first", "last"):
            raise refuse("padding", "BP043", "padding_candidate", repr(padding_candidate), "'first' or 'last'")
        if not padding_size:
            return
        if not len(self):
            raise refuse("padding", "BP043", "padding_size", "the batch has no row to copy", "at least one row")
        row = 0 if padding_candidate == "first" else len(self) - 1
        padded = _padded("padding", self, np.full(padding_size, row, dtype=np.int64))
        self.batch, self.non_tensor_batch = padded.batch, padded.non_tensor_batch
        self._marks = padded._marks


def pad_dataproto_to_divisor(data: B, size_divisor: int) -> tuple[B, int]:
    """Append copies of the rows, over and over from the first, until the length is a multiple of a number.

    The copies are marked as padding: `unpad_dataproto` finds them in whatever order the rows are then. Where a schema
    is bound, fields with a `Pad` hold its value in them; a row is as long as the one that it copies.

    Args:
        data: a batch of any length; it stays as it is. One without rows is a multiple already.
        size_divisor: what the length becomes a multiple of.

    Returns:
        The padded batch, with mappings and `meta_info` of its own, and the number of pad rows.

    Raises:
        BatchError: if the divisor is no whole number of 1 or more.
    """
    check_batch("pad_dataproto_to_divisor", data)
    check_count("pad_dataproto_to_divisor", "size_divisor", size_divisor)
    length = len(data)
    pad_size = -length % int(size_divisor)
    if not pad_size:
        return data._take(Rows.span(0, length)), 0
    return _padded("pad_dataproto_to_divisor", data, np.arange(pad_size, dtype=np.int64) % length), pad_size


def unpad_dataproto(data: B, pad_size: int) -> B:
    """Remove pad rows: those that are marked, wherever they are.

    A batch that was padded twice has more marked rows than `pad_size`; the last ones of them are removed. A batch that
    carries no marks at all (a worker made it anew) loses its last `pad_size` rows, as in verl.

    Args:
        data: the batch; it stays as it is.
        pad_size: how many rows to remove, as `pad_dataproto_to_divisor` told.

    Raises:
        BatchError: if fewer rows are marked, or there are, than are to be removed.
    """
    check_batch("unpad_dataproto", data)
    check_count("unpad_dataproto", "pad_size", pad_size, least=0)
    length = len(data)
    marks = data._marks.pads
    removed = np.arange(length)[length - min(pad_size, length) :]
    if marks is not None and pad_size:
        removed = np.flatnonzero(marks)[-pad_size:]
    if len(removed) < pad_size:
        held = count(length, "row") if marks is None else f"{count(len(removed), 'pad row')} of {count(length, 'row')}"
        expected = f"a batch with the {pad_size} pad rows that are to be removed"
        hint = "rows were taken out since it was padded: data[~data.pad_mask] removes the pad rows that are left"
        raise refuse("unpad_dataproto", "BP043", "pad_size", held, expected, "" if marks is None else hint)
    if not len(removed) or removed[0] + len(removed) == length:
        return _unmarked(data._take(Rows.span(0, length - len(removed))))
    return _unmarked(data._take(Rows(index=np.delete(np.arange(length, dtype=np.int64), removed))))


def _padded(operation: str, data: B, copies: Index) -> B:
    """The batch with copies of rows behind it, which are marked and hold the `Pad` of the bound schema."""
    neutral = _neutral(operation, data)
    length = len(data)
    padded = data._take(Rows(index=np.concatenate([np.arange(length, dtype=np.int64), copies])))
    pads = np.concatenate([marked(data._marks.pads, length), np.ones(len(copies), dtype=bool)])
    padded._marks = padded._marks._replace(pads=pads)
    fields = _fields(padded)
    for key, value in neutral.items():
        _write(fields[key], length, value)
    return padded


def _neutral(operation: str, data: RowOperations) -> dict[str, PadValue]:
    """What fields hold in pad rows, where the bound schema says it; refused where one cannot hold it."""
    neutral: dict[str, PadValue] = {}
    wrong = []
    fields = _fields(data)
    named = {} if data._bound is None else data._bound.named_by([data.meta_info]).policies
    for key, policies in named.items():
        if policies.pad is None or key not in fields:
            continue
        neutral[key] = policies.pad.value
        problem = misfit(key, fields[key], policies.pad)
        if problem is not None:
            wrong.append(problem)
    if wrong:
        raise refuse_all(operation, wrong)
    return neutral


def _fields(data: RowOperations) -> dict[str, torch.Tensor | Column]:
    """The fields that can hold a value in some of their rows."""
    tensors = {key: value for key, value in items(data.batch).items() if isinstance(value, torch.Tensor)}
    return {**tensors, **data.non_tensor_batch}


def _write(field: torch.Tensor | Column, start: int, value: PadValue) -> None:
    """Write a value into the rows from one on; they are copies, which nobody else holds."""
    if isinstance(field, torch.Tensor) and is_jagged(field):
        values, offsets, axis = nested.parts(field)
        first = int(offsets[start])
        values.narrow(axis, first, values.shape[axis] - first).fill_(cast(float, value))
    elif isinstance(field, np.ndarray):
        field[start:] = value  # type: ignore[assignment]  # objects take any value, numpy's types know of none
    elif is_dense(field):
        field[start:] = cast(float, value)


def _unmarked(data: B) -> B:
    """A batch without a pad row carries no marks."""
    if data._marks.pads is not None and not data._marks.pads.any():
        data._marks = data._marks._replace(pads=None)
    return data
