"""One batch of what the workers wrote: the rows in their order, by the policies of the Writes, without pad rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.workers.errors import Span
from batchpact.contracts.workers.shipping import Shipment
from batchpact.dataproto.binding import bound
from batchpact.dataproto.concat import concat_batches
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.padding import unpad_dataproto
from batchpact.dataproto.row_marks import UNMARKED, RowMarks
from batchpact.schemas.errors import ContractError
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where


def join(boundary: Boundary, shipment: Shipment, written: Sequence[DataProto], ranks: Sequence[int]) -> DataProto:
    """What was written, as if one worker had written it; it is not held against the contract yet.

    Args:
        boundary: the contract.
        shipment: what the workers were given.
        written: what was written for each part.
        ranks: who wrote it.

    Raises:
        ContractError: if a part has not the rows that it was given, whatever is checked: rows would change places.
        BatchError: if the parts differ in what they must have in common.
    """
    schema = bound(boundary.writes, {})
    for part, span, rank in zip(written, shipment.spans, ranks, strict=True):
        part._bound = schema
        if boundary.spec.rows.kind == "same":
            _check_rows(boundary, part, span, rank)
            if shipment.pads is not None and part._row_count() is not None:
                part._marks = RowMarks(pads=shipment.pads[slice(*span)])
        elif part._marks.origin is not None:
            part._marks = part._marks._replace(origin=part._marks.origin + np.int64(span[0]))
    pad = any(policies.pad is not None for policies in schema.policies.values())
    whole = concat_batches(written, pad=pad, operation=f"WorkerGroup.{boundary.name}", check=False)
    if shipment.pads is not None and whole._row_count() is not None:
        whole = unpad_dataproto(whole, int(shipment.pads.sum()))
    whole._bound = None
    marks = whole._marks._replace(pads=None)
    whole._marks = marks if marks.origin is not None or marks.absent else UNMARKED
    return whole


def _check_rows(boundary: Boundary, part: DataProto, span: Span, rank: int) -> None:
    rows, given = part._row_count(), span[1] - span[0]
    if rows is None or rows == given:
        return
    where = Where(stage=boundary.name, boundary="writes", rank=rank)
    violation = Violation(
        code="BP012", field="batch", actual=count(rows, "row"), expected=count(given, "row"), where=where
    )
    raise ContractError(f"where stage '{boundary.name}' returns its result, on rank {rank}", [violation])
