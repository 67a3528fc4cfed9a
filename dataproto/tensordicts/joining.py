"""Concat: one below the other, by the comparisons of `DataProto.concat`."""

from __future__ import annotations

from collections.abc import Sequence

from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.build import check_stores, columns_of, tensors_of
from batchpact.dataproto.concat import concat_stores
from batchpact.dataproto.entries import from_entries_alike
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensordicts.given import check, derive, row_count
from batchpact.dataproto.tensors import store
from batchpact.schemas.merging import merge_meta
from batchpact.schemas.stores import Stores


def concat_tensordict(data: Sequence[TensorDictBase]) -> TensorDict:
    """Put `TensorDict`s one below the other.

    Every part has the same fields, in the same kind of entry, with the same dtype, layout and row shape. Meta values
    must be equal where several parts have them; `metrics` is collected into lists. Parts of which none has a batch axis
    go to `concat_tensordict_with_none_bsz`; beside others, such a part gives its meta.

    Args:
        data: at least one; they stay as they are.

    Raises:
        BatchError: naming field and parts, for every difference.
    """
    function = "tensordicts.concat_tensordict"
    _check_parts(function, data)
    if not any(part.batch_size for part in data):
        return concat_tensordict_with_none_bsz(data)
    parts = from_entries_alike(data)
    counts = [row_count(function, batch, fields) for batch, fields in zip(data, parts, strict=True)]
    joined, wrong = concat_stores(parts, [dict] * len(parts))
    if wrong:
        raise refuse_all(function, wrong)
    filled = [at for at, part in enumerate(parts) if part.tensors or part.columns] or range(len(parts))
    like = next(data[at] for at in filled if data[at].batch_size)
    rows = sum(counts[at] for at in filled)
    check_stores(function, store(tensors_of(joined), [rows]), columns_of(joined), joined.meta)
    return derive(like, joined, rows)


def concat_tensordict_with_none_bsz(data: Sequence[TensorDictBase]) -> TensorDict:
    """Merge `TensorDict`s without a batch axis: what they hold stands for the batch as a whole, as meta does.

    Args:
        data: at least one, each of batch size `[]`; they stay as they are.

    Returns:
        Every field of every part: equal where several parts have it, `metrics` collected into lists.

    Raises:
        BatchError: if a part has a batch axis, and for every field whose values differ.
    """
    function = "tensordicts.concat_tensordict_with_none_bsz"
    _check_parts(function, data)
    sized = [at for at, part in enumerate(data) if part.batch_size]
    if sized:
        actual = f"batch size {list(data[sized[0]].batch_size)} in part {sized[0]}"
        raise refuse(function, "BP016", "batch", actual, "no part has a batch axis", "concat_tensordict joins rows")
    parts = from_entries_alike(data)
    merged, wrong = merge_meta([{**part.tensors, **part.columns, **part.meta} for part in parts])
    if wrong:
        raise refuse_all(function, wrong)
    tensors = {key: merged[key] for part in parts for key in part.tensors}
    columns = {key: merged[key] for part in parts for key in part.columns}
    meta = {key: merged[key] for part in parts for key in part.meta}
    return derive(data[0], Stores(tensors, columns, meta), 0)


def _check_parts(function: str, data: Sequence[TensorDictBase]) -> None:
    if not len(data):
        raise refuse(function, "BP042", "parts", "no parts", "at least one")
    for part in data:
        check(function, part)
