"""A file read as a batch, or as a part of one: what is read is verified, and the rest is not touched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from typing import Any, TypeVar

from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto.build import leading_sizes
from batchpact.dataproto.core import Batch
from batchpact.dataproto.files.archive import Archive
from batchpact.dataproto.files.arrays import array_of
from batchpact.dataproto.files.broken import WRITTEN, Broken, broken_by
from batchpact.dataproto.files.columns import read_column, read_meta
from batchpact.dataproto.files.header import PADS, SavedField, SavedPiece, header_of
from batchpact.dataproto.files.pickled import PICKLED, TRUST
from batchpact.dataproto.files.pieces import Pieces
from batchpact.dataproto.files.tensors import Ragged, read_ragged, read_tensor
from batchpact.dataproto.preview import one_line
from batchpact.dataproto.refusal import refuse, refuse_all, refuse_names
from batchpact.dataproto.row_marks import Mask, RowMarks
from batchpact.dataproto.selection import missing_name
from batchpact.dataproto.tensors import Value, store
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

B = TypeVar("B", bound=Batch)

_PICKLES = b"\x80"
_ZIPPED = b"PK\x03\x04"


def load(
    kind: type[B],
    filepath: str | os.PathLike[str],
    *,
    fields: Sequence[str] | None,
    rows: slice | range | None,
    allow_pickle: bool,
) -> B:
    """Read a batch, or some fields and rows of it; see `DataProto.load_from_disk`."""
    with opened("load_from_disk", filepath) as saved:
        chosen = saved.choose(fields)
        span = saved.span(rows)
        forbidden = [field for field in chosen if field.pickled and not allow_pickle]
        if forbidden:
            raise refuse_all("load_from_disk", [_needs_pickle(field) for field in forbidden])
        return _Loading(saved, span, allow_pickle).batch(kind, chosen)


class SavedBatch:
    """An open file with its verified header.

    Attributes:
        archive: the file.
        header: what it says of the batch.
    """

    def __init__(self, file: FileIO) -> None:
        """Read the header.

        Raises:
            Broken: if this is no file that `save_to_disk` wrote.
        """
        start = file.read(9) or b""
        # A safetensors file begins with the length of its header, which is any eight bytes, and then the header.
        if start.startswith((_PICKLES, _ZIPPED)) and start[8:] != b"{":
            hint = "load it with what wrote it and save it anew: DataProto.from_verl(batch).save_to_disk(path)"
            raise Broken("a pickle, as verl's save_to_disk writes; reading one can run any code", WRITTEN, hint)
        self.archive = Archive(file)
        self.header = header_of(self.archive)

    def choose(self, names: Sequence[str] | None) -> list[SavedField]:
        """The fields of these names, in the order of the file; None takes all.

        Raises:
            MissingFieldError: naming every field that is not there.
        """
        held = {field.key: field for field in self.header.fields}
        if names is None:
            return list(held.values())
        wanted = [names] if isinstance(names, str) else list(names)
        missing = [name for name in wanted if name not in held]
        if missing:
            wrong = [missing_name(str(name), "the file", held, Stores.empty()) for name in missing]
            raise refuse_names("load_from_disk", wrong)
        return [field for key, field in held.items() if key in wanted]

    def span(self, rows: slice | range | None) -> range:
        """The rows that a slice or a range means.

        Raises:
            BatchError: if it is none, leaves rows out, or reaches beyond the batch.
        """
        length = self.header.rows
        if rows is None:
            return range(length)
        found: object = rows
        if isinstance(rows, slice):
            try:
                found = range(*rows.indices(length))
            except (TypeError, ValueError):  # what is in it is no number, or a step of 0
                found = None
        if not isinstance(found, range) or found.step != 1:
            hint = "load_from_disk(...)[rows] takes any rows of what was read"
            expected = "a slice or a range of neighbouring rows"
            raise refuse("load_from_disk", "BP044", "rows", _shown(rows), expected, hint)
        if len(found) and not 0 <= found.start < found.stop <= length:
            raise refuse("load_from_disk", "BP044", "rows", _shown(rows), f"the batch has {count(length, 'row')}")
        return found if len(found) else range(0)


@contextmanager
def opened(operation: str, filepath: str | os.PathLike[str]) -> Iterator[SavedBatch]:
    """A file, opened for reading.

    Args:
        operation: the name of the operation, for errors.
        filepath: the file.

    Raises:
        OSError: as the operating system says.
        BatchError: if this is no file that `save_to_disk` wrote, or one that is damaged.
    """
    with FileIO(os.fspath(filepath)) as file:
        try:
            saved = SavedBatch(file)
        except Broken as found:
            raise refuse_all(operation, [_violation(os.fsdecode(filepath), found)]) from None
        yield saved


class _Loading:
    """Reads some rows of the fields of a file."""

    def __init__(self, saved: SavedBatch, span: range, allow_pickle: bool) -> None:
        self._archive, self._header = saved.archive, saved.header
        self._span, self._allow_pickle = span, allow_pickle
        self._fields = {field.key: field for field in saved.header.fields}
        self._ragged: dict[str, Ragged] = {}

    def batch(self, kind: type[B], chosen: Sequence[SavedField]) -> B:
        """A batch of these fields.

        Raises:
            BatchError: naming every field that is damaged.
        """
        stores: dict[str, dict[str, Any]] = {"tensor": {}, "non_tensor": {}, "meta": {}}
        absent: dict[str, Mask] = {}
        pads: Mask | None = None
        wrong: list[Violation] = []
        for field in chosen:
            try:
                stores[field.placement][field.key] = self._field(field)
                if "filled" in field.pieces:
                    absent[field.key] = self._mask(field.pieces["filled"], field.entry("filled"))
            except Broken as found:
                wrong.append(_violation(field.key, found))
        try:
            pads = None if self._header.pads is None else self._mask(self._header.pads, PADS)
        except Broken as found:
            wrong.append(_violation("pad_mask", found))
        if wrong:
            raise refuse_all("load_from_disk", wrong)
        made = kind(self._store(stores["tensor"]), stores["non_tensor"], stores["meta"])
        held = {field.key for field in chosen}
        made._writers = {key: stage for key, stage in self._header.writers.items() if key in held}
        if absent or pads is not None:
            made._marks = RowMarks(pads=pads, absent=absent)
        return made

    def _field(self, field: SavedField) -> object:
        pieces = self._pieces(field)
        try:
            if field.placement == "meta":
                return read_meta(pieces, allow_pickle=self._allow_pickle)
            if field.placement == "non_tensor":
                return read_column(pieces, allow_pickle=self._allow_pickle)
            return self._checked(read_tensor(pieces, self._rows_of))
        except Broken:
            raise
        except (ValueError, TypeError, RuntimeError, OverflowError) as error:
            broken_by(error, "pieces that numpy or torch make nothing of")

    def _checked(self, tensor: Tensor) -> Tensor:
        """A tensor that has the batch size."""
        size = self._size
        axes = 1 if tensor.is_nested else len(size)
        if tensor.dim() < len(size) or leading_sizes(tensor, axes) != size[:axes]:
            raise Broken(describe(tensor), f"batch size {list(size)}")
        return tensor

    @property
    def _size(self) -> tuple[int, ...]:
        """The batch size of the rows that are read."""
        size = self._header.batch_size
        if size is None:
            raise Broken("a tensor in a batch without tensors")
        return (len(self._span), *size[1:]) if size[:1] == (self._header.rows,) else size

    def _store(self, tensors: dict[str, Value]) -> TensorDict | None:
        return None if self._header.batch_size is None else store(tensors, self._size)

    def _rows_of(self, key: str) -> Ragged:
        """Where the rows of the jagged tensors are whose offsets stand with this field: one object for all of them."""
        if key not in self._fields:
            raise Broken("offsets of a field that is not there")
        if key not in self._ragged:
            self._ragged[key] = read_ragged(self._pieces(self._fields[key]))
        return self._ragged[key]

    def _pieces(self, field: SavedField) -> Pieces:
        return Pieces(self._archive, field, self._span, self._header.rows)

    def _mask(self, piece: SavedPiece, entry: str) -> Mask:
        """One boolean for each row that is read."""
        if (piece.dtype, piece.shape) != ("BOOL", (self._header.rows,)):
            raise Broken(f"marks {piece.dtype}{list(piece.shape)}", "a boolean for each row")
        flat = self._archive.read(entry, self._span.start, self._span.stop, piece.checksums)
        found: Mask = array_of(flat, "|b1", (len(self._span),))
        return found


def _violation(field: str, found: Broken) -> Violation:
    return Violation(code="BP048", field=field, actual=found.actual, expected=found.expected, hint=found.hint)


def _needs_pickle(field: SavedField) -> Violation:
    return _violation(field.key, Broken(PICKLED, TRUST))


def _shown(rows: object) -> str:
    return one_line(repr(rows)) if isinstance(rows, (slice, range)) else describe(rows)
