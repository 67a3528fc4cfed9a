"""The conditions of a pipeline as the page evaluates them: over the cases of its keys, and nothing else.

A compiled condition is one of `["test", key, cases]`, `["all", parts]`, `["any", parts]`, `["not", part]` and
`["on", stage]`, the last of which holds where that stage runs. Keys, cases and stages are numbers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from batchpact.contracts.proof.cases import key_of
from batchpact.contracts.proof.flow import Flow
from batchpact.schemas.condition_specs import AllSpec, ConditionSpec, NotSpec, TestSpec
from batchpact.schemas.record import SchemaSpec

Compiled: TypeAlias = list[Any]
"""A condition in the form that the page evaluates."""

_INPUTS = -1
_ALWAYS: Compiled = ["all", []]
_NEVER: Compiled = ["any", []]


class Switches:
    """Compiles the conditions of one pipeline.

    Args:
        flow: its proof.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._keys = {key: number for number, key in enumerate(flow.space.keys())}

    def compiled(self, condition: ConditionSpec, at: int) -> Compiled:
        """A condition, as it is asked before a stage runs.

        Args:
            condition: what is asked, with its arguments scoped to the pipeline.
            at: the number of the stage, which decides what the batch may hold; -1 for the inputs.
        """
        if isinstance(condition, TestSpec):
            test = ["test", self._keys[key_of(condition)], self._flow.space.passing(condition)]
            return self._present(condition.subject.name, test, at) if condition.subject.source == "present" else test
        if isinstance(condition, NotSpec):
            return ["not", self.compiled(condition.of, at)]
        kind = "all" if isinstance(condition, AllSpec) else "any"
        return [kind, [self.compiled(part, at) for part in condition.of]]

    def _present(self, key: str, chosen: Compiled, at: int) -> Compiled:
        """Whether a field is there: for certain, or, where somebody may have written it, as it is chosen."""
        certain, maybe = self._written(self._flow.inputs, key, _INPUTS) if at > _INPUTS else (_NEVER, _NEVER)
        for number, stage in enumerate(self._flow.stages[: max(at, 0)]):
            on: Compiled = ["on", number]
            if key in stage.drops or stage.rows.kind == "new":
                certain, maybe = ["all", [certain, ["not", on]]], ["all", [maybe, ["not", on]]]
            wrote, may_write = self._written(stage.writes, key, number)
            certain = certain if wrote is _NEVER else ["any", [certain, ["all", [on, wrote]]]]
            maybe = maybe if may_write is _NEVER else ["any", [maybe, ["all", [on, may_write]]]]
        return ["any", [certain, ["all", [maybe, chosen]]]]

    def _written(self, schema: SchemaSpec, key: str, at: int) -> tuple[Compiled, Compiled]:
        """Where a schema has a field for certain, and where it may have it."""
        field = schema.field(key)
        if field is None:
            return _NEVER, _NEVER
        where = _ALWAYS if field.when is None else self.compiled(field.when, at)
        return (where, _NEVER) if field.required else (_NEVER, where)
