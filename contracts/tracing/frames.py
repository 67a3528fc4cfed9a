"""What a frame says of a call: its arguments, their defaults, and the batches that its callers have."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from batchpact.dataproto.carriers import carrier_of

_CALLERS = 5
"""So many frames up is looked for a batch, as decorators stand between a function and its caller."""


def arguments(frame: FrameType) -> dict[str, object]:
    """What a function was called with, by parameter."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = {name: values[name] for name in names if name in values and name not in ("self", "cls")}
    at = len(names)
    if code.co_flags & inspect.CO_VARARGS:
        for number, value in enumerate(values.get(code.co_varnames[at], ())):
            given[f"*{number}"] = value
        at += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        given.update(values.get(code.co_varnames[at], {}))
    return given


def batches_around(frame: FrameType) -> Iterator[Any]:
    """The batches that the callers of a function have, the nearest first."""
    here = frame.f_back
    for _ in range(_CALLERS):
        if here is None:
            return
        yield from (value for value in here.f_locals.values() if carrier_of(value) is not None)
        here = here.f_back


def wrapped(frame: FrameType) -> Iterator[CodeType]:
    """The functions that a decorator's wrapper may hand its arguments on to; none where a function is no such thing.

    A wrapper stands in a function, which has given it the one that was decorated, and takes whatever arguments come.
    """
    code = frame.f_code
    if code.co_freevars and code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        around = (frame.f_locals.get(name) for name in code.co_freevars)
        yield from (value.__code__ for value in around if isinstance(value, FunctionType))


def defaults(frame: FrameType) -> dict[str, object]:
    """The defaults of a function, where its module has it under its name."""
    found = inspect.unwrap(here) if callable(here := frame.f_globals.get(frame.f_code.co_name)) else None
    if getattr(found, "__code__", None) is not frame.f_code:
        return {}
    parameters = inspect.signature(found).parameters.values()  # type: ignore[arg-type]  # it has code
    return {parameter.name: parameter.default for parameter in parameters}


def home(frame: FrameType) -> str:
    """The module and the name of a function."""
    # Python 3.10 has no co_qualname.
    name = str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name)).replace("<locals>.", "")
    return f"{frame.f_globals.get('__name__', '')}.{name}"
