"""`DataProto`: the batch that travels between stages, with the surface that verl users know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from typing_extensions import Self

from batchpact.dataproto import build
from batchpact.dataproto.auto_padding import AUTO_PADDING_KEY
from batchpact.dataproto.binding import bound
from batchpact.dataproto.column_chunks import unfold_columns
from batchpact.dataproto.concat import concat_stores, joined
from batchpact.dataproto.conversion import Conversions
from batchpact.dataproto.field_operations import FieldOperations
from batchpact.dataproto.information import Information
from batchpact.dataproto.iteration import mini_batches
from batchpact.dataproto.padding import PaddingOperations
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.union import OnConflict, compare_origins, compare_rows, union_stores
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.stores import Stores


class DataProto(PaddingOperations, FieldOperations, Conversions, Information):
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

    # --- making one ----------------------------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls,
        tensors: Mapping[str, torch.Tensor] | None = None,
        non_tensors: Mapping[str, Any] | None = None,
        meta_info: Mapping[str, Any] | None = None,
        num_batch_dims: int = 1,
        auto_padding: bool = False,
    ) -> Self:
        """Make a batch of dicts, which are left as they are.

        Args:
            tensors: tensors by name, `[batch, ...]`.
            non_tensors: columns by name; a list becomes an object column, a numeric array keeps its dtype.
            meta_info: meta by name.
            num_batch_dims: how many leading axes all tensors share.
            auto_padding: switch auto-padding on for this batch, by a key in its meta.

        Raises:
            BatchError: naming every field that is in the wrong dict or has other rows than the rest.
        """
        batch, columns = build.from_dicts(tensors or {}, non_tensors or {}, num_batch_dims)
        return cls(batch, columns, {**(meta_info or {}), **({AUTO_PADDING_KEY: True} if auto_padding else {})})

    @classmethod
    def from_single_dict(
        cls,
        data: Mapping[str, Any],
        meta_info: Mapping[str, Any] | None = None,
        auto_padding: bool = False,
        *,
        schema: type[BatchSchema] | None = None,
    ) -> Self:
        """Make a batch of one dict: tensors are tensors, numpy arrays are columns.

        Args:
            data: the fields by name.
            meta_info: meta by name.
            auto_padding: switch auto-padding on for this batch, by a key in its meta.
            schema: where given, its declarations place the fields (lists and batch-wide values are then allowed,
                too), and it is bound to the result.

        Raises:
            BatchError: for a value whose place is not plain.
        """
        tensors, columns, meta = build.sort_fields(data, schema)
        made = cls.from_dict(tensors, columns, {**(meta_info or {}), **meta}, auto_padding=auto_padding)
        return made if schema is None else made.bind(schema)

    def bind(self, schema: type[BatchSchema], *, dims: Mapping[str, int] | None = None) -> Self:
        """Bind a schema: its fields are checked now, values included, and from now on at every union and concat.

        Fields that the schema does not declare are free. Batches derived from this one keep the schema.

        Args:
            schema: what the batch keeps to.
            dims: sizes that dims must have, beyond agreeing with each other.

        Raises:
            BatchError: if this is no schema, or the schema has no such dim.
            ContractError: with everything that does not keep to the schema; it is not bound then.
        """
        self.check_consistency()
        made = bound(schema, dims or {})
        made.check(self.stores(), self.history(), values=True)
        self._bound = made
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
        mine, theirs = self._row_count(), other._row_count()
        rows = compare_rows(mine, theirs)
        if not rows and mine is not None and theirs is not None:
            rows = compare_origins(self._origin, other._origin)
        if rows:
            raise refuse_all("union", rows)
        gained = union_stores(left, right, on_conflict, other._rewrites, self.history)
        if gained.violations:
            raise refuse_all("union", gained.violations)
        if self._bound is not None:
            merged = Stores(*({**one, **two} for one, two in zip(left[:3], gained.stores[:3], strict=True)))
            self._bound.check(merged, self.history())
        self._put(gained.stores, [key for _, key in gained.leaves])
        self._writers = {**self._writers, **other._writers}
        self._pads = other._pads if self._pads is None else self._pads
        return self

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
        stores, violations = concat_stores([part.stores() for part in data], [part.history for part in data])
        if violations:
            raise refuse_all("concat", violations)
        made = joined(data, stores)
        if made._bound is not None:
            made._bound.check(made.stores(), made.history())
        return made

    # --- other rows ----------------------------------------------------------------------------------------------

    def unfold_column_chunks(self, n_split: int, split_keys: Sequence[str] | None = None) -> Self:
        """Cut the second axis of some fields into rows; the other fields are repeated beside them.

        A bound schema does not go along: the fields have other shapes then.

        Args:
            n_split: into how many parts; each row becomes as many.
            split_keys: tensors and columns that are cut, `[batch, n, ...]`; all others are repeated.

        Raises:
            MissingFieldError: naming every key that is neither a tensor nor a column.
            BatchError: naming every field whose second axis cannot be cut so.
        """
        return unfold_columns(self, n_split, split_keys or ())

    def make_iterator(
        self,
        mini_batch_size: int,
        epochs: int,
        seed: int | None = None,
        dataloader_kwargs: Mapping[str, Any] | None = None,
    ) -> Iterator[Self]:
        """Go through the batch in mini-batches, several times.

        Args:
            mini_batch_size: the rows of each; the batch is a multiple of it.
            epochs: how many times.
            seed: seeds the order, where `dataloader_kwargs` ask for a random one.
            dataloader_kwargs: options of torch's `DataLoader`, such as `shuffle`.

        Returns:
            An iterator over batches, each with a `meta_info` of its own.

        Raises:
            BatchError: if rows would be left over, or an option is one that this method sets.
        """
        return mini_batches(self, mini_batch_size, epochs, seed, dataloader_kwargs)
