"""What there is to show of a batch: plain facts, from which the text, the table and the HTML of `display.py` are made.

No value of a tensor is read, so no device is synchronised. Nothing raises, whatever somebody has put into the stores,
and there are no more facts than can be shown, however large the batch is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar, cast

import torch
from tensordict import TensorDictBase

from batchpact.dataproto.build import check_stores
from batchpact.dataproto.core import Batch
from batchpact.dataproto.preview import first_cells, one_line, preview
from batchpact.dataproto.sizes import Size, deep_size, value_bytes
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.errors import BatchError
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import store_of
from batchpact.schemas.text import count

T = TypeVar("T")

_MEASURED = 100_000  # references of one value; where there are more, its size is "at least" what was counted
_PROBLEMS, _PROBLEM = 3, 120


@dataclass(frozen=True)
class FieldFacts:
    """One field. What takes time is found out when somebody asks for it."""

    key: str
    placement: PlacementName
    value: object
    writer: str
    declared: bool

    @property
    def kind(self) -> str:
        """What it is: `f32[8, 512]`, `8 objects`, `float 0.7`."""
        return one_line(_tried(describe, self.value, type(self.value).__name__))

    @property
    def device(self) -> str:
        """Where a tensor is; nothing for everything else."""
        return _tried(_device, self.value, "")

    @cached_property
    def size(self) -> Size:
        """Its bytes, with all that it refers to."""
        return _tried(_size, self.value, Size(0, whole=False))

    @cached_property
    def content(self) -> str:
        """How it begins, if it is one of Python's own values and its kind does not say that."""
        text = _tried(preview, self.value, "")
        return "" if self.kind.endswith(text) else text

    @property
    def cells(self) -> list[str]:
        """How the first cells of a column begin."""
        return _tried(first_cells, self.value, []) if self.placement == "non_tensor" else []


Said = Callable[[FieldFacts], str]

_COLUMNS: tuple[tuple[str, Said], ...] = (
    ("field", lambda field: field.key),
    ("type", lambda field: field.kind),
    ("device", lambda field: field.device),
    ("size", lambda field: str(field.size)),
    ("written by", lambda field: field.writer),
    ("declared", lambda field: "yes" if field.declared else ""),
    ("value", lambda field: field.content),
)


@dataclass(frozen=True)
class StoreFacts:
    """One store: `hidden` fields are left out, and `instead` stands where there are none."""

    name: str
    fields: tuple[FieldFacts, ...]
    hidden: int = 0
    instead: str = "-"

    @property
    def more(self) -> str:
        """How many fields are left out, in words."""
        return f"and {self.hidden} more" if self.hidden else ""

    @property
    def size(self) -> Size:
        """The bytes of its fields."""
        found = Size.total(field.size for field in self.fields)
        return found._replace(whole=found.whole and not self.hidden)


@dataclass(frozen=True)
class Facts:
    """A batch, or a row of one; `head` says its rows, how many of them are padding, and the schema that is bound."""

    name: str
    head: str
    stores: tuple[StoreFacts, ...]

    @property
    def fields(self) -> Iterator[FieldFacts]:
        """The fields of all stores."""
        return (field for store in self.stores for field in store.fields)

    @property
    def summary(self) -> str:
        """The head, the number of fields and their bytes."""
        number = sum(len(store.fields) + store.hidden for store in self.stores)
        return f"{self.head}, {count(number, 'field')}, {Size.total(store.size for store in self.stores)}"

    @property
    def columns(self) -> list[tuple[str, Said]]:
        """The columns of a table of the fields: a heading, and what to say of a field; empty ones are left out."""
        return [
            (heading, said)
            for heading, said in _COLUMNS
            if heading in ("field", "type") or any(said(field) for field in self.fields)
        ]


def batch_facts(batch: Batch, most: int) -> Facts:
    """The facts of a batch, with the first `most` fields of each store."""
    tensors, columns, meta = (getattr(batch, name, None) for name in ("batch", "non_tensor_batch", "meta_info"))
    head = [_rows(batch, tensors, columns, meta)]
    pads = batch._marks.pads
    if pads is not None and pads.any():
        head.append(f"{pads.sum()} of them padding")
    declared: set[tuple[str, PlacementName]] = set()
    if batch._bound is not None:
        named = batch._bound.named_by([meta] if isinstance(meta, Mapping) else [])
        spec = named.schema.__batchpact__.spec
        declared = {(field.key, store_of(place.placement)) for field in spec.fields for place in field.places}
        head.append(f"bound to {one_line(spec.name)}")
    stores = (
        _store_facts("tensor", tensors, most, batch._writers, declared),
        _store_facts("non_tensor", columns, most, batch._writers, declared),
        _store_facts("meta", meta, most, batch._writers, declared),
    )
    return Facts(type(batch).__name__, ", ".join(head), stores)


def row_facts(name: str, tensors: object, cells: object, meta: object, most: int) -> Facts:
    """The facts of one row, by its stores."""
    stores = (
        _store_facts("tensor", tensors, most),
        _store_facts("non_tensor", cells, most),
        _store_facts("meta", meta, most),
    )
    return Facts(name, "1 row", stores)


def _store_facts(
    placement: PlacementName,
    store: object,
    most: int,
    writers: Mapping[str, str] | None = None,
    declared: Collection[tuple[str, PlacementName]] = (),
) -> StoreFacts:
    held = _held(store)
    if held is None:
        instead = "-" if store is None else one_line(_tried(describe, store, type(store).__name__))
        return StoreFacts(STORE_NAMES[placement], (), instead=instead)
    written = writers or {}
    fields = tuple(
        FieldFacts(
            key=one_line(_tried(str, key, type(key).__name__)),
            placement=placement,
            value=value,
            writer=one_line(written.get(key, "")),
            declared=(key, placement) in declared,
        )
        for key, value in islice(held.items(), most)
    )
    return StoreFacts(STORE_NAMES[placement], fields, len(held) - len(fields))


def _rows(batch: Batch, tensors: Any, columns: object, meta: object) -> str:
    """The number of rows, or why there is no one number."""
    try:
        # Plain dicts: what is wrong is found by asking for names, which would be a look at what was withheld.
        check_stores("check_consistency", tensors, *(cast("dict[str, Any]", _held(store)) for store in (columns, meta)))
        return count(len(batch), "row")
    except BatchError as error:
        wrong = [v.actual if v.code == "BP016" else f"{v.field}: {v.actual}" for v in error.violations]
        more = [f"{len(wrong) - _PROBLEMS} more"] if len(wrong) > _PROBLEMS else []
        return f"inconsistent ({'; '.join([one_line(text, _PROBLEM) for text in wrong[:_PROBLEMS]] + more)})"
    except Exception:  # a store that is none
        return "inconsistent"


def _held(store: Any) -> dict[str, object] | None:
    """The fields of a store; None for what is no store."""
    try:
        return dict(store.items())
    except Exception:
        return None


def _device(value: object) -> str:
    return str(value.device or "") if isinstance(value, (torch.Tensor, TensorDictBase)) else ""


def _size(value: object) -> Size:
    if isinstance(value, (torch.Tensor, TensorDictBase)):
        return Size(value_bytes(value))
    return deep_size(value, _MEASURED)


def _tried(said: Callable[[Any], T], value: object, otherwise: T) -> T:
    """What is said of a value; a user's own type may do anything, and showing it must not end a program."""
    try:
        return said(value)
    except Exception:
        return otherwise
