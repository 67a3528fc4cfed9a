"""What changed between two versions of a project's contracts, and what that breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from batchpact.contracts.lock.change import Change
from batchpact.contracts.lock.fields import Found
from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.lock.normal import Plain, plain_schema, plain_stage
from batchpact.contracts.lock.pipelines import changed_pipeline, pipeline_errors
from batchpact.contracts.lock.rules import RULES
from batchpact.contracts.lock.stages import change, changed_alone, changed_stage
from batchpact.schemas.errors import SettingError
from batchpact.schemas.names import closest
from batchpact.schemas.record import SchemaSpec, StageSpec
from batchpact.schemas.violations import Violation

S = TypeVar("S", SchemaSpec, StageSpec)


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes from one version to another.

    Attributes:
        old: the old version in words, as in "batchpact.lock.json in main".
        new: the new version in words.
        changes: every change, in the order of the contracts.
        allowed: the rules whose changes may break somebody.
        pipelines: how many errors the check of each new pipeline finds.
    """

    old: str
    new: str
    changes: tuple[Change, ...] = ()
    allowed: frozenset[str] = frozenset()
    pipelines: Mapping[str, int] = field(default_factory=dict)

    @property
    def breaking(self) -> tuple[Change, ...]:
        """The changes that break somebody and are not allowed."""
        return tuple(found for found in self.changes if found.breaks and found.rule not in self.allowed)

    @property
    def ok(self) -> bool:
        """Whether nothing breaks."""
        return not self.breaking


def _known_rules(names: Iterable[str]) -> frozenset[str]:
    for name in names:
        if name not in RULES:
            match = closest(name, RULES)
            expected = (
                "`batchpact diff` prints the rule of each change" if match is None else f"closest name: {match!r}"
            )
            violation = Violation(code="BP052", field="--allow", actual=f"there is no rule {name!r}", expected=expected)
            raise SettingError("in the options", [violation])
    return frozenset(names)


def compare(old: Contracts, new: Contracts, *, names: tuple[str, str], allow: Iterable[str] = ()) -> Diff:
    """Everything that changed between two versions.

    Args:
        old: the old version.
        new: the new version.
        names: what the two are called in words.
        allow: names of rules whose changes may break somebody.

    Raises:
        SettingError: if there is no such rule.
    """
    allowed = _known_rules(allow)
    errors = {name: len(pipeline_errors(pipeline, new)) for name, pipeline in new.pipelines.items()}
    return Diff(*names, changes(old, new), allowed, errors)


def changes(old: Contracts, new: Contracts) -> tuple[Change, ...]:
    """Every change, from the records alone: the code of neither version is looked at.

    Two stages of different qualified names are versions of one if they have the same name, or the same fields.
    """
    before, after = old.normal(), new.normal()
    found = [*_stages(before, after), *_schemas(before, after), *_pipelines(before, after)]
    return tuple(dict.fromkeys(found))


def _stages(old: Contracts, new: Contracts) -> Iterator[Change]:
    pairs = _pairs(old.stages, new.stages)
    for qualname, stage in old.stages.items():
        if qualname not in pairs:
            yield change(Found("stage-removed", "", qualname, ""), f"stage '{stage.name}'", qualname)
    for qualname, stage in new.stages.items():
        if qualname not in pairs.values():
            yield change(Found("stage-added", "", "", qualname), f"stage '{stage.name}'", qualname)
    for before, after in pairs.items():
        yield from changed_stage(old.stages[before], new.stages[after])


def _schemas(old: Contracts, new: Contracts) -> Iterator[Change]:
    pairs = _pairs(old.schemas, new.schemas)
    for qualname, schema in old.schemas.items():
        if qualname not in pairs:
            yield change(Found("schema-removed", "", qualname, ""), f"schema '{schema.name}'", qualname)
    for qualname, schema in new.schemas.items():
        if qualname not in pairs.values():
            yield change(Found("schema-added", "", "", qualname), f"schema '{schema.name}'", qualname)
    for before, after in pairs.items():
        schema = new.schemas[after]
        yield from changed_alone(old.schemas[before], schema, f"schema '{schema.name}'", ("reads", "writes"))


def _pipelines(old: Contracts, new: Contracts) -> Iterator[Change]:
    moved = {**_pairs(old.stages, new.stages), **_pairs(old.schemas, new.schemas)}
    for name in sorted({*old.pipelines, *new.pipelines}):
        subject = f"pipeline '{name}'"
        if name not in new.pipelines:
            yield change(Found("pipeline-removed", "", name, ""), subject, name)
        elif name not in old.pipelines:
            yield change(Found("pipeline-added", "", "", name), subject, name)
        else:
            yield from changed_pipeline(old.pipelines[name], new.pipelines[name], old, new, moved)


def _pairs(old: Mapping[str, S], new: Mapping[str, S]) -> dict[str, str]:
    """Which new contract is the new version of an old one: that of its qualified name, its name, or its fields."""
    pairs = {qualname: qualname for qualname in old if qualname in new}
    for like in (_name, _fields):
        left = {qualname: like(old[qualname]) for qualname in old if qualname not in pairs}
        right = {qualname: like(new[qualname]) for qualname in new if qualname not in pairs.values()}
        pairs.update(_only_matches(left, right))
    return pairs


def _only_matches(left: Mapping[str, object], right: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for before, told in left.items():
        others = [after for after, found in right.items() if found == told]
        if len(others) == 1 and list(left.values()).count(told) == 1 and told:
            yield before, others[0]


def _name(contract: StageSpec | SchemaSpec) -> str:
    return contract.name


def _fields(contract: StageSpec | SchemaSpec) -> Sequence[Plain]:
    """The fields of a contract, without what is written about them."""
    if isinstance(contract, SchemaSpec):
        whole = [plain_schema(contract)]
    else:
        plain = plain_stage(contract)
        whole = [plain["reads"], plain["writes"]]
    fields = [part.get("fields", {}) for part in whole]
    return [_undescribed(part) for part in fields] if any(fields) else []


def _undescribed(fields: Plain) -> Plain:
    return {
        key: {name: value for name, value in field.items() if name != "description"} for key, field in fields.items()
    }
