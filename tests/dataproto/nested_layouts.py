"""Nested tensors in every layout, made of plain lists, so that what an operation gives can be told from lists alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from batchpact.dataproto import DataProto
from tests.dataproto.support import offsets

LENGTHS: tuple[list[int], ...] = ([2, 0, 3, 1], [2, 2], [0], [])
"""Lengths of rows: different ones with an empty row among them, equal ones, one empty row, no row."""


@dataclass(frozen=True)
class Layout:
    """How the rows of a nested tensor lie in memory.

    Attributes:
        before: the sizes of a row before its ragged axis.
        after: the sizes of a row after it.
        dtype: of the elements.
        memory: `packed`, `holes` (elements between the rows that belong to none), `view` (values that are not
            contiguous, in the middle of a larger buffer), or `strided` (torch's older nested tensors).
        offset_dtype: of the offsets.
        grad: what the gradient is wanted of: the `values`, or the `nested` tensor itself.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    dtype: torch.dtype = torch.int64
    memory: str = "packed"
    offset_dtype: torch.dtype = torch.int64
    grad: str = ""

    @property
    def axis(self) -> int:
        """The axis of a row that is ragged."""
        return len(self.before)

    def rows(self, lengths: Sequence[int], factor: int = 1) -> list[Any]:
        """One nested list for each row; no two elements are alike."""
        made = []
        for number, length in enumerate(lengths):
            shape = (*self.before, length, *self.after)
            elements = (np.arange(int(np.prod(shape))) + 20 * number + 1) * factor
            made.append(elements.astype(float if self.dtype.is_floating_point else int).reshape(shape).tolist())
        return made

    def nested(self, lengths: Sequence[int], factor: int = 1) -> torch.Tensor:
        """The nested tensor of these rows."""
        shapes = [(*self.before, length, *self.after) for length in lengths]
        pairs = zip(self.rows(lengths, factor), shapes, strict=True)
        rows = [torch.tensor(row, dtype=self.dtype).reshape(shape) for row, shape in pairs]
        if self.memory == "strided":
            return torch.nested.nested_tensor(rows, dtype=self.dtype, requires_grad=bool(self.grad))
        kept = None
        ends = offsets(lengths)
        if self.memory == "holes":
            hole = torch.full((*self.before, 2, *self.after), -1).to(self.dtype)
            kept = torch.tensor(lengths, dtype=self.offset_dtype)
            ends = offsets(length + 2 for length in lengths)
            rows = [piece for row in rows for piece in (row, hole)]
        nothing = torch.empty((*self.before, 0, *self.after), dtype=self.dtype)
        values = torch.cat([nothing, *rows], dim=self.axis)
        if self.memory == "view":
            values = _inside_a_buffer(values, self.axis)
        if self.grad == "values":
            values.requires_grad_()
        ends = ends.to(self.offset_dtype)
        made = torch.nested.nested_tensor_from_jagged(values, ends, kept, jagged_dim=self.axis + 1)
        return made.requires_grad_() if self.grad == "nested" else made

    def twin(self, tensor: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """The same rows with every element twice as large; a jagged one shares its offsets, as tokens and masks do."""
        if self.memory == "strided":
            return self.nested(lengths, factor=2)
        values, ends, kept = tensor.values(), tensor.offsets(), tensor.lengths()  # type: ignore[attr-defined]
        return torch.nested.nested_tensor_from_jagged(values.detach() * 2, ends, kept, jagged_dim=self.axis + 1)

    def batch(self, lengths: Sequence[int]) -> DataProto:
        """A batch with a nested field and its twin, beside a dense one and a column that number the rows."""
        field = self.nested(lengths)
        rows = len(lengths)
        return DataProto.from_dict(
            {"x": field, "twin": self.twin(field, lengths), "number": torch.arange(rows)},
            {"name": [f"row {row}" for row in range(rows)]},
            {"k": 1},
        )


def _inside_a_buffer(values: torch.Tensor, axis: int) -> torch.Tensor:
    """The same values as a view that is neither contiguous nor at the start of its memory."""
    last = values.movedim(axis, -1)
    buffer = torch.full((*last.shape[:-1], last.shape[-1] + 4), -1).to(values.dtype)
    buffer[..., 2:-2] = last
    return buffer[..., 2:-2].movedim(-1, axis)


LAYOUTS = {
    "[len]": Layout(),
    "[len, 2] bf16": Layout(after=(2,), dtype=torch.bfloat16),
    "[2, len]": Layout(before=(2,)),
    "[2, len, 3]": Layout(before=(2,), after=(3,)),
    "int32 offsets on axis 2": Layout(before=(2,), offset_dtype=torch.int32),
    "holes": Layout(memory="holes"),
    "holes on axis 2": Layout(before=(2,), memory="holes"),
    "holes, int32 offsets": Layout(after=(2,), memory="holes", offset_dtype=torch.int32),
    "view on axis 2": Layout(before=(2,), memory="view"),
    "gradient of values": Layout(dtype=torch.float32, grad="values"),
    "gradient of values on axis 2": Layout(before=(2,), dtype=torch.float32, grad="values"),
    "gradient of values with holes": Layout(dtype=torch.float32, memory="holes", grad="values"),
    "gradient of the tensor": Layout(dtype=torch.float32, grad="nested"),
    "strided": Layout(memory="strided"),
    "strided [2, len]": Layout(before=(2,), dtype=torch.bfloat16, memory="strided"),
    "strided gradient": Layout(dtype=torch.float32, memory="strided", grad="nested"),
}
