"""The contract of a stage under the answers to its conditions, as a call, its batch and the configuration give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import ABSENT, config_in_use, of_batch
from batchpact.dataproto.carriers import carrier_of
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.condition_specs import ConditionSpec, SubjectSpec, holds, words
from batchpact.schemas.narrowing import conditions_of, narrowed
from batchpact.schemas.stores import Stores

Answers: TypeAlias = "tuple[bool | None, ...]"


class Variants:
    """One boundary for each set of answers.

    Args:
        boundary: the contract as it is declared, every field with a condition in it.

    Attributes:
        whole: the boundary that it was made of.
        conditional: whether any field has a condition.
    """

    def __init__(self, boundary: Boundary) -> None:
        self.whole = boundary
        self._reads = conditions_of(boundary.spec.reads)
        self._writes = conditions_of(boundary.spec.writes)
        self._made: dict[Answers, Boundary] = {}

        self.conditional = bool(self._reads or self._writes)

    def of(self, batch: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Boundary:
        """The contract that counts for a call."""
        return self.under(self.answers(batch, args, kwargs))

    def answers(self, batch: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Answers:
        """What the conditions come to in a call, in their order."""
        carrier = None if isinstance(batch, BatchSchema) else carrier_of(batch)
        stores = self.whole.stores_of(batch) if carrier is None else carrier.stores(batch)
        return self.answers_in(stores, args, kwargs)

    def answers_in(self, stores: Stores, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Answers:
        """What the conditions come to in a call whose batch holds this."""

        def look_up(subject: SubjectSpec) -> object:
            return self._value(subject, stores, args, kwargs)

        return tuple(holds(condition, look_up) for condition in (*self._reads.values(), *self._writes.values()))

    def under(self, answers: Answers) -> Boundary:
        """The contract that counts where the conditions come to this."""
        if not answers:
            return self.whole
        found = self._made.get(answers)
        if found is None:
            found = self._made[answers] = self._under(answers)
        return found

    def _value(self, subject: SubjectSpec, stores: Stores, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        if subject.source != "arg":
            return of_batch(config_in_use(), stores, subject)
        value = self.whole.arguments.look(subject.name, stores, args, kwargs)
        return subject.default if value is ABSENT else value

    def _under(self, answers: Answers) -> Boundary:
        reads = dict(zip(self._reads, answers[: len(self._reads)], strict=True))
        writes = dict(zip(self._writes, answers[len(self._reads) :], strict=True))
        whole = self.whole
        return whole.narrowed(
            narrowed(whole.reads, reads), narrowed(whole.writes, writes), self._off({**reads, **writes})
        )

    def _off(self, answers: Mapping[str, bool | None]) -> dict[str, str]:
        """The keys of the fields that are off, with the condition that does not hold, in words."""
        conditions: dict[str, ConditionSpec] = {**self._reads, **self._writes}
        fields = [*self.whole.spec.reads.fields, *self.whole.spec.writes.fields]
        return {field.key: words(conditions[field.name]) for field in fields if answers.get(field.name) is False}
