"""What conditions ask about: every key of the configuration, every value of meta, with what it switches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from batchpact.contracts.proof.scopes import scoped
from batchpact.contracts.proof.space import Space
from batchpact.contracts.reference.project import Project, Side
from batchpact.contracts.reference.view import declared, name_of
from batchpact.schemas.condition_specs import (
    ConditionSpec,
    SubjectSpec,
    TestSpec,
    meaning,
    names_in,
    questions_in,
    subjects_of,
)
from batchpact.schemas.record import PipelineSpec, SchemaSpec, StageSpec


class Switched(NamedTuple):
    """Something that is there under a condition.

    Attributes:
        condition: the condition, with arguments named after their stage.
        owner: the stage or schema whose it is; None where it is a pipeline's.
        pipeline: the name of the pipeline in which a stage is switched, or whose inputs are; None for all of them.
        side: where in it a field stands; None where a whole stage is switched, or every configuration.
        field: the field that is switched; empty where a whole stage is.
    """

    condition: ConditionSpec
    owner: StageSpec | SchemaSpec | None
    pipeline: str | None
    side: Side | None = None
    field: str = ""


@dataclass
class Key:
    """What conditions ask about.

    Attributes:
        subject: the key.
        tests: what they ask.
        switched: what depends on it.
    """

    subject: SubjectSpec
    tests: list[TestSpec] = field(default_factory=list)
    switched: list[Switched] = field(default_factory=list)

    @property
    def told_apart(self) -> str:
        """The values that make a difference, in words."""
        return told_apart(str(self.subject), self.tests)


def told_apart(subject: str, tests: Iterable[TestSpec]) -> str:
    """What questions tell apart, in words: values of a subject, and its order beside others."""
    named = Space(tests).named()
    return "; ".join(case.label if text == subject else case.text for text, cases in named.items() for case in cases)


def asked_in(condition: ConditionSpec) -> Iterator[tuple[SubjectSpec, list[TestSpec]]]:
    """What a condition asks about, each with its questions."""
    tests = list(questions_in(condition))
    for subject in {str(subject): subject for test in tests for subject in subjects_of(test)}.values():
        yield subject, [test for test in tests if any(str(other) == str(subject) for other in subjects_of(test))]


def keys(project: Project) -> dict[str, Key]:
    """Everything that conditions ask about, by its name, sorted."""
    found: dict[str, Key] = {}
    for switched in _switched(project):
        for subject, tests in asked_in(switched.condition):
            key = found.setdefault(str(subject), Key(subject))
            key.tests += tests
            key.switched.append(switched)
    return dict(sorted(found.items()))


def named(keys: Iterable[Key]) -> dict[str, list[str]]:
    """What conditions are called that have a name, sorted, each with what it stands for: once, if all agree."""
    found: dict[str, dict[str, None]] = {}
    for condition in (switched.condition for key in keys for switched in key.switched):
        own = {} if condition.name is None else {condition.name: condition}
        for name, part in {**names_in(condition), **own}.items():
            found.setdefault(name, {})[meaning(part)] = None
    return {name: list(meanings) for name, meanings in sorted(found.items())}


def _switched(project: Project) -> Iterator[Switched]:
    known = project.contracts.stages
    for name, pipeline in sorted(project.contracts.pipelines.items()):
        yield from _of_pipeline(name, pipeline)
        for stage in map(scoped, pipeline.stages):
            if stage.when is not None:
                yield Switched(stage.when, stage, name)
            if stage.qualname not in known:
                yield from _of_stage(stage, name)
    for _, stage in sorted(known.items()):
        yield from _of_stage(scoped(stage), None)
    for _, schema in sorted(project.contracts.schemas.items()):
        yield from _of_schema(schema, schema, None, "schema")


def _of_pipeline(name: str, pipeline: PipelineSpec) -> Iterator[Switched]:
    for condition in pipeline.always:
        yield Switched(condition, None, name)
    yield from _of_schema(pipeline.inputs, None, name, "inputs")


def _of_stage(stage: StageSpec, pipeline: str | None) -> Iterator[Switched]:
    yield from _of_schema(stage.reads, stage, pipeline, "reads")
    yield from _of_schema(stage.writes, stage, pipeline, "writes")


def _of_schema(
    schema: SchemaSpec, owner: StageSpec | SchemaSpec | None, pipeline: str | None, side: Side
) -> Iterator[Switched]:
    for spec in declared(schema):
        if spec.when is not None:
            yield Switched(spec.when, owner, pipeline, side, name_of(spec))
