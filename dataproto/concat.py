"""Concat: parts with the same fields, one below the other; all differences are found before anything is joined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from batchpact.dataproto.binding import Bound
from batchpact.dataproto.build import columns_of
from batchpact.dataproto.carried import NOTHING, Carried, in_common
from batchpact.dataproto.filling import fill_absent
from batchpact.dataproto.nested import SharedOffsets
from batchpact.dataproto.parts import (
    alike,
    compare_columns,
    compare_fields,
    compare_tensors,
    named_parts,
    row_kind,
    same_fields,
)
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.row_marks import Mask, join_marks
from batchpact.dataproto.tensors import Value, cat
from batchpact.schemas.axes import Size
from batchpact.schemas.lengthening import Pieces, lengthen, longest_of
from batchpact.schemas.merging import DEFAULTS, merge_meta
from batchpact.schemas.policies import Merge
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.dataproto.container import DataProto

_PARTS = Pieces(1, named_parts, row_kind)
_LENGTHS = "concat(parts, pad=True) makes rows equally long"


def concat_batches(
    parts: Sequence[DataProto], *, pad: bool = False, operation: str = "concat", noun: str = "part", check: bool = True
) -> DataProto:
    """`DataProto.concat`, or an operation that ends in one and has a word of its own for the parts.

    Without `check` the whole is not held against the bound schema: that comes later.
    """
    if not parts:
        raise refuse(operation, "BP042", "parts", "no parts", "at least one")
    held = [part.consistent_stores() for part in parts]
    bound = next((part._bound for part in parts if part._bound is not None), None)
    absent: Sequence[Mapping[str, Mask]] = [{} for _ in parts]
    policies, padded = DEFAULTS, set[str]()
    if bound is not None:
        named = bound.named_by([part.meta for part in held])
        held, absent = _by_policies(operation, bound, named, parts, held, pad=pad)
        policies = {**DEFAULTS, **named.merges}
        padded = {key for key, declared in named.policies.items() if declared.pad is not None and not pad}
    elif pad:
        hint = "bind a schema to the parts, with a Pad(value, side) on each field whose rows may be longer"
        expected = "a schema that says how to fill up"
        raise refuse(operation, "BP042", "pad", "no part is bound to a schema", expected, hint)
    carried = in_common([part.meta for part in held], [part._carried for part in parts])
    stores, violations = concat_stores(held, [part.history for part in parts], policies, carried, padded, noun)
    if violations:
        raise refuse_all(operation, violations)
    made = joined(parts, stores, absent)
    made._carried = carried
    if check and made._bound is not None:
        made._bound.check(made.stores(), made.history(), pads=made._marks.pads)
    return made


def _by_policies(
    operation: str, bound: Bound, named: Bound, parts: Sequence[DataProto], held: list[Stores], *, pad: bool
) -> tuple[list[Stores], list[dict[str, Mask]]]:
    """The parts with absent fields filled and, with `pad`, rows of one length.

    `named` is the schema with the open columns of all parts.
    """

    @cache
    def sizes(at: int) -> dict[str, Size]:
        if not held[at].tensors and not held[at].columns:
            return {}
        if not pad:
            return bound.sizes(held[at])
        return bound.check(held[at], parts[at].history(), pads=parts[at]._marks.pads, part=at)

    known = [sizes(at) for at in range(len(parts))] if pad else []
    made, absent, violations = fill_absent(named.schema, held, [len(part) for part in parts], sizes)
    if pad and not violations:
        places = named.schema.__batchpact__.plan.tensor_places
        made, violations = lengthen(places, named.policies, made, known, longest_of(known), _PARTS)
    if violations:
        raise refuse_all(operation, violations)
    return made, absent


def concat_stores(
    parts: Sequence[Stores],
    histories: Sequence[Callable[[], Mapping[str, str]]],
    policies: Mapping[str, Merge] = DEFAULTS,
    carried: Carried = NOTHING,
    padded: Collection[str] = (),
    noun: str = "part",
) -> tuple[Stores, list[Violation]]:
    """The stores of a concat. A part without any field and any row adds nothing and is left out of the comparison.

    Args:
        parts: what is put one below the other.
        histories: for each part, tells what is known of its fields.
        policies: how meta values become one.
        carried: what all parts that have the key still have from the batch that they were cut from.
        padded: the fields that could be made equally long on request.
        noun: the word for a part.
    """
    filled = [(at, part) for at, part in enumerate(parts) if part.tensors or part.columns]
    violations = [] if same_fields(filled) else compare_fields(filled, histories, noun)
    meta, wrong_meta = merge_meta([part.meta for part in parts], policies, carried.values, noun)
    violations += wrong_meta
    if violations or not filled:
        return Stores({}, {}, meta), violations
    first = filled[0][1]
    tensors: dict[str, object] = {}
    columns: dict[str, object] = {}
    offsets: SharedOffsets = {}
    for key in first.tensors:
        values = [cast(Value, part.tensors[key]) for _, part in filled]
        if not alike(values):
            violations += compare_tensors(key, filled, _LENGTHS if key in padded else "", noun)
        if not violations:
            tensors[key] = cat(values, offsets)
    for key in first.columns:
        cells = [cast(Column, part.columns[key]) for _, part in filled]
        violations += compare_columns(key, filled, noun)
        if not violations:
            columns[key] = np.concatenate(cells)
    return Stores(tensors, columns, meta), violations


def joined(parts: Sequence[DataProto], stores: Stores, absent: Sequence[Mapping[str, Mask]]) -> DataProto:
    """The batch of a concat, with what the parts carry unseen; `absent` are the fields that were filled in each."""
    filled = [(part, gone) for part, gone in zip(parts, absent, strict=True) if part._row_count() is not None]
    counted = [part for part, _ in filled] or parts
    first = counted[0]
    rows = sum(len(part) for part in counted)
    batch = None
    if stores.tensors or first.batch is not None:
        tail = () if first.batch is None else tuple(first.batch.batch_size[1:])
        batch = first._tensor_store(dict(stores.tensors), (rows, *tail))
    made = first._derive(batch, columns_of(stores), dict(stores.meta))
    made._writers = {key: stage for part in reversed(parts) for key, stage in part._writers.items()}
    made._rewrites = frozenset().union(*(part._rewrites for part in parts))
    made._bound = next((part._bound for part in parts if part._bound is not None), None)
    if filled:
        made._marks = join_marks(
            [
                (part._marks._replace(absent={**part._marks.absent, **gone}) if gone else part._marks, len(part))
                for part, gone in filled
            ]
        )
    return made
