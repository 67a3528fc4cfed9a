"""`@stage`: a function under contract. What comes out is a real function; its contract hangs on it as `.contract`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Concatenate, Literal, overload

from torch.compiler import is_dynamo_compiling
from typing_extensions import Unpack

from batchpact.contracts import registry, statements  # noqa: F401  # statements say what `StageSchema.on` does
from batchpact.contracts.aliases import alias_of
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.level_off import unchecked
from batchpact.contracts.passage import Passage
from batchpact.contracts.plain_calls import over_reads, unpacking_stage
from batchpact.contracts.queue.calling import await_with_keys, call_with_keys
from batchpact.contracts.queue.references import is_reference
from batchpact.contracts.reporting import OBSERVERS
from batchpact.contracts.settings import LEVELS, PROJECTIONS, Level, Projection, checked, is_off
from batchpact.contracts.signature import keyword_parameters, stage_signature, stated_contract, takes_reads, wrong_stage
from batchpact.contracts.stage_types import (
    AsyncMethodStage,
    AsyncStage,
    AsyncTupleStage,
    Decorator,
    MethodStage,
    NamedDecorator,
    R,
    S,
    Stage,
    Ts,
    TupleStage,
    UnpackDecorator,
    W,
)
from batchpact.contracts.unpacking import Unpacking
from batchpact.contracts.variants import Variants
from batchpact.contracts.verl.stacking import verl_on_top
from batchpact.dataproto.carriers import carrier_for
from batchpact.dataproto.container import DataProto
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.definitions import first_paragraph, qualified_name
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.record import StageSpec
from batchpact.schemas.stage import StageSchema, reads_of, stage_spec, writes_of
from batchpact.schemas.violations import Violation


@overload
def stage(contract: Callable[Concatenate[R, ...], Awaitable[W]], /) -> AsyncStage[R, W]: ...
@overload
def stage(contract: Callable[Concatenate[R, ...], W], /) -> Stage[R, W]: ...
@overload
def stage(contract: Callable[Concatenate[S, R, ...], Awaitable[W]], /) -> AsyncMethodStage[R, W]: ...
@overload
def stage(contract: Callable[Concatenate[S, R, ...], W], /) -> MethodStage[R, W]: ...
@overload
def stage(
    contract: Callable[Concatenate[R, ...], Awaitable[tuple[W, Unpack[Ts]]]], /
) -> AsyncTupleStage[R, W, Unpack[Ts]]: ...
@overload
def stage(contract: Callable[Concatenate[R, ...], tuple[W, Unpack[Ts]]], /) -> TupleStage[R, W, Unpack[Ts]]: ...
@overload
def stage(
    contract: Callable[Concatenate[S, R, ...], Awaitable[tuple[W, Unpack[Ts]]]], /
) -> AsyncTupleStage[R, W, Unpack[Ts]]: ...
@overload
def stage(contract: Callable[Concatenate[S, R, ...], tuple[W, Unpack[Ts]]], /) -> TupleStage[R, W, Unpack[Ts]]: ...
@overload
def stage(
    contract: type[StageSchema], /, *, name: str | None = None, level: Level | None = None, project: Projection = "on"
) -> NamedDecorator: ...
@overload
def stage(
    contract: type[StageSchema],
    /,
    *,
    unpack: Literal[True],
    names: Mapping[str, str] | None = None,
    name: str | None = None,
    level: Level | None = None,
) -> UnpackDecorator: ...
@overload
def stage(*, name: str | None = None, level: Level | None = None, project: Projection = "on") -> Decorator: ...


def stage(
    contract: Any = None,
    /,
    *,
    unpack: bool = False,
    names: Mapping[str, str] | None = None,
    name: str | None = None,
    level: Level | None = None,
    project: Projection = "on",
) -> Any:
    """Put a function, a method or a coroutine function under contract.

        @stage                      # the signature is the contract
        def kl_in_reward(batch: KlInReward.Reads) -> KlInReward.Writes: ...

        @stage(KlInReward)          # a carrier in, a carrier out
        def kl_in_reward(data: DataProto) -> DataProto: ...

        @stage(Gae, unpack=True)    # values in, values out
        def compute_gae(token_level_rewards, values, response_mask, gamma, lam): ...

    Called with a batch (our DataProto, verl's, or a TensorDict), a stage checks its reads, hands the function only the
    declared fields, runs it, checks what it wrote and returns that in the batch's own kind; `batch.union(result)` joins
    it. A stage whose `rows` are not `"same"` returns the whole batch in its new rows. Called with TransferQueue's keys
    (`KVBatchMeta`, `BatchMeta`), it fetches the declared columns and puts what was written.

    With `unpack`, each parameter is filled by the field of its name; what is returned becomes the Writes: one value, a
    tuple in the order in which they are declared, or a dict by name. Called without a batch, with the function's own
    arguments, it checks these and returns what the function returns.

    Args:
        contract: the function, or the `StageSchema` that it keeps to.
        unpack: whether the function takes the values of the fields, by name.
        names: the field of a parameter, where it is not called like it: `{"index": "uid"}`.
        name: the name of the stage; the function's name where None.
        level: the level of this stage, where neither a `checking` block nor the environment says another.
        project: `"on"` hands out declared fields only; `"record"` hands out everything and reports what is touched and
            not declared; `"off"` hands out everything.

    Raises:
        DeclarationError: if the function does not fit the contract.
    """
    checked("project", project, PROJECTIONS)
    if level is not None:
        checked("level", level, LEVELS)
    if isinstance(contract, type) and issubclass(contract, StageSchema):
        if unpack:
            return lambda function: _decorate_values(function, contract, names or {}, name, level)
        if names is None:
            return lambda function: _decorate(function, contract, name, level, project)
    if unpack or names is not None:
        text = (
            "names are for unpack=True"
            if not unpack
            else "unpack=True needs a StageSchema: @stage(Schema, unpack=True)"
        )
        raise wrong_stage(getattr(contract, "__qualname__", "@stage"), text)
    if contract is None:
        return lambda function: _decorate(function, None, name, level, project)
    return _decorate(contract, None, name, level, project)


def contract_of(value: object) -> Boundary | None:
    """The contract of a stage function, a bound method or a `functools.partial` of one; None for anything else."""
    while isinstance(value, functools.partial):
        value = value.func
    found = getattr(value, "contract", None)
    return found if isinstance(found, Boundary) else None


def _decorate(
    function: Callable[..., Any],
    schema: type[StageSchema] | None,
    name: str | None,
    level: Level | None,
    project: Projection,
) -> Callable[..., Any]:
    _check_function(function)
    if schema is None:
        typed = True
        reads, writes, facts = stated_contract(function)
    else:
        typed = takes_reads(function, schema)
        reads, writes, facts = reads_of(schema), writes_of(schema), schema
    spec = _spec(function, name, reads, writes, facts)
    parameters = keyword_parameters(function)
    return staged(
        Boundary(spec, reads, writes, function, typed=typed, parameters=parameters, level=level, project=project)
    )


def staged(boundary: Boundary) -> Callable[..., Any]:
    """The stage of a contract and its function."""
    registry.add(boundary)
    origin = boundary if boundary.alias_of is None else boundary.alias_of
    return _named(verl_on_top(origin.function, _wrap(boundary.function, boundary)))


def _named(made: Callable[..., Any]) -> Callable[..., Any]:
    """A stage that can be given another name."""
    # By the contract, which can be pickled: a decorator above takes this over, and Ray sends it along.
    made.as_ = partial(alias_of, made.contract)  # type: ignore[attr-defined]
    return made


def _decorate_values(
    function: Callable[..., Any],
    schema: type[StageSchema],
    names: Mapping[str, str],
    name: str | None,
    level: Level | None,
) -> Callable[..., Any]:
    """A function of plain values, as a stage."""
    _check_function(function)
    reads, writes = reads_of(schema), writes_of(schema)
    spec = _spec(function, name, reads, writes, schema)
    unpacking = Unpacking(function, schema, names, spec.name)
    takes_reads = over_reads(function, unpacking)
    boundary = Boundary(spec, reads, writes, takes_reads, typed=True, parameters={}, level=level, project="on")
    boundary.unpacking = unpacking
    registry.add(boundary)

    def accepts(value: object) -> bool:
        return isinstance(value, reads) or _is_callable_with(type(value))  # type: ignore[arg-type]  # a class is hashable

    both = unpacking_stage(function, unpacking, boundary, _wrap(takes_reads, boundary), accepts)
    both.contract = boundary  # type: ignore[attr-defined]
    both.__signature__ = unpacking.signature  # type: ignore[attr-defined]
    del both.__wrapped__  # type: ignore[attr-defined]
    return _named(verl_on_top(function, both))


def _check_function(function: object) -> None:
    """Raise where something else than a function that returns its result is to be a stage."""
    if not inspect.isfunction(function):
        if isinstance(function, type) and issubclass(function, BatchSchema):
            raise wrong_stage(
                function.__qualname__, "Reads and Writes are parts of a contract; @stage takes the StageSchema"
            )
        raise wrong_stage(
            getattr(function, "__qualname__", describe(function)), "a stage is a function, put @stage closest to it"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise wrong_stage(function.__qualname__, "a stage returns its result; a generator has none")


def _spec(
    function: Callable[..., Any],
    name: str | None,
    reads: type[BatchSchema],
    writes: type[BatchSchema],
    facts: type[StageSchema],
) -> StageSpec:
    """The record of a stage, from its function and its contract."""
    owned = "" if facts is StageSchema else facts.__batchpact__.description
    description = first_paragraph(function.__doc__) or owned
    return stage_spec(name or function.__name__, qualified_name(function), description, reads, writes, facts)


def _wrap(function: Callable[..., Any], boundary: Boundary) -> Callable[..., Any]:
    wrapper = _coroutine(function, boundary) if inspect.iscoroutinefunction(function) else _plain(function, boundary)
    wrapper.contract = boundary  # type: ignore[attr-defined]
    wrapper.__signature__ = stage_signature(function, boundary.spec.reads)  # type: ignore[attr-defined]
    # Ray unwraps a method to see what it can be called with, and would miss the contract's arguments.
    del wrapper.__wrapped__  # type: ignore[attr-defined]
    return wrapper


def _coroutine(function: Callable[..., Any], boundary: Boundary) -> Callable[..., Any]:
    """A coroutine function stays one."""
    variants = Variants(boundary)

    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return await function(*args, **kwargs)
        place = find_batch(boundary, args, kwargs, _is_callable_with)
        batch = args[place] if isinstance(place, int) else kwargs[place]
        if is_reference(type(batch)):  # type: ignore[arg-type]
            return await await_with_keys(variants, place, args, kwargs, function)
        counting, passage, args, kwargs = _enter(boundary, variants, place, batch, args, kwargs)
        return counting.leave(passage, await function(*args, **kwargs))

    return wrapper


def _plain(function: Callable[..., Any], boundary: Boundary) -> Callable[..., Any]:
    variants = Variants(boundary)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        place = find_batch(boundary, args, kwargs, _is_callable_with)
        batch = args[place] if isinstance(place, int) else kwargs[place]
        if is_reference(type(batch)):  # type: ignore[arg-type]
            return call_with_keys(variants, place, args, kwargs, function)
        counting, passage, args, kwargs = _enter(boundary, variants, place, batch, args, kwargs)
        return counting.leave(passage, function(*args, **kwargs))

    call_unchecked, direct, level = unchecked(boundary, call), boundary.direct, boundary.level

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return function(*args, **kwargs)
        return (call_unchecked if direct and is_off(level) and not OBSERVERS.get() else call)(args, kwargs)

    return wrapper


def _enter(
    boundary: Boundary,
    variants: Variants,
    place: int | str,
    batch: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Boundary, Passage, tuple[Any, ...], dict[str, Any]]:
    """Let the batch of a call in.

    Returns:
        The contract that counts for this call, the passage, and the arguments with what the function is handed in the
        place of the batch.
    """
    if variants.conditional:
        boundary = variants.of(batch, args, kwargs)
    passage = boundary.enter(batch, args, kwargs)
    if isinstance(place, int):
        return boundary, passage, (*args[:place], passage.handed, *args[place + 1 :]), kwargs
    return boundary, passage, args, {**kwargs, place: passage.handed}


def _is_carrier(kind: type) -> bool:
    return carrier_for(kind) is not None


@lru_cache(maxsize=512)
def _is_callable_with(kind: type) -> bool:
    """Whether a stage can be called with values of this class: batches, and keys of TransferQueue."""
    return _is_carrier(kind) or is_reference(kind)


def find_batch(
    boundary: Boundary,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    accepts: Callable[[type], bool] = _is_carrier,
) -> int | str:
    """Where the batch is: the first argument that is a carrier or, where the function takes one, a Reads.

    `accepts` says of a class whether its values are carriers.
    """
    reads = boundary.accepted if boundary.typed else ()
    for at, value in enumerate(args):
        if type(value) is DataProto or isinstance(value, reads) or accepts(type(value)):
            return at
    for name, value in kwargs.items():
        if isinstance(value, reads) or accepts(type(value)):
            return name
    shown = ", ".join(describe(value) for value in (*args, *kwargs.values())) or "nothing"
    expected = "a stage takes a DataProto, a TensorDict, verl's DataProto" + (
        f" or {boundary.accepted.__qualname__}" if boundary.typed else ""
    )
    violation = Violation(code="BP036", field="batch", actual=f"called with {shown}", expected=expected)
    raise ContractError(f"where stage '{boundary.name}' is called", [violation])
