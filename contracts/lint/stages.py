"""The stages that a target names: those whose code can be read."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from batchpact.contracts import registry
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.targets import resolve, wrong_target
from batchpact.schemas.stage import StageSchema


def stages_of(target: str) -> list[Boundary]:
    """The contracts of the stage functions that a target names, each once.

    A module stands for the stages that are defined in it and those of its pipelines, a package also for those of its
    modules that were imported, a class for its methods.

    Raises:
        SettingError: if the target leads nowhere, or to something that has no stage.
    """
    module, name, value = resolve(target)
    named = _of_value(value) if name else _of_module(module)
    own = (stage if stage.alias_of is None else stage.alias_of for stage in named)  # whose names the code has
    found = {stage.spec.qualname: stage for stage in own}
    if not found:
        expected = "a function under @stage, a pipeline of such functions, or a module that has some"
        raise wrong_target(target, "no stage of it has code", expected)
    return list(found.values())


def _of_module(module: ModuleType) -> Iterator[Boundary]:
    for boundary in registry.boundaries():
        home = boundary.function.__module__
        if home == module.__name__ or (hasattr(module, "__path__") and home.startswith(f"{module.__name__}.")):
            yield boundary
    for value in list(vars(module).values()):
        if isinstance(value, Pipeline):
            yield from _of_value(value)


def _of_value(value: object) -> Iterator[Boundary]:
    boundary = contract_of(value)
    if boundary is not None:
        yield boundary
    elif isinstance(value, Pipeline):
        for planned in value.planned:
            yield from _of_value(planned.stage) if not isinstance(planned.stage, type) else ()
    elif isinstance(value, ModuleType):
        yield from _of_module(value)
    elif isinstance(value, type) and not issubclass(value, StageSchema):
        for member in vars(value).values():
            inner = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            yield from _of_value(inner) if not isinstance(inner, type) else ()
