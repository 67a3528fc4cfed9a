"""What a saved batch holds, told from its header; of its data only the first rows are read, and only on request."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import torch

from batchpact.contracts.dump.loading import record_of
from batchpact.contracts.dump.record import BESIDE, RECORD, DumpRecord
from batchpact.dataproto import DataProto
from batchpact.dataproto.display import table
from batchpact.dataproto.facts import Facts, FieldFacts, StoreFacts
from batchpact.dataproto.files.dtypes import ITEM_BYTES
from batchpact.dataproto.files.header import VERSION, Header, Placement, SavedField
from batchpact.dataproto.files.reading import opened
from batchpact.dataproto.preview import first_cells, one_line
from batchpact.dataproto.sizes import Size
from batchpact.dataproto.tensors import items
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.text import count

if TYPE_CHECKING:
    from rich.console import Group

_ELEMENTS = 5
_LINE = 200


def inspected(path: str, rows: int = 0) -> Inspection:
    """What the header of a file says, and its first rows.

    Args:
        path: a file that `DataProto.save_to_disk` wrote, or a dump.
        rows: how many rows are read; pickled fields are not, whatever is in them.

    Raises:
        BatchError: if this is no such file, or it is damaged.
        OSError: as the operating system says.
    """
    with opened("load_from_disk", path) as saved:
        header = saved.header
    kept = tuple(field for field in header.fields if field.key not in (RECORD, BESIDE))
    dump = None
    if any(field.key == RECORD for field in header.fields):
        dump = record_of(path, DataProto.load_from_disk(path, fields=[RECORD]).meta_info[RECORD])
    header = header.model_copy(update={"fields": kept})
    named = [field.key for field in header.fields if field.placement != "meta" and not field.pickled]
    first = min(rows, header.rows)
    batch = DataProto.load_from_disk(path, fields=named, rows=range(first)) if first else None
    rows_shown = () if batch is None else tuple(_row(batch, row) for row in range(first))
    return Inspection(path, header, rows_shown, dump)


@dataclass(frozen=True)
class Inspection:
    """A file: its header, and its first rows, each with its fields as text; of a dump also what was wrong."""

    path: str
    header: Header
    rows: tuple[dict[str, str], ...]
    dump: DumpRecord | None = None

    def __rich__(self) -> Group:
        """The fields as a table, and the rows below it."""
        from rich.console import Group
        from rich.text import Text

        lines = []
        for number, row in enumerate(self.rows):
            width = max(map(len, row), default=0)
            lines += [Text(f"\nrow {number}", style="bold")]
            lines += [Text(f"  {key:<{width}}  {text}", no_wrap=True, overflow="ellipsis") for key, text in row.items()]
        if self.dump is not None:
            codes = ", ".join(dict.fromkeys(violation.code for violation in self.dump.violations))
            told = ["", f"saved {self.dump.subject}: {codes}; batchpact replay shows it again", *self.dump.about()]
            lines += [Text(one_line(line, _LINE)) for line in told]
        return Group(table(self._facts), *lines)

    def as_json(self) -> str:
        """The same as JSON."""
        header = self.header
        fields = [
            {
                **field.model_dump(mode="json", exclude={"pieces", "offsets"}),
                "bytes": _bytes(field),
                "written_by": header.writers.get(field.key),
            }
            for field in header.fields
        ]
        bound = None if header.bound is None else {**header.bound.spec, "dims": header.bound.dims}
        return json.dumps(
            {
                "file": self.path,
                "format": VERSION,
                "rows": header.rows,
                "batch_size": header.batch_size,
                "padded": header.pads is not None,
                "bytes": sum(map(_bytes, header.fields)),
                "fields": fields,
                "schema": bound,
                "first_rows": self.rows,
                **({} if self.dump is None else {"dump": self.dump.model_dump(mode="json", exclude_none=True)}),
            },
            indent=2,
        )

    @property
    def _facts(self) -> Facts:
        header = self.header
        head = [count(header.rows, "row")]
        if header.pads is not None:
            head.append("some of them padding")
        if header.bound is not None:
            head.append(f"bound to {one_line(str(header.bound.spec.get('name')))}")
        placements: tuple[Placement, ...] = ("tensor", "non_tensor", "meta")
        stores = [StoreFacts(STORE_NAMES[placement], tuple(self._fields(placement))) for placement in placements]
        return Facts(one_line(self.path, _LINE), ", ".join(head), tuple(stores))

    def _fields(self, placement: Placement) -> Iterator[FieldFacts]:
        bound = self.header.bound
        records = None if bound is None else bound.spec.get("fields")
        declared = (
            [field.get("key") for field in records if isinstance(field, dict)] if isinstance(records, list) else []
        )
        for field in self.header.fields:
            if field.placement == placement:
                writer = one_line(self.header.writers.get(field.key, ""))
                yield _SavedFacts(one_line(field.key), placement, field, writer, field.key in declared)


class _SavedFacts(FieldFacts):
    """A field as the header of a file has it; its size is that on the disk."""

    @property
    def kind(self) -> str:
        return one_line(self._field.kind)

    @property
    def device(self) -> str:
        return ""

    @cached_property
    def size(self) -> Size:
        return Size(_bytes(self._field))

    @cached_property
    def content(self) -> str:
        return "pickled" if self._field.pickled else ""

    @property
    def _field(self) -> SavedField:
        return cast(SavedField, self.value)


def _bytes(field: SavedField) -> int:
    return sum(ITEM_BYTES[piece.dtype] * math.prod(piece.shape) for piece in field.pieces.values())


def _row(batch: DataProto, row: int) -> dict[str, str]:
    """How the fields of one row begin."""
    found = {key: _elements(value[row]) for key, value in items(batch.batch).items() if isinstance(value, torch.Tensor)}
    for key, cells in batch.non_tensor_batch.items():
        found[key] = first_cells(cells[row : row + 1])[0]
    return {one_line(key): text for key, text in found.items()}


def _elements(tensor: torch.Tensor) -> str:
    """`f32[512]  0.5, -1.0, ...`."""
    try:
        shown = ", ".join(map(str, tensor.reshape(-1)[:_ELEMENTS].tolist()))
    except RuntimeError:  # torch has dtypes whose elements Python cannot see
        return describe(tensor)
    more = ", ..." if tensor.numel() > _ELEMENTS else ""
    return f"{describe(tensor)}  {shown}{more}".rstrip()
