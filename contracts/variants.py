"""The contract of a stage under the answers to its questions, as a call, its batch and the configuration give them.

It asks whether its conditions hold, and what its open columns are called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.bounded import Bounded
from batchpact.contracts.configuration import ABSENT, config_in_use, of_batch
from batchpact.contracts.told_names import names_told
from batchpact.dataproto.carriers import carrier_of
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Names, look_up_names, names_in
from batchpact.schemas.condition_specs import ConditionSpec, SubjectSpec, holds, words
from batchpact.schemas.narrowing import conditions_of, narrowed
from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation

Answer: TypeAlias = "bool | Names | None"
Answers: TypeAlias = "tuple[Answer, ...]"
"""Whether each condition holds, None where nobody knows; then the names of open columns, None where the result says."""


class Variants:
    """One boundary for each set of answers.

    Args:
        boundary: the contract as it is declared, every field with a condition in it.

    Attributes:
        whole: the boundary that it was made of.
        conditional: whether any field has a condition, or a name that is not declared.
    """

    def __init__(self, boundary: Boundary) -> None:
        self.whole = boundary
        self._reads = conditions_of(boundary.spec.reads)
        self._writes = conditions_of(boundary.spec.writes)
        self._columns = boundary.spec.reads.columns, boundary.spec.writes.columns
        self._made: Bounded[Answers, Boundary] = Bounded()

        self.conditional = bool(self._reads or self._writes or any(self._columns))

    def of(self, batch: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Boundary:
        """The contract that counts for a call."""
        return self.under(self.answers(batch, args, kwargs))

    def answers(self, batch: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Answers:
        """What the conditions come to in a call, in their order."""
        carrier = None if isinstance(batch, BatchSchema) else carrier_of(batch)
        stores = self.whole.stores_of(batch) if carrier is None else carrier.stores(batch)
        return self.answers_in(stores, args, kwargs, batch if carrier is None else None)

    def answers_in(
        self, stores: Stores, args: tuple[Any, ...], kwargs: Mapping[str, Any], instance: BatchSchema | None = None
    ) -> Answers:
        """What the conditions come to in a call whose batch holds this; a Reads brings the names of its columns."""

        def look_up(subject: SubjectSpec) -> object:
            return self._value(subject, stores, args, kwargs)

        reads = [holds(condition, look_up) for condition in self._reads.values()]
        writes = [holds(condition, look_up) for condition in self._writes.values()]
        if not any(self._columns):
            return (*reads, *writes)

        spec = self.whole.spec
        meta = self.whole.arguments.meta(stores)
        own = names_told(meta) if instance is None else _own_names(spec.reads.columns, instance)

        def names_held(subject: SubjectSpec) -> object:
            found = look_up_names(meta, subject)
            return own.get((subject.source, subject.name)) if found is None else found

        known = self._named(spec.reads, dict(zip(self._reads, reads, strict=True)), names_held)
        later = {c.name for c in spec.writes.columns if c.named_by is not None and self._is_written(c.named_by)}
        written = self._named(spec.writes, dict(zip(self._writes, writes, strict=True)), names_held, later)
        return (*reads, *writes, *known, *written)

    def _is_written(self, source: SubjectSpec) -> bool:
        """Whether the stage itself writes the names."""
        return source.source == "meta" and self.whole.spec.writes.field(source.name) is not None

    @staticmethod
    def _named(
        schema: SchemaSpec,
        answers: Mapping[str, bool | None],
        look_up: Callable[[SubjectSpec], object],
        later: Collection[str] = (),
    ) -> list[Names | None]:
        """The names of the open columns of a schema; none of columns that are off."""
        asked = [c for c in schema.columns if answers.get(c.name) is not False and c.name not in later]
        found = names_in(schema, asked, look_up)
        return [None if c.name in later else found.get(c.name, ()) for c in schema.columns]

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
        told = iter(answers)
        reads: dict[str, bool | None] = {name: next(told) for name in self._reads}  # type: ignore[misc]
        writes: dict[str, bool | None] = {name: next(told) for name in self._writes}  # type: ignore[misc]
        names_read, names_written = (_told(columns, told) for columns in self._columns)
        wrong = (names for names in (*names_read.values(), *names_written.values()) if isinstance(names, Violation))
        whole = self.whole
        return whole.narrowed(
            narrowed(whole.reads, reads, names_read),
            narrowed(whole.writes, writes, names_written),
            off={**whole.off, **self._off({**reads, **writes})},
            misnamed=tuple(dict.fromkeys(wrong)),
        )

    def _off(self, answers: Mapping[str, bool | None]) -> dict[str, str]:
        """The keys of the fields that are off, with the condition that does not hold, in words."""
        conditions: dict[str, ConditionSpec] = {**self._reads, **self._writes}
        fields = [*self.whole.spec.reads.fields, *self.whole.spec.writes.fields]
        return {field.key: words(conditions[field.name]) for field in fields if answers.get(field.name) is False}


def _own_names(columns: Sequence[FieldSpec], instance: BatchSchema) -> dict[tuple[str, str], tuple[str, ...]]:
    """The names under which an instance holds open columns, by what would name them in a batch."""
    sources = [(column.named_by, vars(instance).get(column.name, ())) for column in columns]
    return {(source.source, source.name): tuple(names) for source, names in sources if source is not None}


def _told(columns: Sequence[FieldSpec], answers: Iterator[Answer]) -> dict[str, Names]:
    """The names of open columns as far as the next answers tell them."""
    found: dict[str, Names] = {}
    for column in columns:
        names = next(answers)
        if isinstance(names, (tuple, Violation)):
            found[column.name] = names
    return found
