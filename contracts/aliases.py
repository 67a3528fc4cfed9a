"""One stage under another contract name: with other keys in the batch, and with arguments that have one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MethodType
from typing import Any, TypeVar

from tensordict import TensorDictBase

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.origins import FromRows
from batchpact.dataproto.carriers import carrier_of
from batchpact.dataproto.container import DataProto
from batchpact.schemas.batch import BatchSchema, fill
from batchpact.schemas.condition_specs import words
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.describe import describe
from batchpact.schemas.dim_names import binds_dim
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.names import closest
from batchpact.schemas.renaming import renamed
from batchpact.schemas.text import quoted
from batchpact.schemas.violations import Violation

F = TypeVar("F", bound=Callable[..., Any])


def alias(
    stage: F, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
) -> F:
    """The same code as a stage of another name: for one method that serves several contracts.

        ref = alias(actor.infer_batch, "ref_log_prob", rename={"log_probs": "ref_log_prob"}, args={"entropy": False})

    It is a stage itself, with a record of its own. A stage function has it as a method, too, so that a class can name
    it where it is defined: `infer_ref = infer_batch.as_("ref_log_prob", ...)`.

    Args:
        stage: a stage function, or a bound method that is one.
        name: the name of the new stage.
        rename: the key in the batch of what the stage reads or writes, by the key that its contract has for it.
        args: values for arguments of the contract. A call cannot change them, and fields whose condition they make
            false are no part of the new contract.

    Raises:
        DeclarationError: for what is no stage, a key or an argument that its contract does not have, and a key that it
            has twice.
    """
    if isinstance(stage, MethodType):
        return MethodType(alias(stage.__func__, name, rename=rename, args=args), stage.__self__)  # type: ignore[return-value]
    from batchpact.contracts.decorator import contract_of

    boundary = contract_of(stage)
    if boundary is None or not inspect.isfunction(stage):
        shown = without_locals(getattr(stage, "__qualname__", describe(stage)))
        hint = "of a group's worker, name it in the class: other = method.as_(...)" if boundary is not None else ""
        text = "only a stage function or a bound method has other names"
        raise DeclarationError(f"in alias({name!r})", [Violation(code="BP051", field=shown, actual=text, hint=hint)])
    return alias_of(boundary, name, rename=rename, args=args)  # type: ignore[return-value]


def alias_of(
    boundary: Boundary,
    name: str,
    /,
    *,
    rename: Mapping[str, str] | None = None,
    args: Mapping[str, object] | None = None,
) -> Callable[..., Any]:
    """`alias` of the stage with this contract."""
    from batchpact.contracts.decorator import staged

    keys, values = dict(rename or {}), dict(args or {})
    problems = [*_wrong_keys(boundary, keys), *_wrong_args(boundary, values)]
    if problems:
        found = [Violation(code="BP051", field=key, actual=text, hint=hint) for key, text, hint in problems]
        raise DeclarationError(f"in the alias '{name}' of stage '{boundary.name}'", found)
    return staged(_renamed(boundary, name, keys, values))


def _renamed(boundary: Boundary, name: str, keys: Mapping[str, str], values: Mapping[str, object]) -> Boundary:
    """The contract of a stage under another name, over the same code."""
    named = {field.key: values[field.name] for field in boundary.spec.reads.fields if field.name in values}
    reads, reads_off = renamed(boundary.reads, keys, named)
    writes, writes_off = renamed(boundary.writes, keys, named)
    qualname = f"{boundary.spec.qualname.rpartition('.')[0]}.{name}"
    changes = {
        "name": name,
        "qualname": qualname,
        "reads": reads.__batchpact__.spec,
        "writes": writes.__batchpact__.spec,
        "drops": tuple(keys.get(key, key) for key in boundary.spec.drops),
    }
    read = {key: keys[key] for key in (field.key for field in boundary.spec.reads.fields) if key in keys}
    function = _over_keys(boundary.function, boundary.typed, keys, read, boundary.writes, writes)
    function.__name__, function.__qualname__ = name, qualname.removeprefix(f"{function.__module__}.")
    return Boundary(
        boundary.spec.model_copy(update=changes),
        reads,
        writes,
        function,
        typed=boundary.typed,
        parameters=boundary.parameters,
        level=boundary.level,
        project=boundary.project,
        off={key: words(condition) for key, condition in {**reads_off, **writes_off}.items()},
        alias_of=boundary if boundary.alias_of is None else boundary.alias_of,
        fixed=frozenset(values) | frozenset(boundary.fixed),
    )


def _over_keys(
    function: Callable[..., Any],
    typed: bool,
    keys: Mapping[str, str],
    read: Mapping[str, str],
    writes: type[BatchSchema],
    renamed_writes: type[BatchSchema],
) -> Callable[..., Any]:
    """The function, given its batch and giving its result under other keys.

    Args:
        function: what knows the old keys.
        typed: whether it takes an instance of the Reads, whose attributes keep their names.
        keys: the new keys by the old ones.
        read: those among them that the function is handed.
        writes: the Writes that the function makes.
        renamed_writes: the Writes with the new keys.
    """
    old_keys = {new: old for old, new in read.items()}

    def inward(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What was handed out in the place of the batch, under the old keys."""
        handed = next((value for value in (*args, *kwargs.values()) if carrier_of(value) is not None), None)
        if handed is not None:
            _rename(handed, old_keys)
        return handed

    def outward(result: Any, handed: Any) -> Any:
        if type(result) is tuple and result:
            return (outward(result[0], handed), *result[1:])
        if isinstance(result, FromRows):
            return FromRows(outward(result.result, handed), result.origin)
        if isinstance(result, writes):
            made = object.__new__(renamed_writes)
            fill(made, dict(result.__dict__))
            return made
        carrier = carrier_of(result)
        if carrier is not None:
            if result is not handed:  # the function may keep it
                result = carrier.copy(result)
            _rename(result, keys)
        return result

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            handed = None if typed else inward(args, kwargs)
            return outward(await function(*args, **kwargs), handed)

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        handed = None if typed else inward(args, kwargs)
        return outward(function(*args, **kwargs), handed)

    return called


