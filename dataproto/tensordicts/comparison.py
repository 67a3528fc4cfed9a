"""Equality for tests."""

from __future__ import annotations

from tensordict import TensorDictBase

from batchpact.dataproto.dict_unions import field_difference
from batchpact.dataproto.entries import from_entries_alike
from batchpact.dataproto.tensordicts.given import check


def assert_tensordict_eq(tensordict1: TensorDictBase, tensordict2: TensorDictBase) -> None:
    """Two `TensorDict`s have the same batch size and equal fields, as `DataProto` compares them.

    Args:
        tensordict1: one side.
        tensordict2: the other.

    Raises:
        AssertionError: with the path of the first difference; it is raised under `python -O`, too.
        BatchError: if one side is no `TensorDict`.
    """
    for side in (tensordict1, tensordict2):
        check("tensordicts.assert_tensordict_eq", side)
    where = _difference(tensordict1, tensordict2)
    if where is not None:
        raise AssertionError(f"the TensorDicts differ: {where}")


def _difference(left: TensorDictBase, right: TensorDictBase) -> str | None:
    if left.batch_size != right.batch_size:
        return f"batch size {list(left.batch_size)} against {list(right.batch_size)}"
    mine, theirs = from_entries_alike([left, right])
    for key in dict.fromkeys((*mine.names(), *theirs.names())):
        one, other = mine.find(key), theirs.find(key)
        if one is None or other is None:
            return f"{key!r} is in the {'second' if one is None else 'first'} alone"
        where = field_difference(one, other, f"[{key!r}]")
        if where is not None:
            return where
    return None
