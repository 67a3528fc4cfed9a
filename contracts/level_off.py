"""A call at level `off`, which checks nothing and does no more than keep the results the same."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

from batchpact.contracts.arguments import Filled
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.handing import EVERYTHING
from batchpact.contracts.passage import Passage
from batchpact.contracts.settings import current
from batchpact.dataproto.carriers import OURS
from batchpact.dataproto.container import DataProto
from batchpact.schemas.stores import rows_of

Call: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def unchecked(boundary: Boundary, otherwise: Call) -> Call:
    """A call at level `off` of a stage that has nothing to fill and joins by union: the same result, at no cost.

    Called with its own kind, the function runs at once; other calls go `otherwise`, the way they always go.

    Args:
        boundary: the contract of the stage.
        otherwise: the checked call, with positional and keyword arguments.
    """
    function, typed, reads = boundary.function, boundary.typed, boundary.accepted
    writers, rewrites = boundary.writers, boundary.rewrites
    new = object.__new__

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for batch in args:
            if typed:
                if type(batch) is reads or isinstance(batch, reads):
                    return function(*args, **kwargs)
            elif type(batch) is DataProto:
                # A batch of its own, so that scratch names stay in it; what `_hand_out` does, without the call.
                handed = new(DataProto)
                handed._handed = (batch, EVERYTHING)
                if len(args) == 1 and not kwargs:
                    result = function(handed)
                else:
                    result = function(*(handed if value is batch else value for value in args), **kwargs)
                if type(result) is DataProto and result._handed is None:
                    result._writers, result._rewrites = writers, rewrites
                    return result
                source = batch.stores()
                rows = rows_of(source)
                passage = Passage(batch, OURS, source, handed, rows, Filled(), current(), "off", perf_counter())
                return boundary.leave(passage, result)
        return otherwise(args, kwargs)

    return call
