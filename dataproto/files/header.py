"""What the header of a file says: the fields in order, and what the batch carries unseen."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue, ValidationError

from batchpact.dataproto.files.archive import Archive, Count, Piece
from batchpact.dataproto.files.blocks import checksum, checksums, fits
from batchpact.dataproto.files.broken import Broken
from batchpact.schemas.record import Record

FORMAT, VERSION = "batchpact", "1"

Layout: TypeAlias = Literal["dense", "jagged", "strided", "objects", "value"]
Role: TypeAlias = Literal["data", "values", "offsets", "ends", "sizes", "cells", "index", "filled"]
Placement: TypeAlias = Literal["tensor", "non_tensor", "meta"]


class SavedPiece(Record):
    """A part of a field: dtype and shape of its entry, and the checksums of its blocks."""

    dtype: str
    shape: Annotated[tuple[Count, ...], Field(min_length=1, max_length=64)]
    checksums: Annotated[str, Field(pattern="^[0-9a-f]*$")]


class SavedField(Record):
    """One field.

    Attributes:
        key: its name.
        placement: its store.
        kind: what it is, in a few words.
        layout: how its pieces make up its value.
        pieces: its entries, by the part that they play; `role/key` is the name of an entry.
        dtype: torch's name for the dtype of a tensor, numpy's string for that of a numeric column.
        shape: its sizes with the rows first; None stands for a ragged axis, and a strided nested tensor has none.
        offsets: of a jagged tensor, the field in whose pieces its offsets stand: tensors with the same offsets share.
        pickled: whether pickled objects are in it.
    """

    key: str
    placement: Placement
    kind: str
    layout: Layout
    pieces: dict[Role, SavedPiece]
    dtype: str | None = None
    shape: tuple[Count | None, ...] | None = None
    offsets: str | None = None
    pickled: bool = False

    def entry(self, role: Role) -> str:
        """The name of an entry of this field."""
        return f"{role}/{self.key}"


class SavedSchema(Record):
    """The schema that was bound: its record, and the sizes that its dims had to have."""

    spec: dict[str, JsonValue]
    dims: dict[str, Count]


class Header(Record):
    """The whole header.

    Attributes:
        rows: how many rows the batch has.
        fields: its fields, store by store, in their order.
        writers: the stage that wrote a field last, by its name.
        batch_size: the batch size of its tensors; None for a batch without a `TensorDict`.
        bound: the schema that was bound.
        pads: which rows are padding, where any is.
    """

    rows: Count
    fields: tuple[SavedField, ...]
    writers: dict[str, str]
    batch_size: tuple[Count, ...] | None = None
    bound: SavedSchema | None = None
    pads: SavedPiece | None = None


PADS = "pads/"
"""The entry of the pad marks; no field has an entry of this name."""


def saved_piece(piece: Piece) -> SavedPiece:
    """What the header says of a piece."""
    return SavedPiece(dtype=piece.dtype, shape=piece.shape, checksums=checksums(piece.data))


def texts_of(header: Header) -> dict[str, str]:
    """The header as the texts of a safetensors file."""
    text = header.canonical()
    return {"format": FORMAT, "version": VERSION, "header": text, "checksum": checksum(text.encode())}


def header_of(archive: Archive) -> Header:
    """The header of a safetensors file, verified, and in agreement with its entries.

    Raises:
        Broken: if it is none of a batch, or of a later version, or changed.
    """
    texts = archive.metadata
    if texts.get("format") != FORMAT or "header" not in texts:
        raise Broken("a safetensors file without a batch", "a file that save_to_disk wrote")
    version = texts.get("version", "")
    if version != VERSION:
        hint = "a later version of batchpact may have written it"
        raise Broken(f"format version {version[:20]!r}", f"version {VERSION!r}, which is what this one reads", hint)
    text = texts["header"].encode("utf-8", "surrogatepass")  # JSON can say half a character; it has no checksum
    if checksum(text) != texts.get("checksum"):
        raise Broken("a header that does not have its checksum")
    try:
        header = Header.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Broken(f"a header in another form: {place[:100]}: {first['msg'][:100]}") from None
    _agrees(header, archive)
    return header


def _agrees(header: Header, archive: Archive) -> None:
    """Every entry is a piece of one field, as the header says it is."""
    pieces = {field.entry(role): piece for field in header.fields for role, piece in field.pieces.items()}
    if len({field.key for field in header.fields}) < len(header.fields):
        raise Broken("a header with two fields of one name")
    if header.pads is not None:
        pieces[PADS] = header.pads
    for name in {**pieces, **archive.entries}:
        piece, entry = pieces.get(name), archive.entries.get(name)
        if piece is None or entry is None or (piece.dtype, list(piece.shape)) != (entry.dtype, entry.shape):
            raise Broken(f"entry {name[:80]!r} is not what the header says of it")
        start, stop = entry.data_offsets
        if not fits(piece.checksums, stop - start):
            raise Broken(f"entry {name[:80]!r} does not have a checksum for each block")
