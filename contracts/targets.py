"""Targets of the command line: `module:name` or `path.py:name`, and what in them can be checked."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from batchpact.contracts import registry
from batchpact.contracts.pipeline import Pipeline
from batchpact.schemas.errors import SettingError
from batchpact.schemas.names import closest
from batchpact.schemas.violations import Violation


def load(target: str) -> list[Pipeline]:
    """The pipelines that a target names: one by its name, or all of a module.

    Args:
        target: `package.module:name`, `path/to/file.py:name`, or either without a name.

    Raises:
        SettingError: if there is no such module, file or pipeline.
    """
    module, name, value = resolve(target)
    if not name:
        found = list(_pipelines(module))
        if not found:
            raise wrong_target(target, f"{_place(target)[0]} holds no pipeline", "name a module that makes one")
        return found
    if not isinstance(value, Pipeline):
        kind = "class" if isinstance(value, type) else type(value).__name__
        raise wrong_target(target, f"{name} is a {kind}", "a Pipeline can be checked")
    return [value]


def pipelines_in(target: str) -> list[Pipeline]:
    """The pipelines that a target names, of which there may be none.

    Raises:
        SettingError: if there is no such module, file or name.
    """
    module, name, value = resolve(target)
    if name:
        return [value] if isinstance(value, Pipeline) else []
    return list(_pipelines(module))


def resolve(target: str) -> tuple[ModuleType, str, object]:
    """The module of a target, imported; the name in it, and what has that name: the module itself where it is empty.

    Raises:
        SettingError: if there is no such module, file or name.
    """
    place, name = _place(target)
    module = _module(target, place)
    value: object = module
    for part in name.split(".") if name else ():
        if not hasattr(value, part):
            match = closest(part, [key for key in dir(value) if not key.startswith("_")])
            hint = "" if match is None else f"closest name: {match!r}"
            raise wrong_target(target, f"{place} has no {part!r}", hint)
        value = getattr(value, part)
    return module, name, value


def defined_in(module: ModuleType) -> Iterator[object]:
    """What is defined in a module, stages that are methods among it, and its pipelines."""
    inside = f"{module.__name__}."
    below = [name for name in sys.modules if name.startswith(inside)] if hasattr(module, "__path__") else []
    for name in (module.__name__, *sorted(below)):
        for value in list(vars(sys.modules[name]).values()):
            if isinstance(value, Pipeline) or getattr(value, "__module__", None) == name:
                yield value
        for boundary in registry.boundaries():
            if boundary.function.__module__ == name:
                yield boundary


def _place(target: str) -> tuple[str, str]:
    """The module or file of a target, and the name in it."""
    place, _, name = target.partition(":") if not _is_drive(target) else (target, "", "")
    return place, name


def _is_drive(target: str) -> bool:
    return len(target) > 2 and target[1] == ":" and target[2] in "\\/"


def _pipelines(module: ModuleType) -> Iterator[Pipeline]:
    seen: set[int] = set()
    for value in vars(module).values():
        if isinstance(value, Pipeline) and id(value) not in seen:
            seen.add(id(value))
            yield value


def _module(target: str, place: str) -> ModuleType:
    if place.endswith(".py"):
        path = Path(place).resolve()
        if not path.is_file():
            raise wrong_target(target, f"there is no file {place}", "a path from here, or module:name")
        root, parts = path.parent, [path.stem]
        while (root / "__init__.py").is_file():  # a file inside a package is imported under its full name
            parts.insert(0, root.name)
            root = root.parent
        name = ".".join(part for part in parts if part != "__init__")
        sys.path.insert(0, str(root))
        module = importlib.import_module(name)
        found = getattr(module, "__file__", None)
        if found is None or Path(found).resolve() != path:
            raise wrong_target(
                target, f"{name} is another module here, {found or 'a built-in one'}", "a name of its own"
            )
        return module
    if not all(part.isidentifier() for part in place.split(".")):
        raise wrong_target(target, f"{place!r} is no module", "module:name or path.py:name")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
            raise wrong_target(
                target, f"there is no module {error.name}", "an importable module, or path.py:name"
            ) from error
        raise


def wrong_target(target: str, actual: str, expected: str) -> SettingError:
    """The error for a target that leads nowhere."""
    violation = Violation(code="BP052", field="target", actual=actual, expected=expected)
    return SettingError(f"in the target {target}", [violation])
