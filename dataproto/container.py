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
from batchpact.dataproto.concat import concat_batches
from batchpact.dataproto.conversion import Conversions
from batchpact.dataproto.field_operations import FieldOperations
from batchpact.dataproto.files.operations import FileOperations
from batchpact.dataproto.information import Information
from batchpact.dataproto.iteration import mini_batches
from batchpact.dataproto.padding import PaddingOperations
from batchpact.dataproto.union import OnConflict, join_in_place
from batchpact.schemas.batch import BatchSchema


class DataProto(PaddingOperations, FieldOperations, Conversions, FileOperations, Information):
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
            num_batch_dims: 1; a batch has one batch axis.
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
        stores = self.consistent_stores()
        made = bound(schema, dims or {})
        made.check(stores, self.history(), values=True, pads=self._marks.pads)
        self._bound = made
        return self

    # --- joining -------------------------------------------------------------------------------------------------

    def union(self, other: DataProto, *, on_conflict: OnConflict = "error", realign: bool = False) -> Self:
        """Join the fields of another batch of the same rows to this one, in place.

        A name on both sides has one place, dtype, shape and equal values (NaN equals NaN); meta with a declared `Merge`
        is merged. What a stage is declared to rewrite replaces what stood here. By a declared `Key()` both sides must
        have the same rows in the same order.

        Args:
            other: the batch to join; it stays as it is, and shares its tensors with this one.
            on_conflict: which side counts where values differ.
            realign: put the rows of `other` into the order of this batch first, by the declared key.

        Raises:
            BatchError: naming every difference.
        """
        join_in_place(self, other, on_conflict, realign=realign)
        return self

    @staticmethod
    def concat(data: Sequence[DataProto], *, pad: bool = False) -> DataProto:
        """Put batches one below the other.

        Every part has the same fields, in the same stores, with the same dtype and row shape. Meta values must be equal
        where several parts have them; `metrics` is collected into lists. A bound schema says more: `Merge` how meta
        values become one, `Fill` what stands in the rows of parts without an optional field (see `presence`).

        Args:
            data: the parts; they stay as they are.
            pad: make rows of different lengths equally long, dim by dim, as the `Pad` of the fields says.

        Raises:
            BatchError: naming field, parts and the stage that wrote the field, for every difference.
            ContractError: where the whole, or with `pad` a part, does not keep to the bound schema.
        """
        return concat_batches(data, pad=pad)

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
        self.check_consistency()
        options = mini_batch_size, epochs, seed, dataloader_kwargs
        return mini_batches("make_iterator", len(self), self.select_idxs, *options)
