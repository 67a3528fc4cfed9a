"""A change of a contract, and the form of the rules that say what changes mean."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batchpact.schemas.record import Record
from batchpact.schemas.violations import Where

Role: TypeAlias = Literal["reads", "writes", "whole"]
"""What changed: what is read, what is written, or something that is neither, such as a fact of a stage."""
Audience: TypeAlias = Literal["old data", "new data", "pipeline"]
"""What old writers wrote, saved batches among it, with new readers; what new writers write with old readers; a pipeline
whose stages are upgraded together."""
Party: TypeAlias = Literal["readers", "writers"]
Category: TypeAlias = Literal[
    "presence", "place", "type", "shape", "values", "meaning", "condition", "stage", "pipeline", "text"
]

AUDIENCES: dict[Audience, str] = {
    "old data": "old data with new readers",
    "new data": "new data with old readers",
    "pipeline": "a pipeline that is upgraded as one",
}
"""Whom a change breaks, in words."""


class Verdict(Record):
    """What a change means: whom it breaks, why, and who has to be upgraded first, so that it does not."""

    breaks: tuple[Audience, ...] = ()
    why: str
    first: Party | None = None


class ChangeRule(Record):
    """One kind of change. `verdicts` has those parts of a contract in which it can happen."""

    id: str
    category: Category
    purpose: str
    verdicts: dict[Role, Verdict]


class Change(Record):
    """One change.

    `subject` says in words what changed ("stage 'kl_in_reward' reads.ref_log_prob"); `contract` is the qualified name
    of the class or function, or the name of the pipeline, and `field` the key of the field, where it is one.
    """

    rule: str
    subject: str
    contract: str
    field: str = ""
    before: str = ""
    after: str = ""
    breaks: tuple[Audience, ...] = ()
    why: str = ""
    first: Party | None = None
    where: Where = Where()


def rule(
    identifier: str,
    category: Category,
    purpose: str,
    *,
    reads: Verdict | None = None,
    writes: Verdict | None = None,
    whole: Verdict | None = None,
) -> ChangeRule:
    """A rule with the verdicts that it has."""
    verdicts: dict[Role, Verdict | None] = {"reads": reads, "writes": writes, "whole": whole}
    found: dict[Role, Verdict] = {role: verdict for role, verdict in verdicts.items() if verdict is not None}
    return ChangeRule(id=identifier, category=category, purpose=purpose, verdicts=found)


def safe(why: str) -> Verdict:
    """Nobody breaks."""
    return Verdict(why=why)


def old_data(why: str, first: Party | None = "writers") -> Verdict:
    """What was written before does not satisfy a new reader."""
    return Verdict(breaks=("old data",), why=why, first=first)


def new_data(why: str, first: Party | None = "readers") -> Verdict:
    """What is written now does not satisfy an old reader."""
    return Verdict(breaks=("new data",), why=why, first=first)


def both(why: str) -> Verdict:
    """Old and new versions do not work together in either direction."""
    return Verdict(breaks=("old data", "new data"), why=why)


def pipeline(why: str) -> Verdict:
    """A pipeline breaks although its stages are upgraded together."""
    return Verdict(breaks=("pipeline",), why=why)
