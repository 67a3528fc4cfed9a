"""The metas of TransferQueue, which verl's newer trainer passes in place of a batch: columns, not values.

Only the columns that the Reads declare stay in a meta, so verl's bridge fetches no others. What the queue tells of a
column is checked on the controller: that it is there, its store and its dtype. A shape it tells too loosely for that.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.kept_back import KEPT_BACK, Note
from batchpact.contracts.late_names import under_names
from batchpact.contracts.reporting import settle
from batchpact.contracts.settings import Settings, current
from batchpact.contracts.told_names import TOLD_NAMES, told_names
from batchpact.contracts.variants import Answers
from batchpact.contracts.verl.methods import MethodContract
from batchpact.contracts.verl.returned import Check
from batchpact.dataproto.refusal import refuse
from batchpact.schemas.columns import Names, look_up_names, names_in
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.record import SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

_SHAPES = frozenset({"BP011", "BP012", "BP013", "BP014", "BP015", "BP016"})


class Selected(NamedTuple):
    """What travels of a meta.

    Attributes:
        data: a `BatchMeta` of the declared columns.
        check: checks the result.
    """

    data: Any
    check: ColumnsCheck


def is_meta(value: object) -> bool:
    """Whether this is a meta of TransferQueue."""
    from verl.utils.transferqueue_utils import BatchMeta, KVBatchMeta

    return isinstance(value, (BatchMeta, KVBatchMeta))


def select(contract: MethodContract, meta: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Selected:
    """Check the columns of a meta against the Reads and keep the declared ones.

    Args:
        contract: the contract of the method.
        meta: a `KVBatchMeta` or a `BatchMeta`; it stays as it is. Its `extra_info` is the meta of the batch.
        args: the positional arguments of the call, with something in the place of `self`.
        kwargs: its keyword arguments; arguments of the contract are taken out of, or put into them.

    Raises:
        ContractError: if a declared column is missing, or is another one than declared.
        BatchError: if the queue does not hold a row for each key.
    """
    found = _looked_up(contract, meta)
    names = _names(meta, found)
    info = dict(meta.extra_info or {})
    source = _stand_ins(contract, found, names, info)
    answers = contract.variants.answers_in(source, args, kwargs)
    boundary = contract.variants.under(answers)
    filled = boundary.arguments.fill(source, args, kwargs)
    settings = current()
    if settings.level != "off" and found.size:
        looked = Stores(source.tensors, source.columns, {**source.meta, **filled.meta}, filled.args)
        seen = diagnose(boundary.reads.__batchpact__.plan, looked)
        violations = [violation for violation in seen.violations if violation.code not in _SHAPES]
        violations = [*boundary.misnamed, *violations, *filled.violations]
        settle(boundary.on_reads, boundary.beginning, violations, [], settings)
    held = boundary.handing.declared(source)
    chosen = [name for name in names if name in held.tensors or name in held.columns]
    sent = found.select_fields(chosen)
    sent.extra_info = {**held.meta, **filled.meta, **contract.in_meta(boundary, filled.args)}
    names_of_columns = told_names(boundary) if contract.is_stage else {}
    if names_of_columns:
        sent.extra_info[TOLD_NAMES] = names_of_columns
    known = set(sent.extra_info)
    if contract.is_stage and settings.level != "off" and boundary.spec.reads.extra != "allow":
        sent.extra_info[KEPT_BACK] = _note(found, [name for name in names if name not in chosen], source, held)
    return Selected(sent, ColumnsCheck(contract, answers, meta, names, frozenset(chosen), frozenset(known), settings))


def _looked_up(contract: MethodContract, meta: Any) -> Any:
    """All columns that the queue has for the keys of a meta."""
    from verl.utils.transferqueue_utils import KVBatchMeta, kv_batch_meta2batch_meta

    if not isinstance(meta, KVBatchMeta):
        return meta
    found = kv_batch_meta2batch_meta(KVBatchMeta(keys=meta.keys, tags=meta.tags, partition_id=meta.partition_id))
    if found.size != len(meta.keys):
        actual = f"{count(found.size, 'row')} in partition {meta.partition_id!r} for {count(len(meta.keys), 'key')}"
        hint = "they were cleared, or are not written yet"
        raise refuse(f"contract_dispatch.{contract.name}", "BP016", "keys", actual, "a row for each key", hint)
    return found


def _names(meta: Any, found: Any) -> list[str]:
    """The columns that a meta stands for: all of the queue's, or those that it names."""
    asked = getattr(meta, "fields", None)
    asked = [asked] if isinstance(asked, str) else asked
    return [name for name in found.field_names if asked is None or name in asked]


