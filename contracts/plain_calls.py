"""A function of plain values, called as a stage or as itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from torch.compiler import is_dynamo_compiling

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import OBSERVERS
from batchpact.contracts.settings import is_off
from batchpact.contracts.unpacking import Unpacking
from batchpact.contracts.variants import Variants


def unpacking_stage(
    function: Callable[..., Any],
    unpacking: Unpacking,
    boundary: Boundary,
    staged: Callable[..., Any],
    accepts: Callable[[object], bool],
) -> Callable[..., Any]:
    """The stage of a function of plain values: called with a batch it is a stage, else it is the function, checked.

    Args:
        function: the function itself.
        unpacking: how it is called.
        boundary: its contract.
        staged: the stage that takes batches.
        accepts: whether a stage can be called with a value.
    """
    variants, direct, level = Variants(boundary), boundary.direct, boundary.level

    def entered(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Boundary, Passage, list[Any], dict[str, Any]]:
        """Let a plain call in: what its parameters hold is checked as a batch would be."""
        batch, rest = unpacking.packed(args, kwargs)
        counting = variants.of(batch, (), rest) if variants.conditional else boundary
        passage = counting.enter(batch, (), rest)
        first, rest = unpacking.filled((*args[: unpacking.owners], passage.handed), rest)
        return counting, passage, first, rest

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling():
                return await function(*args, **kwargs)
            if unpacking.takes_batch(args, accepts):
                return await staged(*args, **kwargs)
            counting, passage, first, rest = entered(args, kwargs)
            result = await function(*first, **rest)
            counting.leave(passage, unpacking.written(result))
            return result

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return function(*args, **kwargs)
        if unpacking.takes_batch(args, accepts):
            return staged(*args, **kwargs)
        if direct and is_off(level) and not OBSERVERS.get():
            return function(*args, **kwargs)
        counting, passage, first, rest = entered(args, kwargs)
        result = function(*first, **rest)
        counting.leave(passage, unpacking.written(result))
        return result

    return called


def over_reads(function: Callable[..., Any], unpacking: Unpacking) -> Callable[..., Any]:
    """The function as one that takes a Reads and returns a Writes."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            first, rest = unpacking.filled(args, kwargs)
            return unpacking.written(await function(*first, **rest))

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        first, rest = unpacking.filled(args, kwargs)
        return unpacking.written(function(*first, **rest))

    return called
