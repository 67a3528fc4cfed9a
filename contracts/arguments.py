"""Values that a call brings along: arguments by keyword, what the configuration fills, and defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from batchpact.contracts.configuration import ABSENT, config_value
from batchpact.schemas.compiled import Compiled
from batchpact.schemas.describe import describe
from batchpact.schemas.equality import equal
from batchpact.schemas.errors import ContractError
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


class _Argument(NamedTuple):
    field: FieldSpec
    position: int | None
    taken: bool
    fixed: bool


@dataclass(slots=True)
class Filled:
    """What a call brings beside its batch.

    Attributes:
        args: every argument that has a value, by key: this is what the contract checks.
        meta: meta fields that the batch lacks and the configuration or a default provides.
        violations: meta fields whose value contradicts the configuration.
    """

    args: dict[str, object] = field(default_factory=dict)
    meta: dict[str, object] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def together(self) -> dict[str, object]:
        """What stands in the handed-out meta for the length of the call."""
        return {**self.meta, **self.args} if self.args or self.meta else {}


class Arguments:
    """How the arguments and optional meta fields of one stage are filled.

    Args:
        reads: the compiled Reads.
        parameters: the function's parameters by name with their positions; None for the ones that are keyword-only.
        stage: the name of the stage.
        fixed: the names of arguments that always have their default value.
    """

    def __init__(
        self, reads: Compiled, parameters: Mapping[str, int | None], stage: str = "", fixed: Collection[str] = ()
    ) -> None:
        self._stage = stage
        self._reads = reads
        self._args: list[_Argument] = []
        self._meta: list[FieldSpec] = []
        for spec in reads.spec.fields:
            if spec.place("arg") is not None:
                self._args.append(
                    _Argument(spec, parameters.get(spec.name), spec.name in parameters, spec.name in fixed)
                )
            elif spec.place("meta") is not None and (spec.source is not None or not spec.required):
                self._meta.append(spec)

    @property
    def needless(self) -> bool:
        """Whether the stage has no argument and no meta field that could be filled."""
        return not (self._args or self._meta)

    def fill(self, source: Stores, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Filled:
        """Take the arguments out of a call and find a value for what it leaves open.

        `kwargs` is changed in place: an argument that the function does not take leaves it, one that the function takes
        and the call left open enters it.

        Raises:
            ContractError: if a call brings another value for an argument that has one.
        """
        filled = Filled()
        defaults = self._reads.new_defaults()
        for spec, position, taken, fixed in self._args:
            if spec.name in kwargs:
                value = kwargs[spec.name] if taken else kwargs.pop(spec.name)
            elif position is not None and position < len(args):
                value = args[position]
            else:
                held = ABSENT if fixed else source.args.get(spec.key, ABSENT)
                value = self._open(spec, defaults, held)
                if value is ABSENT:
                    continue
                if taken:
                    kwargs[spec.name] = value
            if fixed and not equal(value, defaults[spec.name]):
                raise self._wrong(spec, value, defaults[spec.name])
            if value is not None or spec.nullable:
                filled.args[spec.key] = value
        for spec in self._meta:
            held = source.find(spec.key)
            if held is None:
                value = self._open(spec, defaults)
                if value is not ABSENT and value is not None:
                    filled.meta[spec.key] = value
            elif spec.source is not None and held[0] == "meta":
                configured = config_value(spec.source)
                if configured is not ABSENT and not equal(configured, held[1]):
                    filled.violations.append(
                        Violation(
                            code="BP053",
                            field=spec.key,
                            placement="meta",
                            actual=f"the batch has {describe(held[1])}",
                            expected=f"the configuration has {configured!r} at {spec.source}",
                        )
                    )
        return filled

    def look(self, name: str, source: Stores, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        """The value that an argument has in a call, or `ABSENT`; nothing is taken out of the call."""
        for spec, position, _, fixed in self._args:
            if spec.key == name:
                if spec.name in kwargs:
                    return kwargs[spec.name]
                if position is not None and position < len(args):
                    return args[position]
                held = ABSENT if fixed else source.args.get(spec.key, ABSENT)
                return self._open(spec, self._reads.new_defaults(), held)
        return kwargs.get(name, ABSENT)

    def meta(self, source: Stores) -> Mapping[str, object]:
        """The meta of a batch with what the stage is handed beside it: values of the configuration, and defaults."""
        lacking = [spec for spec in self._meta if source.find(spec.key) is None]
        if not lacking:
            return source.meta
        defaults = self._reads.new_defaults()
        filled = {spec.key: self._open(spec, defaults) for spec in lacking}
        return {**source.meta, **{key: value for key, value in filled.items() if value is not ABSENT}}

    def _wrong(self, spec: FieldSpec, value: object, fixed: object) -> ContractError:
        actual, expected = f"called with {describe(value)}", f"in this stage it is always {describe(fixed)}"
        violation = Violation(code="BP036", field=spec.name, placement="arg", actual=actual, expected=expected)
        return ContractError(f"where stage '{self._stage}' is called", [violation])

    @staticmethod
    def _open(spec: FieldSpec, defaults: Mapping[str, object], held: object = ABSENT) -> object:
        """A value that the call does not bring: what a Reads was made with, from the configuration, or the default."""
        default = defaults.get(spec.name, ABSENT)
        if held is not ABSENT and not equal(held, default):
            return held
        value = ABSENT if spec.source is None else config_value(spec.source)
        return default if value is ABSENT else value