def _stand_ins(contract: MethodContract, found: Any, names: Collection[str], info: dict[str, object]) -> Stores:
    """Tensors without values and columns without cells, as far as the queue tells what they are like."""
    reads = contract.variants.whole.spec.reads
    told = names_in(reads, reads.columns, partial(look_up_names, info))
    named = {key: column for column in reads.columns for key in _keys(told[column.name])}
    tensors: dict[str, object] = {}
    columns: dict[str, object] = {}
    for name in names:
        told = found.field_schema[name]
        if told.get("is_non_tensor"):
            columns[name] = np.empty(found.size, dtype=object)
            continue
        field = reads.field(name) or named.get(name)
        place = None if field is None else field.place("tensor")
        shape = (found.size, *(told.get("shape") or ()))
        tensor = torch.empty(shape, dtype=told.get("dtype"), device="meta")
        if place is not None and place.layout == "jagged":  # the bridge hands over what it has in rows as jagged
            offsets = torch.arange(found.size + 1)
            tensor = torch.nested.nested_tensor_from_jagged(torch.empty(found.size, dtype=told.get("dtype")), offsets)
        tensors[name] = tensor
    return Stores(tensors, columns, info)


def _keys(names: Names) -> tuple[str, ...]:
    return names if isinstance(names, tuple) else ()


def _note(found: Any, left: list[str], source: Stores, held: Stores) -> Note:
    def words(name: str) -> str:
        told = found.field_schema[name]
        kind = "a non-tensor column" if told.get("is_non_tensor") else f"a column of {told.get('dtype')}"
        return f"{kind} in TransferQueue"

    columns = {name: words(name) for name in left}
    return {"tensor": columns, "meta": {key: "it in extra_info" for key in source.meta if key not in held.meta}}


@dataclass
class ColumnsCheck:
    """Checks which columns the workers of one call have written; the values stay in the queue.

    Attributes:
        contract: the contract of the method.
        answers: what its conditions come to.
        meta: the caller's meta.
        names: the columns that it stands for.
        sent: those that were sent.
        info: what stood in the `extra_info` that was sent.
        settings: the settings that count for the call.
    """

    contract: MethodContract
    answers: Answers
    meta: Any
    names: list[str]
    sent: frozenset[str]
    info: frozenset[str]
    settings: Settings

    def __call__(self, result: Any) -> Any:
        """Check what verl collected.

        Returns:
            A meta of all columns that the caller's stands for and those that were written, with the caller's tags; or
            the batch, where the workers returned one.

        Raises:
            ContractError: with everything that is wrong.
        """
        if not is_meta(result):
            return Check(self.contract, self.answers)(result)
        boundary = self.contract.variants.under(self.answers)
        info = result.extra_info or {}
        boundary = under_names(boundary, {**(self.meta.extra_info or {}), **info})
        result.extra_info = {
            key: value for key, value in info.items() if key in boundary.writers or key not in {*self.info, KEPT_BACK}
        }
        fields = list(_field_names(result))
        if self.settings.level != "off":
            self._judge(boundary, fields, result.extra_info)
        if hasattr(result, "keys") and list(result.keys) == list(getattr(self.meta, "keys", ())):
            result.fields = sorted({*fields, *self.names})
            result.tags = [dict(tag) for tag in self.meta.tags]
        return result

    def _judge(self, boundary: Boundary, fields: list[str], info: dict[str, object]) -> None:
        writes = boundary.spec.writes
        written = [name for name in fields if name not in self.sent or writes.field(name) is not None]
        found = [
            Violation(
                code="BP004",
                field=key,
                actual=f"wrote it into {'TransferQueue' if key in fields else 'extra_info'}",
                expected="its Writes do not declare it",
                hint="declare it, leave it out of the result, or set extra='allow' on Writes",
            )
            for key in [*written, *info]
            if writes.field(key) is None and writes.extra != "allow"
        ]
        placed = {key: _is_column(writes, key) for key in written}
        columns = {key: np.empty(0, dtype=object) for key, is_column in placed.items() if is_column}
        tensors = {key: torch.empty(0, device="meta") for key, is_column in placed.items() if not is_column}
        seen = diagnose(boundary.writes.__batchpact__.plan, Stores(tensors, columns, info), Context(holder="result"))
        found += [violation for violation in seen.violations if violation.code == "BP001"]
        settle(boundary.on_writes, boundary.ending, found, [], self.settings)


def _is_column(writes: SchemaSpec, key: str) -> bool:
    field = writes.field(key)
    return field is not None and field.place("tensor") is None


def _field_names(meta: Any) -> list[str]:
    """The columns of either kind of meta."""
    return list(getattr(meta, "field_names", None) or getattr(meta, "fields", None) or ())
