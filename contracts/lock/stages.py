"""Two versions of a stage, or of a schema that stands alone: its changes, with what each of them means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from batchpact.contracts.lock.change import Audience, Change, Party, Role, Verdict
from batchpact.contracts.lock.fields import Found, changed_fields, side
from batchpact.contracts.lock.rules import RULES
from batchpact.contracts.lock.schemas import changed_schema
from batchpact.contracts.proof.scopes import scoped
from batchpact.schemas.record import SchemaSpec, StageSpec
from batchpact.schemas.text import join_names


def changed_stage(old: StageSpec, new: StageSpec) -> Iterator[Change]:
    """What changed in a stage: its facts, what it reads and what it writes."""
    subject = f"stage '{new.name}'"
    for found in _facts(old, new):
        yield change(found, subject, new.qualname)
    old, new = scoped(old), scoped(new)
    reads = side("reads", old.reads, new.reads)
    writes = side("writes", old.writes, new.writes, (old.reads, new.reads))
    for part in (reads, writes):
        moved_along = _inside(old, part.old) == _inside(new, part.new)
        for found in (*changed_schema(part.old, part.new), *changed_fields(part)):
            if found.rule != "contract-moved" or not moved_along:
                yield change(found, f"{subject} {part.role}", part.new.qualname, part.role)


def _inside(stage: StageSpec, schema: SchemaSpec) -> str:
    """The qualified name of a schema, without that of the stage around it."""
    return schema.qualname.removeprefix(f"{stage.qualname}.")


def changed_alone(old: SchemaSpec, new: SchemaSpec, subject: str, roles: Sequence[Role]) -> Iterator[Change]:
    """What changed in a schema that is no part of a stage.

    Args:
        old: the old version.
        new: the new version.
        subject: the schema in words.
        roles: whether it is read, written, or both, as what is saved under it is written once and read later.
    """
    in_roles: dict[Found, list[Role]] = {}
    for role in roles:
        for found in (*changed_schema(old, new), *changed_fields(side(role, old, new))):
            in_roles.setdefault(found, []).append(role)
    for found, its_roles in in_roles.items():
        yield change(found, subject, new.qualname, *its_roles)


def change(found: Found, subject: str, contract: str, *roles: Role) -> Change:
    """A change with what its rule says about it.

    Args:
        found: the rule, the field, what was and what is.
        subject: in words, what the field is part of.
        contract: the qualified name of what changed.
        roles: whether it is read, written or both; none for what is neither.
    """
    verdict = _verdict(found.rule, roles)
    return Change(
        rule=found.rule,
        subject=f"{subject}.{found.field}" if found.field else subject,
        contract=contract,
        field=found.field,
        before=found.before,
        after=found.after,
        breaks=verdict.breaks,
        why=verdict.why,
        first=verdict.first,
    )


def _verdict(rule: str, roles: Sequence[Role]) -> Verdict:
    """What a rule says of something that has these roles: all that breaks in one of them."""
    verdicts = RULES[rule].verdicts
    found = [verdicts[role] for role in roles if role in verdicts] or [verdicts["whole"]]
    breaking = [verdict for verdict in found if verdict.breaks]
    if len(breaking) < 2:
        return (breaking or found)[0]
    audiences: dict[Audience, None] = dict.fromkeys(audience for verdict in breaking for audience in verdict.breaks)
    reasons = dict.fromkeys(verdict.why for verdict in breaking)
    first: set[Party | None] = {verdict.first for verdict in breaking}
    return Verdict(breaks=tuple(audiences), why="; ".join(reasons), first=first.pop() if len(first) == 1 else None)


def _facts(old: StageSpec, new: StageSpec) -> Iterator[Found]:
    if old.qualname != new.qualname:
        yield _found("contract-moved", old.qualname, new.qualname)
    if old.name != new.name:
        yield _found("stage-renamed", old.name, new.name)
    if old.description != new.description:
        yield _found("description-changed", old.description, new.description)
    if old.rows != new.rows:
        yield _found("rows-changed", str(old.rows), str(new.rows))
    for key in sorted({*old.drops, *new.drops}):
        if (key in old.drops) != (key in new.drops):
            rule = "drop-added" if key in new.drops else "drop-removed"
            yield _found(rule, key if key in old.drops else "", key if key in new.drops else "")
    if old.pad_safe != new.pad_safe:
        yield _found(
            "pad-safe-declared" if new.pad_safe else "pad-safe-withdrawn", str(old.pad_safe), str(new.pad_safe)
        )
    if old.graph != new.graph:
        yield _found("graph-allowed" if new.graph == "allow" else "graph-refused", old.graph, new.graph)
    if set(old.layouts) != set(new.layouts):
        rule = "layouts-widened" if set(old.layouts) < set(new.layouts) else "layouts-narrowed"
        yield _found(rule, join_names(sorted(old.layouts)), join_names(sorted(new.layouts)))


def _found(rule: str, before: str, after: str) -> Found:
    return Found(rule, "", before, after)
