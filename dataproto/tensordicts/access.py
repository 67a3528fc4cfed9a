"""Looking at fields by name and taking them out: tensors as they are, columns as lists, meta as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.entries import ColumnEntry, from_entries, is_column, tensordict_of, unstack
from batchpact.dataproto.refusal import refuse_names
from batchpact.dataproto.selection import missing_name
from batchpact.dataproto.tensordicts.given import check, check_writable
from batchpact.dataproto.tensordicts.non_tensors import unwrap_non_tensor_data
from batchpact.dataproto.withheld import knowing

_MISSING: Any = object()


def get(tensordict: TensorDictBase, key: str, default: Any = None) -> Any:
    """A field by name.

    Args:
        tensordict: what is looked at.
        key: the name.
        default: what is returned where the name is not there.

    Returns:
        A tensor as it is, a column as a list with one value per row, a meta value as what it is.
    """
    check("tensordicts.get", tensordict)
    return _plain(tensordict.get(key, _MISSING), default)


def get_keys(tensordict: TensorDictBase, keys: Iterable[str]) -> TensorDict:
    """Some of the fields as a `TensorDict` of their own; meta alone has no batch axis then.

    Args:
        tensordict: what is looked at.
        keys: the names.

    Raises:
        MissingFieldError: naming every key that is not there.
    """
    check("tensordicts.get_keys", tensordict)
    return _chosen(tensordict, _names("tensordicts.get_keys", tensordict, keys))


def pop(tensordict: TensorDictBase, key: str, default: Any = None) -> Any:
    """Take a field out, in place.

    Args:
        tensordict: what is changed.
        key: the name.
        default: what is returned where the name is not there.

    Returns:
        What `get` returns.

    Raises:
        BatchError: if the `TensorDict` is locked.
    """
    check_writable("tensordicts.pop", tensordict)
    found = tensordict.get(key, _MISSING)
    if found is not _MISSING:
        tensordict.pop(key)
    return _plain(found, default)


def pop_keys(tensordict: TensorDictBase, keys: Iterable[str]) -> TensorDict:
    """Take fields out, in place, and return them as a `TensorDict`; meta alone has no batch axis then.

    Args:
        tensordict: what is changed.
        keys: the names.

    Raises:
        MissingFieldError: naming every key that is not there; nothing is taken out then.
        BatchError: if the `TensorDict` is locked.
    """
    check_writable("tensordicts.pop_keys", tensordict)
    names = _names("tensordicts.pop_keys", tensordict, keys)
    popped = _chosen(tensordict, names)
    for name in names:
        tensordict.pop(name)
    return popped


def _plain(entry: object, default: object) -> object:
    if entry is _MISSING:
        return default
    if is_column(entry):
        return list(unstack(cast(ColumnEntry, entry)))
    return unwrap_non_tensor_data(entry)


def _names(function: str, batch: TensorDictBase, keys: Iterable[str]) -> list[str]:
    names = [keys] if isinstance(keys, str) else list(dict.fromkeys(keys))
    missing = [name for name in names if name not in batch.keys()]
    if missing:
        stores = from_entries(batch)
        held = dict.fromkeys(stores.names())
        raise refuse_names(function, [missing_name(name, "the TensorDict", held, stores) for name in missing])
    return names


def _chosen(batch: TensorDictBase, names: list[str]) -> TensorDict:
    fields = from_entries(batch.select(*names))
    size = batch.batch_size if fields.tensors or fields.columns else torch.Size([])
    return knowing(batch, tensordict_of(fields, size, batch.device))
