"""One pipeline, proved: what there is to tell of its stages and its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from batchpact.contracts.proof.flow import Flow
from batchpact.contracts.proof.open_columns import fields_of
from batchpact.contracts.reference.told import Line, Told
from batchpact.contracts.reference.words import Ref, Words, joined
from batchpact.schemas.condition_specs import ConditionSpec, meaning, names_in, words
from batchpact.schemas.declared import either
from batchpact.schemas.record import FieldSpec, PipelineSpec, SchemaSpec


class View:
    """What there is to tell of one pipeline.

    Args:
        pipeline: its record.
        flow: its proof, over all configurations or over one.
    """

    def __init__(self, pipeline: PipelineSpec, flow: Flow) -> None:
        self.pipeline = pipeline
        self.flow = flow
        self._writers: dict[tuple[int, str], list[int]] = {}
        self._readers: dict[tuple[int, str], list[int]] = {}
        for writer, reader, key in flow.edges:
            self._writers.setdefault((reader, key), []).append(writer)
            self._readers.setdefault((writer, key), []).append(reader)

    def names(self) -> Iterator[str]:
        """Every stage and every field, as a user may call them."""
        yield from (stage.name for stage in self.pipeline.stages)
        yield from self.fields()

    def fields(self) -> list[str]:
        """Every field once, in the order in which a batch gets to hold it; open columns by their attribute."""
        schemas = [self.pipeline.inputs]
        schemas += [schema for stage in self.pipeline.stages for schema in (stage.reads, stage.writes)]
        return list(dict.fromkeys(name_of(field) for schema in schemas for field in declared(schema)))

    def show(self, name: str) -> Iterator[Told]:
        """The stages and the field that have this name; nothing where none has."""
        for at, stage in enumerate(self.pipeline.stages):
            if stage.name == name:
                yield self.stage(at)
        if name in self._concerned:
            yield self.field(name)

    # --- a stage ---

    def stage(self, at: int) -> Told:
        """A stage, by its number: when it runs, what it reads of whom, what it writes for whom."""
        stage = self.pipeline.stages[at]
        lines: list[Line] = []
        if self.flow.one:
            lines.append(Line("runs", None, self._runs(at)))
        elif stage.when is not None:
            lines.append(Line("runs", None, _where(stage.when)))
        lines.append(_line("rows", str(stage.rows)))
        reads, writes = declared(stage.reads), declared(stage.writes)
        lines += [_of_field("reads", field, self._sources(at, field)) for field in reads]
        lines += [] if reads else [_line("reads", "nothing")]
        lines += [_of_field("writes", field, self._read_by(at, field)) for field in writes]
        lines += [] if writes else [_line("writes", "nothing")]
        if stage.drops:
            lines.append(Line("drops", None, (joined([Ref("field", key, key) for key in stage.drops]),)))
        description = (stage.description,) if stage.description else ()
        return Told("stage", stage.name, self.pipeline.name, stage.qualname, description, tuple(lines))

    def _runs(self, at: int) -> tuple[Words, ...]:
        live = self.flow.live[at]
        if not live:
            return (("not in this configuration",),)
        when = self.pipeline.stages[at].when
        return (("yes",),) if when is None or live == self.flow.valid else _where(when)

    def _sources(self, at: int, field: FieldSpec) -> Words:
        if all(place.placement == "arg" for place in field.places):
            return ("an argument of the call",)
        keys = _keys(self.flow.stages[at].reads, field)
        writers = [writer for key in keys for writer in self._writers.get((at, key), [])]
        if not writers and self.flow.one and (field.when is not None or not self.flow.live[at]):
            return ("off in this configuration",)
        if not writers:
            return ("nobody writes it before",)
        names = [self._stage_ref(writer) if writer >= 0 else "the inputs" for writer in writers]
        return ("written by ", *joined(list(dict.fromkeys(names))))

    def _read_by(self, writer: int, field: FieldSpec) -> Words:
        readers = {reader for key in self._written(writer, field) for reader in self._readers.get((writer, key), [])}
        names: list[str | Ref] = [self._stage_ref(reader) for reader in sorted(readers)]
        wanted = ["the outputs"] if self.is_delivered(writer, field) else []
        return ("read by ", *joined([*names, *wanted])) if names or wanted else ("nobody reads it",)

    def is_delivered(self, writer: int, field: FieldSpec) -> bool:
        """Whether an output of the pipeline is what this writer (-1: the inputs) has written, or merged into it."""
        keys = self._written(writer, field)
        merged = field.merge is not None and not keys.isdisjoint(self.pipeline.outputs)
        return merged or any((writer, key) in self.flow.delivered for key in keys)

    def _written(self, writer: int, field: FieldSpec) -> set[str]:
        """What the proof calls a field that a stage writes, or the inputs (-1) hold."""
        return _keys(self.flow.inputs if writer < 0 else self.flow.stages[writer].writes, field)

    def _stage_ref(self, at: int) -> Ref:
        name = self.pipeline.stages[at].name
        return Ref("stage", name, f"'{name}'", at)

    # --- a field ---

    def field(self, name: str) -> Told:
        """A field, by its key: who writes it, who reads it, under which condition, along the pipeline."""
        found = {field.description: None for field in self._declarations(name) if field.description}
        return Told("field", name, self.pipeline.name, "", tuple(found), tuple(self._path(name)))

    def _path(self, name: str) -> Iterator[Line]:
        given = declared_as(self.pipeline.inputs, name)
        if given is not None:
            yield Line("inputs", None, (*_facts(given), self._read_by(-1, given)))
        for at in self._concerned.get(name, ()):
            stage = self.pipeline.stages[at]
            if self.flow.one and not self.flow.live[at]:
                continue
            ref = self._stage_ref(at)
            under: list[Words] = [] if stage.when is None else [(f"where {words(stage.when)}",)]
            read, written = declared_as(stage.reads, name), declared_as(stage.writes, name)
            if read is not None:
                yield Line("reads", ref, (*_facts(read), *under, self._sources(at, read)))
            if written is not None:
                yield Line("writes", ref, (*_facts(written), *under, self._read_by(at, written)))
            if name in stage.drops:
                yield Line("drops", ref, ())

    def _declarations(self, name: str) -> Iterator[FieldSpec]:
        stages = [self.pipeline.stages[at] for at in self._concerned.get(name, ())]
        schemas = [self.pipeline.inputs, *(schema for stage in stages for schema in (stage.reads, stage.writes))]
        yield from (field for schema in schemas if (field := declared_as(schema, name)) is not None)

    @cached_property
    def _concerned(self) -> dict[str, list[int]]:
        """The stages that declare or drop a field, by whatever a user may call it; none where only the inputs do."""
        found: dict[str, dict[int, None]] = {}
        for field in declared(self.pipeline.inputs):
            for name in _names(field):
                found.setdefault(name, {})
        for at, stage in enumerate(self.pipeline.stages):
            for field in (*declared(stage.reads), *declared(stage.writes)):
                for name in _names(field):
                    found.setdefault(name, {})[at] = None
            for name in stage.drops:
                found.setdefault(name, {})[at] = None
        return {name: list(stages) for name, stages in found.items()}


def declared(schema: SchemaSpec) -> Sequence[FieldSpec]:
    """Everything that a schema declares, its open columns last."""
    return (*schema.fields, *schema.columns)


def declared_as(schema: SchemaSpec, name: str) -> FieldSpec | None:
    """The field with this key, or the open columns of this attribute."""
    return schema.field(name) or next((c for c in schema.columns if name in (c.name, c.key)), None)


def name_of(field: FieldSpec) -> str:
    """What a field is called: its key; the attribute of open columns."""
    return field.key if field.named_by is None else field.name


def _keys(proved: SchemaSpec, field: FieldSpec) -> set[str]:
    """What a proof calls a field; open columns have a key for each name that the configuration has."""
    return {found.key for found in fields_of(proved, field)}


def _names(field: FieldSpec) -> set[str]:
    """What a user may call a field."""
    return {name_of(field), field.key}


def _line(label: str, text: str) -> Line:
    return Line(label, None, ((text,),))


def _where(condition: ConditionSpec) -> tuple[Words, ...]:
    """A condition, and what the names in it stand for."""
    return ((f"where {words(condition)}",), *((f"{name}: {text}",) for name, text in names(condition).items()))


def names(condition: ConditionSpec) -> dict[str, str]:
    """What stands for conditions in the words of another: their names, and what each means."""
    return {name: meaning(part) for name, part in names_in(condition).items()}


def _of_field(label: str, field: FieldSpec, more: Words) -> Line:
    return Line(label, Ref("field", name_of(field), field.key), (*_facts(field), more))


def _facts(field: FieldSpec) -> Iterator[Words]:
    """A field's place, its condition, and whether it may be missing."""
    yield (either(field),)
    if field.when is not None:
        yield (f"where {words(field.when)}",)
    if not field.required:
        yield ("optional",)
