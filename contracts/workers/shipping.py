"""What travels to the workers: the declared fields of a batch, in a part for each data-parallel group."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.passage import Passage
from batchpact.contracts.workers.cutting import cuts, group_fields
from batchpact.contracts.workers.errors import Span
from batchpact.dataproto.binding import bound
from batchpact.dataproto.carriers import OURS
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.padding import pad_dataproto_to_divisor
from batchpact.dataproto.row_marks import Mask
from batchpact.dataproto.sizes import deep_bytes, field_bytes
from batchpact.dataproto.withheld import Elsewhere
from batchpact.schemas.describe import describe_in_store
from batchpact.schemas.stores import Stores, rows_of


class Shipment(NamedTuple):
    """A batch on its way.

    Attributes:
        data: all that travels, as one batch.
        parts: for each data-parallel group, in order, what it gets; groups that would get no row are left out.
        spans: the rows of each part.
        pads: which rows were added to make the parts equal; all are at the end.
    """

    data: DataProto
    parts: list[DataProto]
    spans: list[Span]
    pads: Mask | None


def ship(boundary: Boundary, passage: Passage, groups: int) -> Shipment:
    """Cut what a stage reads of a batch into parts: equal ones by neutral rows where it is `pad_safe`, else uneven.

    Where the Reads declare a `Group()`, no row is added and no group is cut.

    Args:
        boundary: the contract.
        passage: the call, whose batch was checked.
        groups: the number of data-parallel groups.
    """
    held = boundary.handing.declared(passage.source)
    data: DataProto = OURS.make(DataProto(), held, rows_of(held))
    pads = None if passage.carrier is None else passage.carrier.pads(passage.batch)
    if pads is not None and len(pads) == len(data):
        data._marks = data._marks._replace(pads=pads)
    if data._row_count() is None:  # all rows are one worker's to make
        return Shipment(data, [data], [(0, passage.rows or 0)], None)
    rows = len(data)
    added = None
    if rows % groups and boundary.spec.pad_safe and boundary.spec.rows.kind == "same" and not group_fields(boundary):
        data._bound = bound(boundary.reads, {})
        data, _ = pad_dataproto_to_divisor(data, groups)
        data._bound = None
        added = data.pad_mask
        added[:rows] = False
    parts = data._cut(cuts(boundary, data, groups)) if rows else [data]
    ends = [0, *accumulate(map(len, parts))]
    return Shipment(data, parts, list(pairwise(ends)), added)


def shipped_bytes(data: DataProto, args: Mapping[str, object]) -> dict[str, int]:
    """The bytes of each field of a batch that travels, and of the arguments."""
    return {**field_bytes(data.stores()), **{key: deep_bytes(value) for key, value in args.items()}}


def kept_back(boundary: Boundary, passage: Passage) -> Stores | None:
    """What stays behind, in words, for a stage that looks for it; None where everything travels or nobody checks."""
    if passage.level == "off" or boundary.handing.everything:
        return None
    declared = boundary.handing.declared(passage.source)
    stores = [
        {key: Elsewhere(describe_in_store(value, placement)) for key, value in held.items() if key not in sent}
        for (placement, held), sent in zip(passage.source.by_placement(), declared, strict=True)
    ]
    return Stores(*stores[:3])
