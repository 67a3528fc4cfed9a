"""What TransferQueue holds under the keys of a call: asked of its controller, before anything is fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from tensordict import TensorDict

from batchpact.contracts.queue.references import IndexBatch, KeyBatch, Reference, has_keys
from batchpact.dataproto.withheld import Elsewhere
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.errors import ContractError, contract_error
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count, listed
from batchpact.schemas.violations import Violation, Where


@dataclass(frozen=True, slots=True)
class Held:
    """What is under the keys of a call.

    Attributes:
        rows: TransferQueue's own metadata of the rows, with the columns that all of them have.
        names: the key of each row, or its number.
        partition: where they are; None for the rows of several partitions.
        columns: what is known of each column that all rows have: `dtype`, `shape`, `is_nested`, `is_non_tensor`.
        tags: the tags of each row, as the caller has them.
        extra: what the caller has beside the rows.
    """

    rows: Any
    names: Sequence[str | int]
    partition: str | None
    columns: Mapping[str, Mapping[str, Any]]
    tags: Sequence[Mapping[str, Any]]
    extra: Mapping[str, Any]

    @property
    def by_key(self) -> bool:
        """Whether the rows have keys, not numbers alone."""
        return isinstance(self.names[0], str)

    def stores(self) -> Stores:
        """All of it by name, as far as it is known without fetching it."""
        columns = {key: Elsewhere(f"{column_words(column)} in TransferQueue") for key, column in self.columns.items()}
        tags: dict[str, object] = {key: Elsewhere("a tag") for row in self.tags for key in row if key not in columns}
        return Stores(columns, tags, {key: self.extra[key] for key in self.extra if key not in {**columns, **tags}})

    def rows_in_words(self, rows: Sequence[int]) -> str:
        """`keys 'a', 'b' and 3 more of partition 'train' (5 of 8)`."""
        noun = "key" if self.by_key else "row"
        called = f"{noun if len(rows) == 1 else noun + 's'} {listed([self.names[row] for row in rows], name=repr)}"
        place = "" if self.partition is None else f" of partition '{self.partition}'"
        return f"{called}{place} ({len(rows)} of {len(self.names)})"


def column_words(column: Mapping[str, Any]) -> str:
    """What is known of a column: `f32[512] per row`, `a column of objects`."""
    if column.get("is_non_tensor") or column.get("dtype") is None:
        return "a column of objects"
    shape = "jagged" if column.get("shape") is None or column.get("is_nested") else ", ".join(map(str, column["shape"]))
    return f"{short_name(dtype_name(column['dtype']))}[{shape}] per row"


async def look(reference: Reference, where: Where) -> Held:
    """Ask the controller what it holds under the keys of a call.

    Raises:
        ContractError: if it holds nothing under some of them, naming these.
    """
    if has_keys(reference):
        return await _look_by_key(cast(KeyBatch, reference), where)
    return await _look_by_number(cast(IndexBatch, reference), where)


async def _look_by_key(reference: KeyBatch, where: Where) -> Held:
    keys, partition = list(reference.keys), reference.partition_id
    if partition is None:
        raise refused(where, Violation(code="BP036", field="batch", actual="keys of no partition", expected=_PARTITION))
    if not keys:
        raise refused(where, Violation(code="BP036", field="batch", actual="no keys", expected=_SOME))
    rows = await client().async_kv_retrieve_meta(keys=keys, partition_id=partition)
    held = Held(rows, keys, partition, rows.field_schema, reference.tags, reference.extra_info or {})
    if rows.size < len(keys):
        there = (await client().async_kv_list(partition)).get(partition, {})
        raise _nothing_under(held, [row for row, key in enumerate(keys) if key not in there], where)
    return held


async def _look_by_number(reference: IndexBatch, where: Where) -> Held:
    numbers, partitions = list(reference.global_indexes), set(reference.partition_ids)
    if not numbers:
        raise refused(where, Violation(code="BP036", field="batch", actual="no rows", expected=_SOME))
    keys = list(reference.field_schema)
    partition = reference.partition_ids[0] if len(partitions) == 1 else None
    held = Held(reference, numbers, partition, {}, reference.custom_meta, reference.extra_info)
    if not keys:
        return held
    ready = await _ready(held, keys)
    gone = [row for row, whole in enumerate(ready) if whole is None]
    if gone:
        raise _nothing_under(held, gone, where)
    unready = () if all(ready) else await lacking(held, keys, whole=True)
    return replace(held, columns={key: reference.field_schema[key] for key in keys if key not in unready})


async def _ready(held: Held, keys: Sequence[str]) -> list[bool | None]:
    """Whether each row has all columns of these names; None where there is no such row."""
    partitions = list(dict.fromkeys(held.rows.partition_ids))
    answers = await asyncio.gather(*(client().async_get_production_status(keys, name) for name in partitions))
    found: list[bool | None] = [None] * len(held.names)
    for partition, (numbers, status) in zip(partitions, answers, strict=True):
        if numbers is None or not len(numbers):  # nobody has put such a column there
            continue
        rows = [row for row, name in enumerate(held.rows.partition_ids) if name == partition]
        wanted = torch.tensor([held.rows.global_indexes[row] for row in rows])
        at = torch.searchsorted(numbers, wanted).clamp(max=len(numbers) - 1)  # they come in order
        for row, there, whole in zip(rows, (numbers[at] == wanted).tolist(), status[at].all(1).tolist(), strict=True):
            found[row] = whole if there else None
    return found


async def lacking(held: Held, keys: Sequence[str], *, whole: bool = False) -> dict[str, list[int]]:
    """The rows that lack a column which others of the call have, for each such column; by number of the row.

    With `whole` a column that no row has is among them.
    """
    answers = await asyncio.gather(*(_ready(held, [key]) for key in keys))
    without = {key: [row for row, has in enumerate(ready) if not has] for key, ready in zip(keys, answers, strict=True)}
    return {key: rows for key, rows in without.items() if rows and (whole or len(rows) < len(held.names))}


async def fetch(held: Held, keys: Sequence[str], reference: Reference, where: Where) -> TensorDict | None:
    """The columns of these names, as TransferQueue gives them; None where there are no names.

    Raises:
        ContractError: if rows were cleared in the meantime.
    """
    if not keys:
        return None
    try:
        found: TensorDict = await client().async_get_data(held.rows.select_fields(list(keys)))
    except Exception:
        await look(reference, where)
        raise
    return found


def client() -> Any:
    """TransferQueue's client in this process."""
    import transfer_queue

    try:
        return transfer_queue.get_client()
    except AssertionError as error:
        hint = "call transfer_queue.init() first; where a controller is running it only connects to it"
        actual = "this process is not connected to TransferQueue"
        wrong = Violation(
            code="BP036", field="batch", actual=actual, expected="a stage was called with keys", hint=hint
        )
        raise ContractError("where a stage is called with keys", [wrong]) from error


def refused(where: Where, *violations: Violation) -> ContractError:
    """The error of a call that cannot go on."""
    verb = "returns its result" if where.boundary == "writes" else "reads its batch"
    return contract_error(f"where stage '{where.stage}' {verb}", [violation.at(where) for violation in violations])


def _nothing_under(held: Held, rows: Sequence[int], where: Where) -> ContractError:
    actual = f"TransferQueue holds nothing under {held.rows_in_words(rows)}"
    expected = f"the call is for {count(len(held.names), 'row')}"
    hint = "were they cleared, or never put?"
    return refused(where, Violation(code="BP054", field="batch", actual=actual, expected=expected, hint=hint))


_PARTITION = "a KVBatchMeta with a partition_id"
_SOME = "at least one: TransferQueue does not know what no rows look like"
