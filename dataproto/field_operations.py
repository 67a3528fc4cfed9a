"""Operations on fields: the same strictness in all three stores."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from tensordict import TensorDict
from typing_extensions import Self

from batchpact.dataproto import build
from batchpact.dataproto.core import Batch
from batchpact.dataproto.row_marks import UNMARKED, Mask, marked
from batchpact.dataproto.selection import check_new_names, choose


class FieldOperations(Batch):
    """Selecting, popping, renaming and moving fields."""

    def select(
        self,
        batch_keys: Sequence[str] | None = None,
        non_tensor_batch_keys: Sequence[str] | None = None,
        meta_info_keys: Sequence[str] | None = None,
        deepcopy: bool = False,
    ) -> Self:
        """Some of the fields; None takes all of a store. A bound schema goes along if all that it requires does.

        Raises:
            MissingFieldError: naming every key that is not there, whichever store it is asked from.
        """
        chosen = choose("select", self.consistent_stores(), (batch_keys, non_tensor_batch_keys, meta_info_keys))
        tensors, columns, meta = build.own(chosen)
        if deepcopy:
            columns = {key: copy.deepcopy(column) for key, column in columns.items()}
            meta = copy.deepcopy(meta)
        batch = None if self.batch is None else self._tensor_store(tensors, self.batch.batch_size)
        made = self._derive(batch, columns, meta)
        if self._marks is not UNMARKED and len(made) == len(self):  # without any field left there may be no rows left
            made._marks = self._marks.of_fields(chosen.names())
        made._unbind_where_incomplete()
        return made

    def pop(
        self,
        batch_keys: Sequence[str] | None = None,
        non_tensor_batch_keys: Sequence[str] | None = None,
        meta_info_keys: Sequence[str] | None = None,
    ) -> Self:
        """Take fields out of this batch and return them as a batch. A batch that lacks a required field is unbound.

        Raises:
            MissingFieldError: naming every key that is not there; nothing is taken out then.
        """
        stores, rows = self.consistent_stores(), len(self)
        chosen = choose("pop", stores, (batch_keys or (), non_tensor_batch_keys or (), meta_info_keys or ()))
        tensors, columns, meta = build.own(chosen)
        batch = None
        if tensors and self.batch is not None:
            batch = self._tensor_store(tensors, self.batch.batch_size)
            build.unlock(self, self._tensor_store)
            for key in tensors:
                self.batch.pop(key)
        for key in columns:
            del self.non_tensor_batch[key]
        for key in meta:
            del self.meta_info[key]
        popped = self._derive(batch, columns, meta)
        if self._marks is not UNMARKED:
            marks, left = self._marks, [key for key in stores.names() if chosen.find(key) is None]
            popped._marks = marks.of_fields(chosen.names()) if len(popped) == rows else UNMARKED
            self._marks = marks.of_fields(left) if len(self) == rows else UNMARKED
        popped._unbind_where_incomplete()
        self._unbind_where_incomplete()
        return popped

    def rename(self, old_keys: str | Sequence[str], new_keys: str | Sequence[str]) -> Self:
        """Give tensors other names, in place.

        Raises:
            BatchError: if the two lists differ in length or a new name is taken.
            MissingFieldError: naming every old key that is not there.
        """
        old = [old_keys] if isinstance(old_keys, str) else list(old_keys)
        new = [new_keys] if isinstance(new_keys, str) else list(new_keys)
        stores = self.consistent_stores()
        choose("rename", stores, (old, (), ()))
        check_new_names(old, new, stores)
        if self.batch is not None:
            build.unlock(self, self._tensor_store)
            self.batch.update({name: self.batch.pop(key) for key, name in zip(old, new, strict=True)})
        names = dict(zip(old, new, strict=True))
        self._writers = {names.get(key, key): stage for key, stage in self._writers.items()}
        self._marks = self._marks.renamed(names)
        return self

    def presence(self, key: str) -> Mask:
        """Which rows have a field of their own.

        False where a concat filled it, because a part did not have this optional field (`Fill`). This stays with the
        rows through every operation. A field that a stage or a union replaces is there in every row; a direct write
        (`data.batch[key] = ...`) is not seen, and other containers have no place for it.

        Args:
            key: a tensor or a column.

        Returns:
            One boolean per row, in an array of its own.

        Raises:
            MissingFieldError: if there is no such field.
        """
        stores = self.stores()
        in_columns = key in stores.columns
        choose("presence", stores, (() if in_columns else (key,), (key,) if in_columns else (), ()))
        return ~marked(self._marks.absent.get(key), len(self))

    def to(self, device: torch.device | str | int) -> Self:
        """Move the tensors to a device, in place."""
        if self.batch is not None:
            self.batch: TensorDict | None = self.batch.to(device)
        return self
