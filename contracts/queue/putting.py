"""What a stage wrote, put under the keys that it was called with, and the keys that its caller gets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import torch

from batchpact.contracts import effects
from batchpact.contracts.queue import cells
from batchpact.contracts.queue.held import Held, client, look, refused
from batchpact.contracts.queue.references import IndexBatch, KeyBatch, Reference, has_keys
from batchpact.dataproto.columns import column
from batchpact.dataproto.entries import tensordict_of
from batchpact.dataproto.rows import Index
from batchpact.schemas.record import SchemaSpec, StageSpec
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation, Where

Place: TypeAlias = Literal["columns", "tags", "meta"]
PLACES: tuple[Place, ...] = get_args(Place)


@dataclass(frozen=True, slots=True)
class Written:
    """What is put: columns, tags and meta of the rows in their new order.

    Attributes:
        columns: tensors and non-tensors, which TransferQueue stores.
        tags: the written tags of each row; empty where no tag was written.
        meta: what was written for the batch.
        order: which of the rows of the call each row is; None where they are the same.
        drops: the names that are gone afterwards.
    """

    columns: Stores
    tags: Sequence[Mapping[str, object]]
    meta: Mapping[str, object]
    order: Sequence[int] | None
    drops: Collection[str]

    @property
    def stored(self) -> bool:
        """Whether anything goes to TransferQueue."""
        return bool(self.columns.tensors or self.columns.columns or self.tags)

    def names(self, place: Place) -> set[str]:
        """The names that were written in a place."""
        if place == "columns":
            return set(self.columns.names())
        return set(self.meta) if place == "meta" else {key for tags in self.tags[:1] for key in tags}

    def kept(self, place: Place, names: Iterable[str]) -> list[str]:
        """The names of a place that are still there: not dropped, and not written in another place."""
        others = [self.names(other) for other in PLACES if other != place]
        return [name for name in names if name not in self.drops and not any(name in other for other in others)]


def written(spec: StageSpec, fields: Stores, origin: Index | None, held: Held, where: Where) -> Written:
    """Sort what a stage wrote, once its boundary has checked it.

    Raises:
        ContractError: with everything that TransferQueue could not hold, or would not give back as it is.
    """
    order = None if spec.rows.kind == "same" or origin is None else origin.tolist()
    tagged = [key for key in fields.columns if _is_tag(spec.writes, key)]
    tags = {key: cast(Column, fields.columns[key]) for key in tagged}
    columns = {key: cast(Column, value) for key, value in fields.columns.items() if key not in tagged}
    wrong = [*_wrong_rows(spec, fields, order, origin, held), *effects.graphs(fields)]
    wrong += [*cells.misfits(columns, "non_tensor"), *cells.misfits(tags, "tag")]
    if wrong:
        raise refused(where, *wrong)
    # The cells of a numeric column are Python's own values, so that they come back as what they are.
    plain = {key: column(cells.values_of(value)) for key, value in columns.items()}
    by_row = zip(*(cells.values_of(value) for value in tags.values()), strict=True)
    rows = [dict(zip(tags, values, strict=True)) for values in by_row]
    return Written(Stores(fields.tensors, plain, {}), rows, fields.meta, order, spec.drops)


def _is_tag(writes: SchemaSpec, key: str) -> bool:
    field = writes.field(key)
    return field is not None and field.place("tag") is not None


def _wrong_rows(
    spec: StageSpec, fields: Stores, order: Sequence[int] | None, origin: Index | None, held: Held
) -> Iterator[Violation]:
    if spec.rows.kind != "same" and origin is None:
        yield Violation(
            code="BP034",
            field="batch",
            actual="nothing says which keys the rows of the result have",
            expected=f"declared rows = '{spec.rows}'",
            hint="return from_rows(result, origin), or index or reorder the batch that was handed in",
        )
        return
    if order is not None and len(set(order)) < len(order):
        twice = next(row for row in order if order.count(row) > 1)
        actual = f"the result has {held.rows_in_words([twice])} {order.count(twice)} times"
        yield Violation(code="BP034", field="batch", actual=actual, expected="in TransferQueue a key is one row")
    rows = len(held.names) if order is None else len(order)
    for key, value in (*fields.tensors.items(), *fields.columns.items()):
        length = len(value) if isinstance(value, (torch.Tensor, np.ndarray)) else rows
        if length != rows:
            yield Violation(code="BP016", field=key, actual=count(length, "row"), expected=f"{count(rows, 'row')}")


async def put(made: Written, reference: Reference, where: Where) -> Reference:
    """Put what was written under its keys.

    Returns:
        The keys with the fields and tags that they have now; the reference itself is what it was.

    Raises:
        ContractError: if rows were cleared while the stage ran; nothing is put then.
    """
    if has_keys(reference):
        return await _put_by_key(made, cast(KeyBatch, reference), where)
    return await _put_by_number(made, cast(IndexBatch, reference), where)


async def _put_by_key(made: Written, reference: KeyBatch, where: Where) -> KeyBatch:
    order = range(len(reference.keys)) if made.order is None else made.order
    kind: Any = type(reference)
    chosen = kind(
        keys=[reference.keys[row] for row in order],
        tags=_tags(made, [reference.tags[row] for row in order]),
        partition_id=reference.partition_id,
        fields=None if reference.fields is None else _columns(made, reference.fields),
        extra_info=_meta(made, reference.extra_info or {}),
    )
    if chosen.keys and made.stored:
        rows = (await look(chosen, where)).rows  # what kv_batch_put does would make rows that were cleared anew
        await _store(made, rows)
    return cast(KeyBatch, chosen)


async def _put_by_number(made: Written, reference: IndexBatch, where: Where) -> IndexBatch:
    whole: Any = reference
    order = range(len(reference.global_indexes)) if made.order is None else made.order
    chosen = whole.select_samples(list(order))
    chosen.extra_info = _meta(made, chosen.extra_info)
    chosen.custom_meta = _tags(made, chosen.custom_meta)
    if len(chosen.global_indexes) and made.stored:
        partitions = list(dict.fromkeys(chosen.partition_ids))
        if len(partitions) > 1:  # TransferQueue would tell the first of them that the rows of all are there
            actual, expected = f"rows of partitions {join_names(partitions)}", "what is written goes into one partition"
            raise refused(where, Violation(code="BP036", field="batch", actual=actual, expected=expected))
        await look(chosen, where)
        await _store(made, chosen)
    left = made.kept("columns", chosen.field_names)
    return cast(IndexBatch, chosen if len(left) == len(chosen.field_names) else chosen.select_fields(left))


def _columns(made: Written, names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*made.kept("columns", names), *made.columns.names())))


def _tags(made: Written, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    written = made.tags or [{}] * len(rows)
    return [
        {**{key: row[key] for key in made.kept("tags", row)}, **new} for row, new in zip(rows, written, strict=True)
    ]


def _meta(made: Written, values: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: values[key] for key in made.kept("meta", values)}, **made.meta}


async def _store(made: Written, rows: Any) -> None:
    """Store columns and tags; the metadata of the rows comes to have them."""
    if made.tags:
        rows.update_custom_meta([dict(tags) for tags in made.tags])
    if made.columns.tensors or made.columns.columns:
        data = tensordict_of(made.columns, torch.Size([rows.size]))
        await client().async_put(data, rows)
    else:
        await client().async_set_custom_meta(rows)
