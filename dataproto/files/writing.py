"""A batch written to a file: every field cut into pieces, every value that is not data named, nothing changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from safetensors import SafetensorError
from torch import Tensor

from batchpact.dataproto.core import Batch
from batchpact.dataproto.files.archive import Piece, write
from batchpact.dataproto.files.arrays import odd_tensor
from batchpact.dataproto.files.broken import Broken, first_line
from batchpact.dataproto.files.columns import Problem, cut_column, cut_meta
from batchpact.dataproto.files.encoding import is_unicode, type_name
from batchpact.dataproto.files.header import PADS, Header, Placement, SavedField, SavedSchema, saved_piece, texts_of
from batchpact.dataproto.files.pieces import Cut, array_piece
from batchpact.dataproto.files.tensors import TensorCutter
from batchpact.dataproto.preview import one_line, preview
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.text import listed_rows
from batchpact.schemas.violations import Violation

_DATA = "a file holds numbers, text, bytes, times, images, arrays, tensors, and containers of these"
_HINT = "allow_pickle=True pickles it"
_PATH = 60


class _Field(NamedTuple):
    key: str
    placement: Placement
    value: object
    cut: Cut

    def saved(self) -> SavedField:
        """What the header says of it."""
        cut = self.cut
        return SavedField(
            key=self.key,
            placement=self.placement,
            kind=_kind(self.value),
            layout=cut.layout,
            pieces={role: saved_piece(piece) for role, piece in cut.pieces.items()},
            dtype=cut.dtype,
            shape=cut.shape,
            offsets=cut.offsets,
            pickled=cut.pickled,
        )


def save(batch: Batch, filepath: str | os.PathLike[str], *, allow_pickle: bool) -> None:
    """Write a batch to a file; see `DataProto.save_to_disk`."""
    stores = batch.consistent_stores()
    path = _target(filepath)
    fields = _fields(stores, len(batch), allow_pickle)
    for field in fields:
        if field.key in batch._marks.absent:
            field.cut.pieces["filled"] = array_piece(batch._marks.absent[field.key])
    saved = [field.saved() for field in fields]
    pieces: dict[str, Piece] = {}
    for field, known in zip(fields, saved, strict=True):
        pieces.update({known.entry(role): piece for role, piece in field.cut.pieces.items()})
    if batch._marks.pads is not None:
        pieces[PADS] = array_piece(batch._marks.pads)
    header = Header(
        rows=len(batch),
        batch_size=None if batch.batch is None else tuple(batch.batch.batch_size),
        fields=tuple(saved),
        writers={key: stage for key, stage in batch._writers.items() if stores.find(key) is not None},
        bound=_bound(batch),
        pads=saved_piece(pieces[PADS]) if PADS in pieces else None,
    )
    try:
        write(path, pieces, texts_of(header))
    except SafetensorError as error:
        expected = "room for the file, and the right to write it"
        raise refuse("save_to_disk", "BP048", os.fsdecode(filepath), first_line(error), expected) from None
    except Broken as found:
        raise refuse("save_to_disk", "BP048", os.fsdecode(filepath), found.actual, found.expected) from None


def _target(filepath: str | os.PathLike[str]) -> Path:
    """Where the file goes: behind a symbolic link, to where that leads."""
    given = os.fsdecode(filepath)
    path = Path(os.path.realpath(given))
    if path.is_dir():
        raise refuse("save_to_disk", "BP048", given, "a folder", "the name of a file")
    if not path.parent.is_dir():
        raise refuse("save_to_disk", "BP048", given, "its folder is not there", f"make {path.parent} first")
    return path


def _fields(stores: Stores, rows: int, allow_pickle: bool) -> list[_Field]:
    """All fields, cut into pieces.

    Raises:
        BatchError: naming every value that is not data.
    """
    cutter = TensorCutter(rows)
    fields: list[_Field] = []
    wrong: list[Violation] = []
    for placement, key, value in _each(stores):
        found = _field(placement, key, value, cutter, allow_pickle)
        if isinstance(found, _Field):
            fields.append(found)
        else:
            wrong += found
    if wrong:
        raise refuse_all("save_to_disk", wrong)
    return fields


def unwritable(placement: Placement, key: str, value: object, rows: int) -> list[Violation]:
    """What in a field of a batch with so many rows is not data; nothing where a file can hold it."""
    found = _field(placement, key, value, TensorCutter(rows), False)
    return [] if isinstance(found, _Field) else found


def _field(
    placement: Placement, key: object, value: object, cutter: TensorCutter, allow_pickle: bool
) -> _Field | list[Violation]:
    """A field, cut into pieces; or what in it is not data."""
    if not isinstance(key, str) or not is_unicode(key):
        expected = "a name that is text"
        return [Violation(code="BP049", field=preview(key), actual=_kind(key), expected=expected)]
    cut = _cut(placement, key, value, cutter, allow_pickle)
    if isinstance(cut, Cut):
        return _Field(key, placement, value, cut)
    return [_violation(placement, key, problem) for problem in cut]


def _each(stores: Stores) -> Iterator[tuple[Placement, str, object]]:
    placements: tuple[Placement, ...] = ("tensor", "non_tensor", "meta")
    for placement, held in zip(placements, stores[:3], strict=True):
        for key, value in held.items():
            yield placement, key, value


def _cut(
    placement: Placement, key: str, value: object, cutter: TensorCutter, allow_pickle: bool
) -> Cut | list[Problem]:
    if placement == "non_tensor":
        return cut_column(cast(Column, value), allow_pickle=allow_pickle)
    if placement == "meta":
        return cut_meta(value, allow_pickle=allow_pickle)
    odd = odd_tensor(value) if isinstance(value, Tensor) else type_name(value)
    return cutter.cut(key, cast(Tensor, value)) if odd is None else [Problem(odd)]


def _violation(placement: Placement, key: str, problem: Problem) -> Violation:
    rows = f" in {listed_rows(problem.rows)}" if problem.rows else ""
    return Violation(
        code="BP049",
        field=one_line(f"{key}{problem.path}", _PATH),
        placement=placement,
        actual=f"{problem.what}{rows}",
        expected=_DATA,
        hint=_HINT if rows or placement == "meta" else "",
    )


def _bound(batch: Batch) -> SavedSchema | None:
    if batch._bound is None:
        return None
    spec = batch._bound.schema.__batchpact__.spec
    return SavedSchema(spec=spec.model_dump(mode="json", exclude_none=True), dims=dict(batch._bound.dims))


def _kind(value: object) -> str:
    try:
        return one_line(describe(value))
    except ValueError:  # an int of more digits than Python prints
        return type_name(value)
