"""A batch on its way to verl's workers: checked, projected to the declared reads, and in parts of equal size."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensordict import TensorDictBase

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.kept_back import KEPT_BACK, note_of
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import OBSERVERS
from batchpact.contracts.told_names import TOLD_NAMES, told_names
from batchpact.contracts.variants import Answers
from batchpact.contracts.verl.methods import MethodContract
from batchpact.contracts.workers.cutting import group_fields
from batchpact.contracts.workers.shipping import kept_back
from batchpact.dataproto.auto_padding import AUTO_PADDING_KEY
from batchpact.dataproto.binding import bound
from batchpact.dataproto.carriers import OURS, carrier_of
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.padding import pad_dataproto_to_divisor
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.sizes import field_bytes
from batchpact.schemas.errors import BatchError
from batchpact.schemas.keys import row_keys, shown_key
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.text import count


class Projected(NamedTuple):
    """What travels of a batch, in a container of verl's.

    Attributes:
        data: verl's `DataProto`, or a `TensorDict`.
        answers: what the conditions of the contract come to.
        passage: the call.
        pads: how many neutral rows were added at its end.
    """

    data: Any
    answers: Answers
    passage: Passage
    pads: int


def project(
    contract: MethodContract,
    batch: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    groups: int,
    *,
    may_pad: bool = True,
) -> Projected:
    """Check a batch against the Reads and take out of it what they declare.

    Args:
        contract: the contract of the method.
        batch: our `DataProto`, verl's, or a `TensorDict`; it stays as it is.
        args: the positional arguments of the call, with something in the place of `self`.
        kwargs: its keyword arguments; arguments of the contract are taken out of, or put into them.
        groups: the number of data-parallel groups.
        may_pad: whether rows that are added can be taken out of the result again.

    Raises:
        ContractError: if the batch does not keep to the contract.
        BatchError: if its rows cannot be shared by the groups.
    """
    answers = contract.variants.answers(batch, args, kwargs)
    boundary = contract.variants.under(answers)
    passage = boundary.enter(batch, args, kwargs)
    passage.versions = []  # nobody elsewhere can change it; its owner may
    held = boundary.handing.declared(passage.source)
    extra = {**passage.filled.meta, **contract.in_meta(boundary, passage.filled.args)}
    unseen = kept_back(boundary, passage) if contract.is_stage else None
    if unseen is not None:
        extra[KEPT_BACK] = note_of(unseen)
    names = told_names(boundary) if contract.is_stage else {}
    if names:
        extra[TOLD_NAMES] = names
    if AUTO_PADDING_KEY in passage.source.meta:  # verl's own chunk looks for it
        extra[AUTO_PADDING_KEY] = passage.source.meta[AUTO_PADDING_KEY]
    data = _in_verls_kind(passage, held, extra)
    pads = _pads(boundary, data, held, passage.rows or 0, groups, may_pad)
    if pads:
        data = _padded(boundary, data, groups)
    if OBSERVERS.get():
        passage.shipped = _bytes(data)
    return Projected(data, answers, passage, pads)


def _in_verls_kind(passage: Passage, held: Stores, extra: dict[str, object]) -> Any:
    carrier, batch = passage.carrier, passage.batch
    if carrier is None or carrier is OURS:
        stores = Stores(held.tensors, held.columns, {**held.meta, **extra})
        return OURS.make(DataProto(), stores, rows_of(held)).to_verl()
    columns = tuple(held.columns)
    return carrier.hand_out(batch, HandOut(tuple(held.tensors), columns, tuple(held.meta), extra, columns, None))


def _pads(boundary: Boundary, data: Any, held: Stores, rows: int, groups: int, may_pad: bool) -> int:
    """How many rows have to be added; none where verl can cut the batch as it is.

    Raises:
        BatchError: if it cannot be cut.
    """
    operation = f"contract_dispatch.{boundary.name}"
    has_rows = rows_of(held) is not None
    if has_rows and not rows and groups > 1:
        actual = f"a batch without rows and {groups} data-parallel groups"
        raise refuse(operation, "BP043", "batch", actual, "a row for each group", "skip the call")
    missing = -rows % groups if has_rows else 0
    if not missing:
        _check_groups(boundary, operation, held, rows, groups)
        return 0
    grouped = group_fields(boundary)
    if may_pad and boundary.spec.pad_safe and boundary.spec.rows.kind == "same" and not grouped:
        return missing
    if _verl_cuts_unevenly(data, rows, groups) and not grouped:
        return 0
    raise _uneven(boundary, operation, rows, groups)


def _uneven(boundary: Boundary, operation: str, rows: int, groups: int) -> BatchError:
    actual = f"{count(rows, 'row')} for {groups} data-parallel groups leave {rows % groups} over"
    lower = f"leave {rows % groups} out, " if rows > groups else ""
    ways = f"{lower}pad {-rows % groups} with pad_dataproto_to_divisor(batch, {groups})"
    if not boundary.spec.pad_safe:
        ways += f", or declare pad_safe = True on {boundary.spec.qualname.rpartition('.')[2]}"
    return refuse(operation, "BP043", "batch", actual, "verl gives each group as many rows", ways)


def _verl_cuts_unevenly(data: Any, rows: int, groups: int) -> bool:
    """Whether verl's auto-padding is on for its `DataProto`, and its parts, as long as the first, are enough."""
    enabled = not isinstance(data, TensorDictBase) and data.is_padding_enabled()
    longest = -(-rows // groups)
    return enabled and -(-rows // longest) == groups


def _check_groups(boundary: Boundary, operation: str, held: Stores, rows: int, groups: int) -> None:
    """Rows of one group go to one worker: verl cuts wherever the number of rows says so."""
    fields = group_fields(boundary)
    keys = row_keys(fields, held) if fields and groups > 1 and rows else None
    if keys is None:
        return
    size = rows // groups
    first: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if first.setdefault(key, row) // size != row // size:
            name = ", ".join(field.key for field in fields)
            actual = f"{shown_key(key)} in row {first[key]} and in row {row}, which go to two data-parallel groups"
            expected = f"the rows of a group in one part of {size} rows"
            hint = "put them in order, or take Group() out of the Reads if each row is looked at alone"
            raise refuse(operation, "BP043", name, actual, expected, hint)


def _padded(boundary: Boundary, data: Any, groups: int) -> Any:
    """The batch with neutral rows at its end, by the `Pad` of the Reads."""
    is_tensordict = isinstance(data, TensorDictBase)
    ours = DataProto.from_tensordict(data) if is_tensordict else DataProto.from_verl(data)
    ours._bound = bound(boundary.reads, {})
    padded, _ = pad_dataproto_to_divisor(ours, groups)
    return padded.to_tensordict() if is_tensordict else padded.to_verl()


def _bytes(data: Any) -> dict[str, int]:
    """The bytes of each field that travels; each row counts once, whoever gets it."""
    carrier = carrier_of(data)
    stores = Stores.empty() if carrier is None else carrier.stores(data)
    return {key: size for key, size in field_bytes(stores).items() if key not in (KEPT_BACK, TOLD_NAMES)}
