"""The contract of a worker's method, and which method it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.signature import keyword_parameters
from batchpact.contracts.variants import Variants
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.stage import StageSchema, reads_of, writes_of
from batchpact.schemas.violations import Violation


class MethodContract:
    """A stage schema as the contract of a method that runs elsewhere.

    Args:
        stage: the schema.
        parameters: the parameters of the method by name, with their positions; `self` is at 0.
        is_stage: whether the method is under `@stage`, too, and so checks its batch itself.

    Attributes:
        variants: the contract under the answers to its conditions.
    """

    def __init__(
        self,
        stage: type[StageSchema],
        parameters: Mapping[str, int | None] = MappingProxyType({}),
        is_stage: bool = False,
    ) -> None:
        self.stage = stage
        self.parameters = dict(parameters)
        self.is_stage = is_stage
        spec, reads, writes = stage.__batchpact__, reads_of(stage), writes_of(stage)
        self.variants = Variants(
            Boundary(spec, reads, writes, _elsewhere, typed=False, parameters=parameters, level=None, project="on")
        )

    def __reduce__(self) -> tuple[type[MethodContract], tuple[type[StageSchema], dict[str, int | None], bool]]:
        return type(self), (self.stage, self.parameters, self.is_stage)

    def in_meta(self, boundary: Boundary, args: Mapping[str, object]) -> dict[str, object]:
        """The arguments that the method does not take: they stand in the meta for the length of the call."""
        fields = (field for field in boundary.spec.reads.fields if field.key in args)
        return {field.key: args[field.key] for field in fields if field.name not in self.parameters}

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.stage.__batchpact__.name


def contract_for(stage: type[StageSchema], dispatches_it: Callable[[object], bool]) -> MethodContract:
    """The contract of the method that a dispatch mode belongs to.

    verl does not tell a dispatch mode for which method it is called. The method is looked for in the worker classes of
    this process; where none is found, arguments go in the meta, as verl's own do.

    Args:
        stage: the schema.
        dispatches_it: whether a dispatch mode is the one.

    Raises:
        DeclarationError: if the mode stands on several methods, or the method is a stage with another contract.
    """
    methods = list(_methods(dispatches_it))
    if len(methods) > 1:
        names = " and ".join(without_locals(method.__qualname__) for method in methods)
        wrong(stage, f"one dispatch mode stands on {names}; write contract_dispatch(...) for each method")
    if not methods:
        return MethodContract(stage)
    own = contract_of(methods[0])
    parameters = keyword_parameters(methods[0])
    if own is not None:
        if own.reads is not reads_of(stage) or own.writes is not writes_of(stage):
            name = without_locals(methods[0].__qualname__)
            wrong(stage, f"{name} is a @stage with another contract: {own.spec.qualname}; both must have one schema")
        arguments = (field.name for field in own.spec.reads.fields if field.place("arg") is not None)
        parameters = {**dict.fromkeys(arguments), **parameters}
    return MethodContract(stage, parameters, is_stage=own is not None and own.project == "on")


def wrong(stage: object, text: str) -> NoReturn:
    """Refuse a dispatch mode.

    Raises:
        DeclarationError: always.
    """
    name = without_locals(getattr(stage, "__qualname__", repr(stage)))
    raise DeclarationError("in contract_dispatch", [Violation(code="BP051", field=name, actual=text)])


def _methods(dispatches_it: Callable[[object], bool]) -> Iterator[Callable[..., Any]]:
    from verl.single_controller.base import Worker
    from verl.single_controller.base.decorator import MAGIC_ATTR

    seen: set[tuple[str, str]] = set()
    waiting: list[type] = [Worker]
    while waiting:
        cls = waiting.pop()
        waiting += type.__subclasses__(cls)
        for method in vars(cls).values():
            registered = getattr(method, MAGIC_ATTR, None)
            # What verl binds to a class of colocated workers is not the method, and knows nothing of it.
            if not (isinstance(registered, dict) and inspect.isfunction(method) and hasattr(method, "__wrapped__")):
                continue
            name = (method.__module__, method.__qualname__)  # an actor class of Ray's has wrapped it once more
            if name not in seen and dispatches_it(registered["dispatch_mode"]):
                seen.add(name)
                yield method


def _elsewhere(*args: object, **kwargs: object) -> NoReturn:
    raise NotImplementedError("the method runs on workers")
