"""What a single operation on our `DataProto` and on verl's is: how it is done, and what has to come of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from batchpact.dataproto import DataProto, DataProtoConfig
from tests.dataproto.support import COLUMNS, META, TENSORS, Maker

METAS: dict[str, Maker] = {
    **META,
    "metrics": lambda rng, rows: {"loss": 0.5, "lr": [0.1]},
    DataProtoConfig.auto_padding_key: lambda rng, rows: True,
}

Pads: TypeAlias = "list[bool] | None"
"""Which rows are marked as padding; None where no row ever was."""


class Step(NamedTuple):
    """One operation.

    Attributes:
        text: what it is, for the report of a failure.
        run: does it on a batch of either kind, with the module of its kind; gives what comes of it.
        rows: for each batch that comes of it, which rows of the given one it consists of; None where that is not all.
        pads: for each of these, which rows are padding then; None where they are the rows that were it before.
        in_place: whether the given batch is changed.
        final: whether what comes of it is looked at and then left.
        differs: the id of the row in `docs/differences.md` that tells what verl does otherwise here.
    """

    text: str
    run: Callable[[Any, Any], Sequence[Any]]
    rows: list[list[int]] | None = None
    pads: list[Pads] | None = None
    in_place: bool = False
    final: bool = False
    differs: str | None = None


View: TypeAlias = "dict[str, tuple[str, list[str]]]"
"""The fields of a batch: what each is, and its rows."""


def see(result: Any) -> View:
    """Every field of a batch, or of a row, as text: what it is, and its rows one by one. None of our code is in it."""
    if not hasattr(result, "non_tensor_batch"):
        return {"": (repr(result), [])}
    batch = hasattr(result, "check_consistency")
    seen: View = {"length": (str(len(result)), [])} if batch else {}
    kind: object
    for key, value in {} if result.batch is None else dict(result.batch.items()).items():
        rows = value.unbind(0) if batch else [value]
        kind = (value.dtype, value.device, value._ragged_idx if value.is_nested else tuple(value.shape[1:]))
        seen[f"tensor {key}"] = (repr(kind), [repr(row.tolist()) for row in rows])
    for key, value in result.non_tensor_batch.items():
        kind = (value.dtype, value.shape[1:]) if batch else type(value)
        cells = value if batch else [value]
        seen[f"column {key}"] = (repr(kind), [_text(cell) for cell in cells])
    return seen | {f"meta {key}": (repr(value), []) for key, value in result.meta_info.items()}


def _text(cell: object) -> str:
    return f"{cell.dtype} {cell.tolist()}" if isinstance(cell, np.ndarray) else repr(cell)


class Given:
    """A batch that a step is made for, as far as the step depends on it, and the marks of its pad rows."""

    def __init__(self, data: DataProto, theirs: Any, pads: Pads) -> None:
        self.pads = pads
        self.view = see(data)
        self.held: dict[str, Any] = {} if data.batch is None else dict(data.batch.items())
        self.bare = data.batch is None
        self.columns = data.non_tensor_batch
        self.meta = data.meta_info
        self.rows = list(range(len(data)))
        self.jagged = any(value.is_nested for value in self.held.values())
        nested = [value for value in ([] if self.bare else theirs.batch.values()) if value.is_nested]
        self.contiguous = all(value.is_contiguous() for value in nested)

    @cached_property
    def decaying(self) -> bool:
        """Whether numpy makes something else of the cells of a column than the column that they came from."""
        return any(
            cells.dtype != object or any(isinstance(cell, (list, np.ndarray)) for cell in cells)
            for cells in self.columns.values()
        )

    def pads_after(self, step: Step, at: int, rows: int) -> Pads:
        """The marks of one of the batches that come of a step, with this number of rows."""
        if step.pads is not None:
            pads = step.pads[at]
        elif step.rows is not None and self.pads is not None:
            pads = [self.pads[row] for row in step.rows[at]]
        else:
            pads = self.pads
        # A batch that has lost all its fields has no rows that could be marked.
        return pads if pads is not None and len(pads) == rows else None

    @property
    def pads_of_rows(self) -> Pads:
        """The marks that count in a union: those of a batch without fields do not."""
        return self.pads if self.held or self.columns else None

    def padded(self, count: int) -> Pads:
        """The marks after `count` pad rows were appended."""
        return (self.pads or [False] * len(self.rows)) + [True] * count if count else self.pads

    @cached_property
    def unequal_meta(self) -> bool:
        """Whether a value of the meta is not equal to itself, or cannot be compared, in Python."""
        return any(not plainly_equal(value, value) for key, value in self.meta.items() if key != "metrics")

    def merging(self, parts: int) -> str | None:
        """What verl does otherwise where it concatenates parts of this batch."""
        return first_of((self.unequal_meta and parts > 1, "concat-nan"), ("metrics" in self.meta, "concat-metrics"))

    def texts(self, rows: list[int]) -> list[list[str]]:
        """What stands in these rows."""
        return [[texts[row] for texts in (texts for _, texts in self.view.values()) if texts] for row in rows]

    def some(self, rng: random.Random) -> list[list[str]]:
        """Some of the names of each store."""
        return [[name for name in store if rng.random() < 0.7] for store in (self.held, self.columns, self.meta)]


def plainly_equal(left: object, right: object) -> bool:
    """What `==` says of two values; False where it says nothing."""
    try:
        return bool(left == right)
    except (ValueError, RuntimeError):
        return False


def make_fields(seed: int, rows: int, names: Iterable[str]) -> dict[str, Any]:
    """What `from_dict` of both kinds is called with: fields of these names."""
    rng = np.random.default_rng(seed)
    chosen = set(names)
    made = [
        {name: makers[name](rng, rows) for name in makers if name in chosen} for makers in (TENSORS, COLUMNS, METAS)
    ]
    return dict(zip(("tensors", "non_tensors", "meta_info"), made, strict=True))


def first_of(*found: tuple[object, str | None]) -> str | None:
    """The first name whose condition holds; None stands for no difference."""
    return next((name for holds, name in found if holds), None)
