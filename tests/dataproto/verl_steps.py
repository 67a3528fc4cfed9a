"""Single operations, with arguments that fit a batch, to be done alike on our `DataProto` and on verl's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Batches = list[Any]


class Step(NamedTuple):
    """One operation.

    Attributes:
        text: what it does, for the report of a failure.
        run: does it on a batch of either kind, with the module of its kind; gives the batches that come of it.
        rows: of each batch that comes of it, the rows of the given one that it must consist of, where that is all.
        changes: whether it changes the given batch.
        differs: the row of the table that tells what verl does otherwise here; None where both do the same.
    """

    text: str
    run: Callable[[Any, Any], Batches]
    rows: list[list[int]] | None = None
    changes: bool = False
    differs: str | None = None
