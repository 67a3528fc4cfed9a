"""Nested tensors: made of rows, put one below the other, and repaired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tensordict import TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.concat import concat_stores
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensordicts.given import check, check_writable
from batchpact.schemas.axes import is_jagged, offsets_of, ragged_axis
from batchpact.schemas.describe import describe
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import listed_rows
from batchpact.schemas.violations import Violation


def nested_tensor_from_tensor_list(tensors: Sequence[Tensor], ragged_idx: int | None = None) -> Tensor:
    """Rows that differ in one axis as one jagged nested tensor.

    Args:
        tensors: the rows, at least one, `[...]`; of one dtype, and of one size in all axes but the ragged one.
        ragged_idx: the ragged axis, counted with the rows as axis 0; the last one where it is not given.

    Returns:
        `[batch, ..., jagged, ...]`.

    Raises:
        BatchError: if there is no row, the axis is none of a row, or the rows do not fit together.
    """
    function = "tensordicts.nested_tensor_from_tensor_list"
    _check_tensors(function, tensors)
    axes = tensors[0].dim()
    axis = axes if ragged_idx is None else ragged_idx
    if not 1 <= axis <= axes:
        expected = f"1 to {axes}: the axes of a row, counted with the rows as axis 0"
        raise refuse(function, "BP044", "ragged_idx", str(axis), expected if axes else "rows with an axis")
    wrong = misfits("tensors", tensors, axis)
    if wrong:
        raise refuse_all(function, wrong)
    return nested.of_rows(tensors, axis)


def concat_nested_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Nested tensors of one layout, one below the other; jagged ones are ragged on the same axis.

    Args:
        tensors: at least one, `[batch, ..., jagged, ...]` each.

    Raises:
        BatchError: if there is none, one of them is dense, or they differ in dtype, layout or row shape.
    """
    function = "tensordicts.concat_nested_tensors"
    _check_tensors(function, tensors)
    dense = [at for at, tensor in enumerate(tensors) if not tensor.is_nested]
    if dense:
        actual = f"{describe(tensors[dense[0]])} in part {dense[0]}"
        raise refuse(function, "BP045", "tensors", actual, "nested tensors; torch.cat joins dense ones")
    joined, wrong = concat_stores([Stores({"tensors": tensor}, {}, {}) for tensor in tensors], [dict] * len(tensors))
    if wrong:
        raise refuse_all(function, wrong)
    return cast(Tensor, joined.tensors["tensors"])


def maybe_fix_3d_position_ids(data: TensorDictBase) -> None:
    """Make `position_ids` of three axes ragged on the last one again, in place, if that was lost.

    tensordict 0.10 forgets on which axis a jagged tensor is ragged when what it consolidated is unpickled: a
    `[batch, 4, jagged]` reads `[batch, jagged, length]` then. Anything else is left as it is.

    Args:
        data: what is changed, where needed.

    Raises:
        BatchError: if something is to be changed and the `TensorDict` is locked.
    """
    check("tensordicts.maybe_fix_3d_position_ids", data)
    found = data.get("position_ids", None)
    if not isinstance(found, Tensor) or not is_jagged(found) or found.dim() != 3 or ragged_axis(found) == 2:
        return
    values, offsets = found.values(), offsets_of(found)
    if values.shape[1] == int(offsets[-1]):
        check_writable("tensordicts.maybe_fix_3d_position_ids", data)
        data.set("position_ids", nested.build(values, offsets, 1))


def misfits(field: str, rows: Sequence[Tensor], axis: int | None) -> list[Violation]:
    """What keeps rows from becoming one tensor: they have one dtype and one shape, but for the ragged axis."""
    kinds: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        kinds.setdefault(_kind(row, axis), []).append(at)
    if len(kinds) < 2:
        return []
    actual = ", ".join(f"{kind} in {listed_rows(found)}" for kind, found in kinds.items())
    expected = "one dtype, and one shape but for one ragged axis"
    return [Violation(code="BP042", field=field, placement="tensor", actual=actual, expected=expected)]


def _kind(row: Tensor, axis: int | None) -> str:
    sizes = ["jagged" if axis is not None and at == axis - 1 else str(size) for at, size in enumerate(row.shape)]
    return f"{short_name(dtype_name(row.dtype))}[{', '.join(sizes)}]"


def _check_tensors(function: str, tensors: Sequence[Tensor]) -> None:
    if not len(tensors):
        raise refuse(function, "BP042", "tensors", "no tensors", "at least one")
    odd = [value for value in tensors if not isinstance(value, Tensor)]
    if odd:
        raise refuse(function, "BP045", "tensors", describe(odd[0]), "tensors alone")
