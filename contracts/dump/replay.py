"""A dump, held against its own record, and run again by its stage."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from batchpact.contracts.decorator import contract_of
from batchpact.contracts.dump.loading import Dump, wrong_dump
from batchpact.contracts.settings import checking
from batchpact.contracts.signature import needs_object
from batchpact.contracts.targets import resolve, wrong_target
from batchpact.dataproto.preview import one_line
from batchpact.schemas.compiled import unanswered
from batchpact.schemas.describe import describe
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.errors import SettingError
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.plan import Plan
from batchpact.schemas.record import SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation

_LINE = 1000


def shown(dump: Dump) -> str:
    """The error as it was raised, where that was, what is in the file, and how much of it the record finds again."""
    record = dump.record
    lines = str(dump.error).splitlines()
    rows = count(len(dump.batch), "row")
    lines += ["", *record.about()]
    lines.append(f"  saved     {count(len(dump.read.names()), 'field')} of a {record.container} with {rows}")
    lines.append(f"  again     {_again(dump)}")
    return "\n".join(one_line(line, _LINE) for line in lines)


def _again(dump: Dump) -> str:
    found, wanted = found_again(dump), dump.record.violations
    if len(found) == len(wanted):
        return "the record finds the same in the saved batch"
    others = dict.fromkeys(violation.code for violation in wanted if violation not in found)
    return (
        f"the record finds {len(found)} of {count(len(wanted), 'problem')} in the saved batch; "
        f"{join_names(list(others))} {'needs' if len(others) == 1 else 'need'} the stage: --stage module:name"
    )


def found_again(dump: Dump) -> list[Violation]:
    """What was wrong and can be seen in the saved batch by the record alone: names, stores, dtypes, shapes, layouts.

    Raises:
        SettingError: if the record makes no contract.
    """
    record = dump.record
    try:
        if record.boundary == "reads":
            looked = Stores(dump.read.tensors, dump.read.columns, {**dump.read.meta, **dump.filled}, dump.args)
            context = Context(history=record.history, values=record.level == "values")
            seen = diagnose(_plan(record.stage.reads), looked, context).violations
        else:
            context = Context(
                given=record.sizes or {},
                given_from="what the stage read",
                holder="result",
                values=record.level == "values",
            )
            seen = diagnose(_plan(record.stage.writes), dump.returned, context).violations
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
        raise wrong_dump("that was given", f"its record: {error}", "the record of a stage") from None
    told = {_told(violation) for violation in seen}
    return [violation for violation in record.violations if _told(violation) in told]


def _plan(spec: SchemaSpec) -> Plan:
    """The check of a schema of which only the record is there: the Python types of values are not in it."""
    types: Mapping[str, Mapping[PlacementName, object]] = {
        field.key: {place.placement: Any for place in field.places} for field in spec.fields
    }
    return Plan(unanswered(spec), types)


def _told(violation: Violation) -> tuple[str, str, str, str, str]:
    return violation.code, violation.field, violation.actual, violation.expected, violation.hint


def run(dump: Dump, stage: Callable[..., Any]) -> Any:
    """Run a stage on the saved batch, checked as it was then, with the arguments and the meta of the call.

    Args:
        dump: the dump.
        stage: the stage, or another one that is to do its work.

    Returns:
        What the stage returns.

    Raises:
        ContractError: where the contract is broken again.
    """
    record = dump.record
    batch = dump.batch.select()
    batch.meta_info.update(dump.filled)
    named = {field.name: dump.args[field.key] for field in record.stage.reads.fields if field.key in dump.args}
    given: Any = batch
    if record.container == "TensorDict":
        given = batch.to_tensordict()
    elif record.container == "verl":
        given = _as_verls(batch)
    with checking(record.level, action="raise", dump=""):
        result = stage(given, **named)
        return asyncio.run(result) if inspect.iscoroutine(result) else result


def _as_verls(batch: Any) -> Any:
    """The batch as verl's own, where verl is installed."""
    try:
        return batch.to_verl()
    except ImportError:
        return batch


def stage_at(target: str) -> Callable[..., Any]:
    """The stage that a target names: a function, or a bound method of an object in the module.

    Raises:
        SettingError: if there is none, or it is a method without its object.
    """
    _, name, value = resolve(target)
    contract = contract_of(value)
    if contract is None or not callable(value):
        raise wrong_target(target, f"{name or 'the module'} is {describe(value)}", "a stage: module:name")
    if needs_object(value):
        raise wrong_target(
            target, f"{name} is a method, and needs its object", "module:object.method, of an object there"
        )
    return value


def target_of(dump: Dump) -> str:
    """The target of the stage that the dump names, as far as its qualified name can be imported.

    Raises:
        SettingError: if none of it can.
    """
    parts = dump.record.stage.qualname.split(".")
    for at in range(len(parts) - 1, 0, -1):
        target = f"{'.'.join(parts[:at])}:{'.'.join(parts[at:])}"
        try:
            resolve(target)
        except SettingError:
            continue
        return target
    qualname = dump.record.stage.qualname
    raise wrong_target(qualname, "nothing of this name can be imported here", "--stage module:name says where it is")
