"""Two versions of a pipeline: its inputs and outputs, its stages in their order, and whether they fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from batchpact.contracts.lock.change import Change
from batchpact.contracts.lock.conditions import all_of, conditions_relation
from batchpact.contracts.lock.fields import Found
from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.lock.relation import Relation
from batchpact.contracts.lock.stages import change, changed_alone
from batchpact.contracts.proof.flow import check_flow
from batchpact.schemas.condition_specs import ConditionSpec, words
from batchpact.schemas.record import PipelineSpec, StageSpec
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation


def changed_pipeline(
    old: PipelineSpec, new: PipelineSpec, before: Contracts, after: Contracts, moved: Mapping[str, str]
) -> Iterator[Change]:
    """What changed in a pipeline.

    Args:
        old: the old version.
        new: the new version.
        before: the contracts that the old one is part of.
        after: the contracts that the new one is part of.
        moved: the new qualified name of every contract that has another one.
    """
    subject = f"pipeline '{new.name}'"
    if old == new:
        return
    yield from changed_alone(old.inputs, new.inputs, f"{subject} inputs", ("reads",))
    for was, now in _starts(old, new):
        yield from changed_alone(was.reads, now.reads, f"{subject} {now.name}", ("reads",))
    for found in (*_outputs(old, new), *_stages(old.stages, new.stages, moved), *_constraints(old, new)):
        yield change(found, subject, new.name)
    if not pipeline_errors(old, before) and (errors := pipeline_errors(new, after)):
        first = errors[0]
        more = f" and {count(len(errors) - 1, 'more error')}" if len(errors) > 1 else ""
        text = f"{first.code} {first.where.stage}: {first.field}{more}"
        yield change(Found("pipeline-broken", "", "no errors", text), subject, new.name)


def _starts(old: PipelineSpec, new: PipelineSpec) -> Iterator[tuple[StageSpec, StageSpec]]:
    """The starts of sub-pipelines in both versions; their stages are compared as stages."""
    before, after = _numbered(old.stages), _numbered(new.stages)
    for name, was in before.items():
        if name in after and was.qualname == was.reads.qualname:
            yield was, after[name]


def pipeline_errors(pipeline: PipelineSpec, contracts: Contracts) -> list[Violation]:
    """The errors that the check of a pipeline finds."""
    return [found for found in check_flow(pipeline, contracts.stages.values()) if found.severity == "error"]


def _outputs(old: PipelineSpec, new: PipelineSpec) -> Iterator[Found]:
    for key in sorted({*old.outputs, *new.outputs}):
        if key not in old.outputs:
            yield Found("output-added", "", "", key)
        elif key not in new.outputs:
            yield Found("output-removed", "", key, "")


def _stages(old: Sequence[StageSpec], new: Sequence[StageSpec], moved: Mapping[str, str]) -> Iterator[Found]:
    before, after = _numbered(old), _numbered(new)
    for name in before:
        if name not in after:
            yield Found("pipeline-stage-removed", "", name, "")
    for name in after:
        if name not in before:
            yield Found("pipeline-stage-added", "", "", name)
    shared = [name for name in before if name in after]
    order = [name for name in after if name in before]
    if shared != order:
        yield Found("pipeline-reordered", "", ", ".join(shared), ", ".join(order))
    for name in shared:
        was, now = before[name], after[name]
        if moved.get(was.qualname, was.qualname) != now.qualname:
            yield Found("pipeline-stage-replaced", "", was.qualname, now.qualname)
        if conditions_relation(was.when, now.when) is not Relation.SAME:
            texts = (f"{name} {_when(stage.when)}" for stage in (was, now))
            yield Found("pipeline-condition-changed", "", *texts)


def _numbered(stages: Sequence[StageSpec]) -> dict[str, StageSpec]:
    """The stages by name; one that runs again has a number."""
    found: dict[str, StageSpec] = {}
    for stage in stages:
        times = sum(1 for other in found.values() if other.name == stage.name)
        found[f"{stage.name} ({times + 1})" if times else stage.name] = stage
    return found


def _constraints(old: PipelineSpec, new: PipelineSpec) -> Iterator[Found]:
    kind = conditions_relation(all_of(old.always), all_of(new.always))
    if kind is not Relation.SAME:
        texts = ("; ".join(map(words, pipeline.always)) or "none" for pipeline in (old, new))
        yield Found(f"constraints-{kind.value}", "", *texts)


def _when(condition: ConditionSpec | None) -> str:
    return "always" if condition is None else f"when {words(condition)}"
