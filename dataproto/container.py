"""`DataProto`: the batch that travels between stages, with the surface that verl users know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from typing_extensions import Self

from batchpact.dataproto import binding, build, splitting
from batchpact.dataproto.equality import difference
from batchpact.dataproto.handout import HandOut, hand_columns, hand_meta, hand_tensors
from batchpact.dataproto.join import OnConflict, compare_rows, concat_stores, union_stores
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.rows import Index, RowLike, Rows, plan_rows, repeat_rows
from batchpact.dataproto.tensors import items, store, take_all
from batchpact.dataproto.withheld import HandedDict, HandedTensorDict
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.stores import Column, Stores

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass
class DataProtoItem:
    """One row of a batch: tensors without their batch axis, one object per column, the meta."""

    batch: TensorDictBase | None = None
    non_tensor_batch: dict[str, Any] = field(default_factory=dict)
    meta_info: dict[str, Any] = field(default_factory=dict)


class DataProto:
    """A batch: tensors and columns that share the batch axis, and meta for the batch as a whole.

    Args:
        batch: tensors, batch axis first; None for a batch without tensors.
        non_tensor_batch: numpy columns, one value per row.
        meta_info: anything that has no batch axis.

    Every operation checks first and changes after: one that raises has changed nothing. Direct writes into the stores
    are checked at the next operation. Beside its stores a batch carries, unseen, which stage wrote each field last,
    which rows are padding and, inside a stage, which row of the input each row came from; operations keep these right.

    Raises:
        BatchError: if tensors and columns have different numbers of rows, or a name stands in two stores.
    """

    batch: TensorDict | None
    non_tensor_batch: dict[str, Column]
    meta_info: dict[str, Any]

    # What a batch carries unseen. The mappings are replaced when they change and never written into.
    _origin: Index | None = None
    _pads: np.ndarray | None = None
    _writers: Mapping[str, str] = _NOTHING
    _reads: Mapping[str, Collection[str]] = _NOTHING
    _rewrites: frozenset[str] = frozenset()
    _schema: type[BatchSchema] | None = None
    _handed: tuple[DataProto, HandOut] | None = None

    def __init__(
        self,
        batch: TensorDict | None = None,
        non_tensor_batch: dict[str, Column] | None = None,
        meta_info: dict[str, Any] | None = None,
    ) -> None:
        self.batch = batch
        self.non_tensor_batch = {} if non_tensor_batch is None else non_tensor_batch
        self.meta_info = {} if meta_info is None else meta_info
        self.check_consistency()

    # --- making one ----------------------------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls,
        tensors: Mapping[str, torch.Tensor] | None = None,
        non_tensors: Mapping[str, Any] | None = None,
        meta_info: Mapping[str, Any] | None = None,
        num_batch_dims: int = 1,
    ) -> Self:
        """Make a batch of dicts, which are left as they are.

        Args:
            tensors: tensors by name, `[batch, ...]`.
            non_tensors: columns by name; a list becomes an object column, a numeric array keeps its dtype.
            meta_info: meta by name.
            num_batch_dims: how many leading axes all tensors share.

        Raises:
            BatchError: naming every field that is in the wrong dict or has other rows than the rest.
        """
        batch, columns = build.from_dicts(tensors or {}, non_tensors or {}, num_batch_dims)
        return cls(batch, columns, dict(meta_info or {}))

    @classmethod
    def from_single_dict(
        cls,
        data: Mapping[str, Any],
        meta_info: Mapping[str, Any] | None = None,
        *,
        schema: type[BatchSchema] | None = None,
    ) -> Self:
        """Make a batch of one dict: tensors are tensors, numpy arrays are columns.

        Args:
            data: the fields by name.
            meta_info: meta by name.
            schema: where given, its declarations place the fields (lists and batch-wide values are then allowed,
                too), and it is bound to the result.

        Raises:
            BatchError: for a value whose place is not plain.
        """
        tensors, columns, meta = build.sort_fields(data, schema)
        made = cls.from_dict(tensors, columns, {**(meta_info or {}), **meta})
        return made if schema is None else made.bind(schema)

    def bind(self, schema: type[BatchSchema]) -> Self:
        """Bind a schema: its fields are checked now, values included, and from now on at every union and concat.

        Fields that the schema does not declare are free. Batches derived from this one keep the schema.

        Raises:
            ContractError: with everything that does not keep to the schema; it is not bound then.
        """
        binding.check_bound(self.stores(), schema, self.history(), values=True)
        self._schema = schema
        return self

    # --- looking at one ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if self.batch is not None and len(self.batch.batch_size):
            return int(self.batch.batch_size[0])
        return next((len(column) for column in self.non_tensor_batch.values()), 0)

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
        build.check_stores("check_consistency", self.batch, self.non_tensor_batch, self.meta_info)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DataProto):
            return NotImplemented
        return len(self) == len(other) and difference(self.stores(), other.stores()) is None

    __hash__ = None  # type: ignore[assignment]  # equal by content and mutable, like a dict

    def __repr__(self) -> str:
        return build.brief(len(self), self.stores())

    # --- rows ----------------------------------------------------------------------------------------------------

    def __getitem__(self, item: int | np.integer[Any] | RowLike) -> Any:
        """Rows of the batch: a `DataProtoItem` for an int, a `DataProto` for a slice, list, array, tensor or mask."""
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            row = int(item)
            if not -len(self) <= row < len(self):
                raise refuse("__getitem__", "BP044", "index", f"row {row}", f"the batch has {len(self)} rows")
            cells = {key: column[row] for key, column in self.non_tensor_batch.items()}
            tensors = None if self.batch is None else self.batch[row]
            return DataProtoItem(tensors, self._known(cells), self._known(dict(self.meta_info)))
        self.check_consistency()
        return self._take(plan_rows("__getitem__", item, len(self)))

    def select_idxs(self, idxs: RowLike) -> Self:
        """The rows of an index or a mask."""
        self.check_consistency()
        return self._take(plan_rows("select_idxs", idxs, len(self)))

    def slice(self, start: int | None = None, end: int | None = None, step: int | None = None) -> Self:
        """The rows of a slice, as views where the step allows."""
        self.check_consistency()
        return self._take(plan_rows("slice", slice(start, end, step), len(self)))

    def repeat(self, repeat_times: int = 2, interleave: bool = True) -> Self:
        """Every row `repeat_times` times: in a run each, or with `interleave=False` the whole batch over and over."""
        self.check_consistency()
        splitting.check_count("repeat", "repeat_times", repeat_times)
        return self._take(repeat_rows(len(self), repeat_times, interleave=interleave))

    def reorder(self, indices: RowLike) -> None:
        """Put the rows into another order, in place."""
        self.check_consistency()
        taken = self._take(plan_rows("reorder", indices, len(self)))
        self.batch, self.non_tensor_batch = taken.batch, taken.non_tensor_batch
        self._origin, self._pads = taken._origin, taken._pads

    def chunk(self, chunks: int, *, uneven: bool = False) -> list[Self]:
        """Cut the batch into `chunks` parts of equal length, as views.

        Args:
            chunks: how many parts.
            uneven: allow parts that differ by one row, the longer ones first.

        Raises:
            BatchError: if the rows cannot be shared equally and `uneven` is not set.
        """
        self.check_consistency()
        return [self._take(rows) for rows in splitting.chunk_rows(len(self), chunks, uneven=uneven)]

    def split(self, split_size: int) -> list[Self]:
        """Cut the batch into parts of `split_size` rows, as views; the last part may be shorter."""
        self.check_consistency()
        return [self._take(rows) for rows in splitting.split_rows(len(self), split_size)]

    def _take(self, rows: Rows) -> Self:
        """The one way in which rows leave a batch: one plan, applied to every store and to what is carried unseen."""
        batch = self.batch
        if batch is not None:
            batch = self._tensor_store(take_all(batch, rows), (rows.count, *batch.batch_size[1:]))
        columns = {key: rows.of(column) for key, column in self.non_tensor_batch.items()}
        taken = self._derive(batch, columns, dict(self.meta_info))
        if self._origin is not None:
            taken._origin = rows.of(self._origin)
        if self._pads is not None:
            taken._pads = rows.of(self._pads)
        return taken

    def _derive(self, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any]) -> Self:
        """A batch that comes from this one: checked stores of its own, the same history, schema and withheld names."""
        made = object.__new__(type(self))
        made.batch = batch
        made.non_tensor_batch = self._known(columns)
        made.meta_info = self._known(meta)
        made._writers, made._reads = self._writers, self._reads
        made._schema, made._handed = self._schema, self._handed
        return made

    def _known(self, values: dict[str, Any]) -> dict[str, Any]:
        """A mapping for a batch or a row that comes from this one; inside a stage it knows what was withheld."""
        withheld = None if self._handed is None else self._handed[1].withheld
        return values if withheld is None else HandedDict(values, withheld)

    def _tensor_store(self, tensors: dict[str, Any], batch_size: Sequence[int]) -> TensorDict:
        device = None if self.batch is None else self.batch.device
        withheld = None if self._handed is None else self._handed[1].withheld
        if withheld is None:
            return store(tensors, batch_size, device)
        return HandedTensorDict.hand(tensors, torch.Size(batch_size), device, withheld)

    # --- fields --------------------------------------------------------------------------------------------------

    def select(
        self,
        batch_keys: Sequence[str] | None = None,
        non_tensor_batch_keys: Sequence[str] | None = None,
        meta_info_keys: Sequence[str] | None = None,
        deepcopy: bool = False,
    ) -> Self:
        """Some of the fields; None takes all of a store.

        Raises:
            MissingFieldError: naming every key that is not there, whichever store it is asked from.
        """
        self.check_consistency()
        chosen = build.choose("select", self.stores(), (batch_keys, non_tensor_batch_keys, meta_info_keys))
        columns, meta = build.columns_of(chosen), dict(chosen.meta)
        if deepcopy:
            columns, meta = build.deep_copies(columns, meta)
        batch = None if self.batch is None else self._tensor_store(dict(chosen.tensors), self.batch.batch_size)
        made = self._derive(batch, columns, meta)
        made._origin, made._pads = self._origin, self._pads
        return made

    def pop(
        self,
        batch_keys: Sequence[str] | None = None,
        non_tensor_batch_keys: Sequence[str] | None = None,
        meta_info_keys: Sequence[str] | None = None,
    ) -> Self:
        """Take fields out of this batch and return them as a batch.

        Raises:
            MissingFieldError: naming every key that is not there; nothing is taken out then.
        """
        self.check_consistency()
        chosen = build.choose(
            "pop", self.stores(), (batch_keys or (), non_tensor_batch_keys or (), meta_info_keys or ())
        )
        batch = None
        if chosen.tensors and self.batch is not None:
            batch = self._tensor_store(dict(chosen.tensors), self.batch.batch_size)
            for key in chosen.tensors:
                self.batch.pop(key)
        for key in chosen.columns:
            del self.non_tensor_batch[key]
        for key in chosen.meta:
            del self.meta_info[key]
        popped = self._derive(batch, build.columns_of(chosen), dict(chosen.meta))
        popped._origin, popped._pads = self._origin, self._pads
        return popped

    def rename(self, old_keys: str | Sequence[str], new_keys: str | Sequence[str]) -> Self:
        """Give tensors other names, in place.

        Raises:
            BatchError: if the two lists differ in length or a new name is taken.
            MissingFieldError: naming every old key that is not there.
        """
        old = [old_keys] if isinstance(old_keys, str) else list(old_keys)
        new = [new_keys] if isinstance(new_keys, str) else list(new_keys)
        build.choose("rename", self.stores(), (old, (), ()))
        build.check_new_names(old, new, self.stores())
        if self.batch is not None:
            self.batch.update({name: self.batch.pop(key) for key, name in zip(old, new, strict=True)})
        writers = dict(self._writers)
        writers.update({name: writers.pop(key) for key, name in zip(old, new, strict=True) if key in writers})
        self._writers = writers
        return self

    def to(self, device: torch.device | str | int) -> Self:
        """Move the tensors to a device, in place."""
        if self.batch is not None:
            self.batch = self.batch.to(device)
        return self

    # --- joining -------------------------------------------------------------------------------------------------

    def union(self, other: DataProto, *, on_conflict: OnConflict = "error") -> Self:
        """Join the fields of another batch of the same rows to this one, in place.

        A name on both sides has one place, dtype, shape and equal values (NaN equals NaN). What a stage is declared to
        rewrite replaces what stood here.

        Args:
            other: the batch to join; it stays as it is, and shares its tensors with this one.
            on_conflict: which side counts where values differ.

        Raises:
            BatchError: naming every difference.
        """
        self.check_consistency()
        other.check_consistency()
        left, right = self.stores(), other.stores()
        rows = compare_rows(self._row_count(), other._row_count()) or self._compare_origins(other)
        if rows:
            raise refuse_all("union", rows)
        joined = union_stores(left, right, on_conflict, other._rewrites, self.history())
        if joined.violations:
            raise refuse_all("union", joined.violations)
        if self._schema is not None:
            merged = Stores(*({**one, **two} for one, two in zip(left[:3], joined.stores[:3], strict=True)))
            binding.check_bound(merged, self._schema, self.history(), values=False)
        self._put(joined.stores, [key for _, key in joined.leaves])
        self._writers = {**self._writers, **other._writers}
        self._pads = other._pads if self._pads is None else self._pads
        return self

    def _put(self, fields: Stores, drops: Collection[str]) -> None:
        """Set fields that are known to fit and remove others; a field that changes its place leaves the old one."""
        for key in drops:
            for held in (self.batch, self.non_tensor_batch, self.meta_info):
                if held is not None and key in held.keys():  # noqa: SIM118  # a TensorDict has no other membership test
                    held.pop(key)
        if fields.tensors and (self.batch is None or not len(self.batch.keys())):
            rows = next(iter(fields.tensors.values())).shape[0]  # type: ignore[attr-defined]
            self.batch = self._tensor_store(dict(fields.tensors), (rows,))
        elif self.batch is not None:
            for key, value in fields.tensors.items():
                self.batch[key] = value
        self.non_tensor_batch.update(fields.columns)  # type: ignore[arg-type]
        self.meta_info.update(fields.meta)

    def _row_count(self) -> int | None:
        """The rows of this batch, or None where there is neither tensor nor column to have any."""
        has_tensors = self.batch is not None and len(self.batch.keys())
        return len(self) if has_tensors or self.non_tensor_batch else None

    def _compare_origins(self, other: DataProto) -> list[Any]:
        mine, theirs = self._origin, other._origin
        if mine is None or theirs is None or mine is theirs or np.array_equal(mine, theirs):
            return []
        return [build.other_rows(int(np.flatnonzero(mine != theirs)[0]), mine, theirs)]

    @staticmethod
    def concat(data: Sequence[DataProto]) -> DataProto:
        """Put batches one below the other.

        Every part has the same fields, in the same stores, with the same dtype and row shape. Meta values must be equal
        where several parts have them; `metrics` is collected into lists.

        Raises:
            BatchError: naming field, parts and the stage that wrote the field, for every difference.
        """
        if not data:
            raise refuse("concat", "BP042", "parts", "no parts", "at least one")
        for part in data:
            part.check_consistency()
        stores, violations = concat_stores([part.stores() for part in data], [part.history() for part in data])
        if violations:
            raise refuse_all("concat", violations)
        return build.joined(data, stores)

    def __iter__(self) -> Iterator[DataProtoItem]:
        return (self[row] for row in range(len(self)))

    # --- pickling ------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Plain parts: pickling never changes the batch, and what a stage was not handed stays behind."""
        carried = {key: value for key, value in self.__dict__.items() if key.startswith("_") and key != "_handed"}
        batch = None if self.batch is None else (items(self.batch), tuple(self.batch.batch_size), self.batch.device)
        carried["_writers"], carried["_reads"] = dict(self._writers), dict(self._reads)
        return carried | {
            "batch": batch,
            "non_tensor_batch": dict(self.non_tensor_batch),
            "meta_info": dict(self.meta_info),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        batch = state.pop("batch")
        self.__dict__.update(state)
        self.batch = None if batch is None else store(*batch)

    # --- handing out ---------------------------------------------------------------------------------------------

    def _hand_out(self, terms: HandOut) -> Self:
        """The batch that a stage is handed: its stores are made when somebody first looks at them."""
        made = object.__new__(type(self))
        made.__dict__["_handed"] = (self, terms)
        if self._pads is not None:
            made._pads = self._pads
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