def _rename(batch: Any, keys: Mapping[str, str]) -> None:
    """Move fields of a batch to other keys, in place."""
    if isinstance(batch, TensorDictBase):  # its entries as they are: a column that is made anew is another one
        entries = {key: value for key, value in batch.items() if key in keys}
        for key in entries:
            batch.pop(key)
        for key, value in entries.items():
            batch.set(keys[key], value)
        return
    stores = batch.batch, batch.non_tensor_batch, batch.meta_info
    for store in stores:
        if store is not None:
            values = {key: store.pop(key) for key in list(store.keys()) if key in keys}
            store.update({keys[key]: value for key, value in values.items()})
    if isinstance(batch, DataProto) and batch._marks.absent:
        batch._marks = batch._marks.renamed(keys)


def _wrong_keys(boundary: Boundary, keys: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    fields = {field.key: field for schema in (boundary.spec.reads, boundary.spec.writes) for field in schema.fields}
    taken = [key for key in fields if key not in keys]
    for old, new in keys.items():
        field = fields.get(old)
        if field is None:
            match = closest(old, fields)
            yield old, "its contract has no such field", "" if match is None else f"closest name: {match!r}"
        elif field.place("arg") is not None:
            yield old, "an argument has no key in the batch; args={...} gives it a value", ""
        elif binds_dim(field):
            yield old, "it says the size of a dim, which is known by its name", ""
        elif new in taken or list(keys.values()).count(new) > 1:
            yield old, f"{new!r} is the key of another field of the contract", ""


def _wrong_args(boundary: Boundary, values: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    arguments = [field.name for field in boundary.spec.reads.fields if field.place("arg") is not None]
    for name in values:
        if name not in arguments:
            text = f"its contract has {f'the arguments {quoted(arguments)}' if arguments else 'no argument'}"
            yield name, text, ""
