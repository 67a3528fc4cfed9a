"""Which functions are watched: those that are named, or else all that are neither Python's nor somebody's package."""

from __future__ import annotations

import inspect
import site
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TypeAlias

import tensordict
import torch

from batchpact import contracts, dataproto, schemas
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.violations import Violation

Named: TypeAlias = "ModuleType | type | Callable[..., object]"

_NO_CALL = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Code that is entered several times for one call."""


class Scope:
    """The functions that are watched.

    Args:
        named: modules, packages, classes and functions; the program's own code where there are none.

    Attributes:
        named: whether any are named.

    Raises:
        ContractError: if something else is named.
    """

    def __init__(self, named: Sequence[object]) -> None:
        self.named = bool(named)
        self._codes: set[CodeType] = set()
        self._files: list[str] = []
        self._known: dict[CodeType, bool] = {}
        for one in named:
            if isinstance(one, ModuleType) and one.__file__:
                file = Path(one.__file__)
                self._files.append(f"{file.parent}/" if file.name == "__init__.py" else str(file))
            else:
                self._codes |= _codes(one)
        paths = sysconfig.get_paths()
        here = [path for package in (contracts, dataproto, schemas, tensordict, torch) for path in package.__path__]
        packages = [
            *site.getsitepackages(),
            site.getusersitepackages(),
            paths["purelib"],
            paths["platlib"],
            paths["stdlib"],
        ]
        self._foreign = tuple(f"{path}/" for path in (*packages, *here))

    def __contains__(self, code: CodeType) -> bool:
        found = self._known.get(code)
        if found is None:
            found = self._known[code] = self._watches(code)
        return found

    def _watches(self, code: CodeType) -> bool:
        if code.co_name.startswith(("<", "__")) or code.co_flags & _NO_CALL:
            return False
        if self.named:
            return code in self._codes or code.co_filename.startswith(tuple(self._files))
        return not code.co_filename.startswith(("<", *self._foreign))


def _codes(named: object) -> set[CodeType]:
    """The code of a function, or of the functions in a class.

    Raises:
        ContractError: if it is neither.
    """
    functions = list(vars(named).values()) if isinstance(named, type) else [named]
    found = [inspect.unwrap(function) for function in functions if callable(function)]
    codes = {function.__code__ for function in found if isinstance(function, (FunctionType, MethodType))}
    if not codes:
        expected = "modules, packages, classes and functions are watched"
        violation = Violation(code="BP036", field="named", actual=describe(named), expected=expected)
        raise ContractError("where a trace begins", [violation])
    return codes
