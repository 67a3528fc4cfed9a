"""What a batch is: its three stores, what it carries unseen, and how one batch is derived from another."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from tensordict import TensorDict
from typing_extensions import Self

from batchpact.dataproto import build
from batchpact.dataproto.binding import Bound
from batchpact.dataproto.carried import NOTHING, Carried
from batchpact.dataproto.handout import HandOut, hand_columns, hand_meta, hand_tensors
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.row_marks import UNMARKED, RowMarks
from batchpact.dataproto.tensors import clone, items, store
from batchpact.dataproto.wire.receiving import receive
from batchpact.dataproto.wire.sending import Reduced, reduce
from batchpact.dataproto.withheld import HandedDict, HandedTensorDict, Withheld
from batchpact.schemas.describe import describe
from batchpact.schemas.equality import difference
from batchpact.schemas.stores import Column, Stores

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_STAYS = frozenset({"batch", "non_tensor_batch", "meta_info", "_handed"})


class Batch:
    """The part of `DataProto` that its operations are built on: stores, consistency, equality, pickling, derivation."""

    # What a batch carries unseen. The mappings are replaced when they change and never written into.
    _marks: RowMarks = UNMARKED
    _writers: Mapping[str, str] = _NOTHING
    _reads: Mapping[str, Collection[str]] = _NOTHING
    _rewrites: frozenset[str] = frozenset()
    _bound: Bound | None = None
    _carried: Carried = NOTHING
    _handed: tuple[Batch, HandOut] | None = None

    def __init__(
        self,
        batch: TensorDict | None = None,
        non_tensor_batch: dict[str, Column] | None = None,
        meta_info: dict[str, Any] | None = None,
    ) -> None:
        # Pyright would take a TensorDict that the class declares for a descriptor: it does not know all of its bases.
        self.batch: TensorDict | None = batch
        self.non_tensor_batch: dict[str, Column] = {} if non_tensor_batch is None else non_tensor_batch
        self.meta_info: dict[str, Any] = {} if meta_info is None else meta_info
        self.check_consistency()

    # --- looking at one ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        batch, columns = self.batch, self.non_tensor_batch
        if batch is not None and len(batch.batch_size) and (not columns or len(batch.keys())):
            return int(batch.batch_size[0])
        return next((len(column) for column in columns.values()), 0)

    def stores(self) -> Stores:
        """The three stores as plain mappings, for checks."""
        return Stores(items(self.batch), self.non_tensor_batch, self.meta_info)

    def history(self) -> Mapping[str, str]:
        """What is known of each name, in words: who wrote it last, or who read it last."""
        read = {key: f"last read by '{stage}'" for stage, keys in self._reads.items() for key in keys}
        return read | {key: f"written by '{stage}'" for key, stage in self._writers.items()}

    def last_writer(self, key: str) -> str | None:
        """The stage that wrote a field last, if one did."""
        return self._writers.get(key)

    def check_consistency(self) -> None:
        """Check what holds for every batch: one number of rows, one place for each name.

        Raises:
            BatchError: naming every field that differs.
        """
        self.consistent_stores()

    def consistent_stores(self) -> Stores:
        """The three stores as plain mappings, after `check_consistency`."""
        return build.check_stores("check_consistency", self.batch, self.non_tensor_batch, self.meta_info)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        mine, theirs = self.stores(), other.stores()
        same = (difference(dict(one), dict(two)) is None for one, two in zip(mine, theirs, strict=True))
        return len(self) == len(other) and all(same)

    __hash__ = None  # type: ignore[assignment]  # equal by content and mutable, like a dict

    # --- deriving one ---

    def _derive(self, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any]) -> Self:
        """A batch that comes from this one: checked stores of its own, the same history, schema and withheld names."""
        made = object.__new__(type(self))
        made.batch = batch
        if self._handed is None:
            made.non_tensor_batch, made.meta_info = columns, meta
        else:
            made.non_tensor_batch, made.meta_info = self._known(columns), self._known(meta)
            made._handed = self._handed
        if self._writers or self._reads:
            made._writers, made._reads, made._rewrites = self._writers, self._reads, self._rewrites
        if self._bound is not None:
            made._bound = self._bound
            self._carried = self._carried.now(self.meta_info, self._bound.counted)
            made._carried = self._carried.handed_on()
        return made

    @property
    def _withheld(self) -> Withheld | None:
        """The names that were not handed out, inside a stage."""
        return None if self._handed is None else self._handed[1].withheld

    def _known(self, values: dict[str, Any]) -> dict[str, Any]:
        """A mapping for a batch or a row that comes from this one; inside a stage it knows what was withheld."""
        withheld = self._withheld
        return values if withheld is None else HandedDict(values, withheld)

    def _tensor_store(self, tensors: dict[str, Any], batch_size: Sequence[int]) -> TensorDict:
        device = None if self.batch is None else self.batch.device
        withheld = self._withheld
        if withheld is None:
            return store(tensors, batch_size, device)
        return HandedTensorDict.hand(tensors, torch.Size(batch_size), device, withheld)

    def _put(self, fields: Stores, drops: Collection[str]) -> None:
        """Set fields that are known to fit and remove others, in place."""
        if self._marks.absent:
            gone = {*drops, *fields.names()}
            self._marks = self._marks.of_fields([key for key in self._marks.absent if key not in gone])
        build.put(self, fields, drops, self._tensor_store)

    def _unbind_where_incomplete(self) -> None:
        """A batch from which required fields were taken on purpose is no longer bound."""
        if self._bound is not None:
            self._bound = self._bound.for_fields(self.stores())

    def _row_count(self) -> int | None:
        """The rows of this batch, or None where there is neither tensor nor column to have any."""
        has_tensors = self.batch is not None and len(self.batch.keys())
        return len(self) if has_tensors or self.non_tensor_batch else None

    # --- pickling and copying ------------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: Any) -> Reduced:
        """Plain parts beside the memory of the tensors: pickling never changes the batch."""
        return reduce(type(self), self.batch, self.non_tensor_batch, self.meta_info, self._unseen(), int(protocol))

    def __getstate__(self) -> object:
        """What pickle would send, in memory of its own; `__setstate__` makes a batch of it, as with verl's."""
        return self.__reduce_ex__(2)[1]

    def __setstate__(self, state: Any) -> None:
        made = receive(*state)
        self.__dict__.clear()
        self.__dict__.update(made.__dict__)

    def __copy__(self) -> Self:
        """A batch with mappings of its own that shares the tensors and the columns."""
        batch = None if self.batch is None else self._tensor_store(items(self.batch), self.batch.batch_size)
        made = self._derive(batch, dict(self.non_tensor_batch), dict(self.meta_info))
        made.__dict__.update({name: value for name, value in self._unseen().items() if name not in made.__dict__})
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A batch with values of its own."""
        made = object.__new__(type(self))
        memo[id(self)] = made
        tensors = items(self.batch)
        # torch's own deep copy takes the whole memory that a view is of, and not every tensor.
        memo.update({id(value): clone(value) for value in tensors.values() if id(value) not in memo})
        parts = tensors, dict(self.non_tensor_batch), dict(self.meta_info), self._unseen()
        tensors, columns, meta, unseen = copy.deepcopy(parts, memo)
        batch = None if self.batch is None else store(tensors, self.batch.batch_size, self.batch.device)
        return made._fill(batch, columns, meta, unseen)

    def _unseen(self) -> dict[str, Any]:
        """What is not in the stores and goes where the batch goes; what a stage was not handed stays behind."""
        unseen = {name: value for name, value in self.__dict__.items() if name not in _STAYS}
        unseen["_writers"], unseen["_reads"] = dict(self._writers), dict(self._reads)
        return unseen

    @classmethod
    def _arrive(
        cls, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any], unseen: Mapping[str, Any]
    ) -> Self:
        """The batch that was sent."""
        return object.__new__(cls)._fill(batch, columns, meta, unseen)

    def _fill(
        self, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any], unseen: Mapping[str, Any]
    ) -> Self:
        self.__dict__.update(unseen)
        self.batch, self.non_tensor_batch, self.meta_info = batch, columns, meta
        self._carried = self._carried.received()
        return self

    # --- handing out ---------------------------------------------------------------------------------------------

    def _hand_out(self, terms: HandOut) -> Self:
        """The batch that a stage is handed: its stores are made when somebody first looks at them."""
        made = object.__new__(type(self))
        made._handed = (self, terms)
        if self._marks is not UNMARKED:
            made._marks = self._marks._replace(origin=None)
        return made

    def __getattr__(self, name: str) -> Any:
        handed = self.__dict__.get("_handed")
        if handed is None or name not in ("batch", "non_tensor_batch", "meta_info"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        source, terms = handed
        value: Any
        if name == "batch":
            value = hand_tensors(source.batch, terms)
        elif name == "non_tensor_batch":
            value = hand_columns(source.non_tensor_batch, terms)
        else:
            value = hand_meta(source.meta_info, terms)
        self.__dict__[name] = value
        return value


def check_batch(function: str, data: object) -> None:
    """A function of batches was given one, and it is consistent.

    Raises:
        BatchError: if not.
    """
    if not isinstance(data, Batch):
        hint = "DataProto.from_verl(x) and DataProto.from_tensordict(x) make one"
        raise refuse(function, "BP045", "data", describe(data), "a DataProto", hint)
    data.check_consistency()
