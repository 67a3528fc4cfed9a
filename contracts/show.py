"""One stage or one field of a pipeline in words: where it comes from, who needs it, and under which condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.proof.flow import Flow
from batchpact.contracts.proof.open_columns import fields_of
from batchpact.schemas.condition_specs import words
from batchpact.schemas.declared import either
from batchpact.schemas.errors import SettingError
from batchpact.schemas.names import closest
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Violation


def show(pipelines: Sequence[Pipeline], name: str, config: object = None) -> str:
    """What there is to say of a stage or a field of this name.

    Args:
        pipelines: where it is looked for.
        name: the name of a stage, or the key of a field.
        config: one configuration; without it, everything is shown with its conditions.

    Raises:
        SettingError: if no pipeline has a stage or a field of this name.
    """
    found: list[str] = []
    known: list[str] = []
    for pipeline in pipelines:
        view = _View(pipeline, pipeline.flow(config), one=config is not None)
        known += view.names()
        found += view.show(name)
    if not found:
        match = closest(name, known)
        hint = "" if match is None else f"closest name: '{match}'"
        places = join_names([f"'{pipeline.name}'" for pipeline in pipelines])
        actual = f"no stage and no field {name!r} in {places}"
        violation = Violation(code="BP052", field="name", actual=actual, hint=hint)
        raise SettingError("in the name to show", [violation])
    return "\n".join(found)


class _View:
    """One pipeline, proved."""

    def __init__(self, pipeline: Pipeline, flow: Flow, *, one: bool) -> None:
        self._name = pipeline.name
        self._stages = pipeline.spec.stages
        self._inputs = pipeline.spec.inputs
        self._outputs = pipeline.spec.outputs
        self._flow = flow
        self._one = one

    def names(self) -> Iterator[str]:
        """Every stage and every field."""
        for stage in self._stages:
            yield stage.name
            yield from (field.name if field.named_by else field.key for field in _fields(stage.reads, stage.writes))
        yield from (field.name if field.named_by else field.key for field in _fields(self._inputs))

    def show(self, name: str) -> Iterator[str]:
        """The lines on what has this name; none where nothing has."""
        for at, stage in enumerate(self._stages):
            if stage.name == name:
                yield from self._stage(at, stage)
        if next(self._uses(name), None) is not None:
            yield from self._field(name)

    # --- a stage ---

    def _stage(self, at: int, stage: StageSpec) -> Iterator[str]:
        yield f"stage '{stage.name}' of pipeline '{self._name}'  ({stage.qualname})"
        if stage.description:
            yield f"  {stage.description}"
        if self._one:
            yield f"  runs    {self._runs(at)}"
        elif stage.when is not None:
            yield f"  runs    where {words(stage.when)}"
        yield f"  rows    {stage.rows}"
        yield from self._listed("reads", _fields(stage.reads), lambda field: self._sources(at, field))
        yield from self._listed("writes", _fields(stage.writes), lambda field: self._readers(at, field))
        if stage.drops:
            yield f"  drops   {join_names(stage.drops)}"

    def _runs(self, at: int) -> str:
        live = self._flow.live[at]
        if not live:
            return "not in this configuration"
        when = self._stages[at].when
        return "yes" if when is None or live == self._flow.valid else f"where {words(when)}"

    def _listed(self, title: str, fields: Sequence[FieldSpec], say: Callable[[FieldSpec], str]) -> Iterator[str]:
        if not fields:
            yield f"  {title:<7} nothing"
            return
        yield f"  {title}"
        width = max(len(field.key) for field in fields)
        for field in fields:
            yield f"    {field.key:<{width}}  {_facts(field, say(field))}"

    def _sources(self, at: int, field: FieldSpec) -> str:
        if all(place.placement == "arg" for place in field.places):
            return "an argument of the call"
        keys = {found.key for found in fields_of(self._flow.stages[at].reads, field)}
        writers = [self._writer(writer) for writer, reader, key in self._flow.edges if reader == at and key in keys]
        if not writers and self._one and (field.when is not None or not self._flow.live[at]):
            return "off in this configuration"
        return f"written by {join_names(list(dict.fromkeys(writers)))}" if writers else "nobody writes it before"

    def _readers(self, at: int, field: FieldSpec) -> str:
        """Who reads what a stage writes, or the inputs hold (-1)."""
        proved = self._flow.inputs if at < 0 else self._flow.stages[at].writes
        keys = {found.key for found in fields_of(proved, field)}
        readers = {reader for writer, reader, key in self._flow.edges if writer == at and key in keys}
        names = [f"'{self._stages[reader].name}'" for reader in sorted(readers)]
        wanted = ["the outputs"] if keys.intersection(self._outputs) else []
        return f"read by {join_names([*names, *wanted])}" if names or wanted else "nobody reads it"

    def _writer(self, at: int) -> str:
        return "the inputs" if at < 0 else f"'{self._stages[at].name}'"

    # --- a field ---

    def _field(self, key: str) -> Iterator[str]:
        yield f"field '{key}' of pipeline '{self._name}'"
        yield from (f"  {text}" for text in {field.description: 0 for _, field in self._uses(key) if field.description})
        given = _field(self._inputs, key)
        if given is not None:
            yield f"  inputs  {_facts(given, self._readers(-1, given))}"
        for at, stage in enumerate(self._stages):
            if self._one and not self._flow.live[at]:
                continue
            under = [] if stage.when is None else [f"where {words(stage.when)}"]
            read, written = _field(stage.reads, key), _field(stage.writes, key)
            if read is not None:
                yield f"  reads   '{stage.name}'  {_facts(read, *under, self._sources(at, read))}"
            if written is not None:
                yield f"  writes  '{stage.name}'  {_facts(written, *under, self._readers(at, written))}"
            if key in stage.drops:
                yield f"  drops   '{stage.name}'"

    def _uses(self, key: str) -> Iterator[tuple[str, FieldSpec]]:
        schemas = [("the inputs", self._inputs)]
        schemas += [(stage.name, schema) for stage in self._stages for schema in (stage.reads, stage.writes)]
        for owner, schema in schemas:
            field = _field(schema, key)
            if field is not None:
                yield owner, field


def _fields(*schemas: SchemaSpec) -> list[FieldSpec]:
    """Everything that schemas declare."""
    return [field for schema in schemas for field in (*schema.fields, *schema.columns)]


def _field(schema: SchemaSpec, name: str) -> FieldSpec | None:
    """The field with this key, or the open columns of this attribute."""
    return schema.field(name) or next((c for c in schema.columns if name in (c.name, c.key)), None)


def _facts(field: FieldSpec, *more: str) -> str:
    """A field's place, its condition, and what else there is to say of it."""
    found = [either(field)]
    if field.when is not None:
        found.append(f"where {words(field.when)}")
    if not field.required:
        found.append("optional")
    return "; ".join([*found, *more])
