"""What is written for nothing: values that nobody reads or that are replaced unread, and twins that drift apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from batchpact.contracts.proof.comparing import by_words
from batchpact.contracts.proof.open_columns import fields_of
from batchpact.contracts.proof.state import Snapshot, State
from batchpact.schemas.condition_specs import subjects_in
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec
from batchpact.schemas.violations import Violation


class LooseEnds:
    """Follows who reads what was written.

    Args:
        stages: the stages of the pipeline, in their order.
        inputs: what the batch holds at the start.
    """

    def __init__(self, stages: Sequence[StageSpec], inputs: SchemaSpec) -> None:
        self._stages = stages
        self._read: dict[tuple[str, int], int] = {}
        self._written: dict[tuple[str, int], int] = {}
        self._twins: dict[str, set[str]] = {}
        self._asked: set[str] = set()
        for schema in (inputs, *(schema for stage in stages for schema in (stage.reads, stage.writes))):
            for field in schema.fields:
                if field.same_as is not None:
                    self._twins.setdefault(field.key, set()).add(field.same_as)
                    self._twins.setdefault(field.same_as, set()).add(field.key)
        for stage in stages:
            fields = (*stage.reads.fields, *stage.writes.fields)
            for condition in (stage.when, *(field.when for field in fields)):
                if condition is not None:
                    asked = subjects_in(condition)
                    self._asked |= {subject.name for subject in asked if subject.source in ("present", "meta", "step")}

    def with_twins(self, keys: Sequence[str]) -> list[str]:
        """These keys and their twins, each once."""
        return list(dict.fromkeys([*keys, *(twin for key in keys for twin in sorted(self._twins.get(key, ())))]))

    def read(self, key: str, writer: int, points: int) -> None:
        """Note that what a writer wrote has been read."""
        end = key, writer
        self._read[end] = self._read.get(end, 0) | points

    def written(
        self, at: int, reads: SchemaSpec, writes: SchemaSpec, before: Snapshot, points: int
    ) -> Iterator[tuple[Violation, int]]:
        """Note what a stage has written; what is wrong with what it writes over, and where."""
        stage, own = self._stages[at], {field.key for field in writes.fields}
        for key in own:
            self._written[key, at] = self._written.get((key, at), 0) | points
        for field in writes.fields:
            held = before.held.get(field.key)
            if held is None:
                continue
            unread = points & ~self._read.get((field.key, held.stage), 0)
            same = {field.key, *self._twins.get(field.key, ())}
            known = any(reads.field(key) is not None for key in same)
            replaces = field.required and field.merge is None and not known
            if held.stage >= 0 and unread and replaces:
                actual = f"it replaces what {by_words(held.writer)} wrote, which nobody has read"
                hint = "read it, or leave one of the two out"
                yield _warning("BP062", field.key, actual, "a value is read before it is replaced", hint), unread
            for twin in sorted(self._twins.get(field.key, ())):
                if twin in before.held and twin not in own and twin not in stage.drops:
                    actual = f"it is rewritten, and its twin {twin} is not"
                    expected = f"{twin} has the same values ({by_words(before.held[twin].writer)} wrote it)"
                    hint = f"write {twin} in '{stage.name}', too, or drop it there"
                    yield Violation(code="BP063", field=field.key, actual=actual, expected=expected, hint=hint), points

    def unread(self, state: State, outputs: Collection[str]) -> Iterator[tuple[Violation, str, int]]:
        """Values that nobody reads in any configuration, with the stages that write them, and where these do."""
        for at, stage in enumerate(self._stages):
            columns = [column for column in stage.writes.columns if _is_wanted(column, outputs)]
            wanted = {field.key for column in columns for field in fields_of(stage.writes, column)}
            for field in stage.writes.fields:
                key = field.key
                if key in wanted or (key, at) not in self._written:
                    continue
                if (key, at) in self._read or key in self._asked:
                    continue
                last = any(held.stage == at for _, held in state.fields.get(key, ()))
                if key in outputs and (last or field.merge is not None):
                    continue
                hint = "leave it out, or name it among the outputs of the pipeline"
                violation = _warning("BP061", key, "nobody reads it", "what is written is read later", hint)
                yield violation, stage.name, self._written[key, at]


def _is_wanted(column: FieldSpec, outputs: Collection[str]) -> bool:
    """Whether somebody may want open columns at the end: what names them is an output, or the configuration."""
    return column.named_by is None or column.named_by.source == "config" or column.named_by.name in outputs


def _warning(code: str, field: str, actual: str, expected: str, hint: str) -> Violation:
    return Violation(code=code, field=field, actual=actual, expected=expected, hint=hint, severity="warning")
