"""One batch of what the workers wrote: the rows in their order, by the policies of the Writes, without pad rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.workers.errors import Span
from batchpact.dataproto.binding import bound
from batchpact.dataproto.concat import concat_batches
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.padding import unpad_dataproto
from batchpact.dataproto.row_marks import UNMARKED, Mask, RowMarks
from batchpact.schemas.errors import ContractError
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where


def join(
    boundary: Boundary,
    written: Sequence[DataProto],
    ranks: Sequence[int],
    spans: Sequence[Span] | None,
    pads: Mask | None,
) -> DataProto:
    """What was written, as if one worker had written it; it is not held against the contract yet.

    Args:
        boundary: the contract.
        written: what was written for each part.
        ranks: who wrote it.
        spans: the rows that each was given; None where nobody here knows them.
        pads: which of these rows were added; None for none.

    Raises:
        ContractError: if a part has not the rows that it was given, whatever is checked: rows would change places.
        BatchError: if the parts differ in what they must have in common.
    """
    schema = bound(boundary.writes, {})
    for at, part in enumerate(written):
        part._bound = schema
        if spans is None:
            continue
        if boundary.spec.rows.kind == "same":
            _check_rows(boundary, part, spans[at], ranks[at])
            if pads is not None and part._row_count() is not None:
                part._marks = RowMarks(pads=pads[slice(*spans[at])])
        elif part._marks.origin is not None:
            part._marks = part._marks._replace(origin=part._marks.origin + np.int64(spans[at][0]))
    named = schema.named_by([part.meta_info for part in written])
    pad = any(policies.pad is not None for policies in named.policies.values())
    whole = written[0]  # one part is the whole, as of a plain call: nothing is merged with itself
    if len(written) > 1:
        whole = concat_batches(written, pad=pad, operation=f"WorkerGroup.{boundary.name}", check=False)
    if pads is not None and whole._row_count() is not None:
        whole = unpad_dataproto(whole, int(pads.sum()))
    whole._bound = None
    marks = whole._marks._replace(pads=None)
    whole._marks = marks if marks.origin is not None or marks.absent else UNMARKED
    return whole


def join_more(boundary: Boundary, more: Sequence[tuple[Any, ...]], ranks: Sequence[int]) -> list[list[Any]]:
    """What stood behind the batches, place by place: a list with what each part gave.

    Raises:
        ContractError: if one gave more than another.
    """
    for rank, values in zip(ranks, more, strict=True):
        if len(values) != len(more[0]):
            actual = f"{count(len(values), 'value')} behind the batch, from rank {rank}"
            expected = f"{len(more[0])}, as from rank {ranks[0]}"
            where = Where(stage=boundary.name, boundary="writes", rank=rank)
            violation = Violation(code="BP035", field="result", actual=actual, expected=expected, where=where)
            raise ContractError(boundary.ending, [violation])
    return [list(values) for values in zip(*more, strict=True)]


def _check_rows(boundary: Boundary, part: DataProto, span: Span, rank: int) -> None:
    rows, given = part._row_count(), span[1] - span[0]
    if rows is None or rows == given:
        return
    where = Where(stage=boundary.name, boundary="writes", rank=rank)
    violation = Violation(
        code="BP012", field="batch", actual=count(rows, "row"), expected=count(given, "row"), where=where
    )
    raise ContractError(f"{boundary.ending}, on rank {rank}", [violation])
