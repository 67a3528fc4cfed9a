"""The pages of codes and of the diff's rules, from the catalogues that messages are made of."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.formats.findings import explanation
from batchpact.contracts.formats.markdown import escaped
from batchpact.contracts.lock.change import ChangeRule, Role
from batchpact.contracts.lock.rules import RULES
from batchpact.contracts.reference.markdown.findings import Found
from batchpact.contracts.reference.markdown.links import Links
from batchpact.contracts.reference.markdown.text import heading, page, table
from batchpact.schemas.catalogue import CODES


def errors_page(links: Links, found: Found) -> str:
    """The page `errors.md`."""
    return page("Errors", _errors(links, found))


def _errors(links: Links, found: Found) -> Iterator[str]:
    yield "Every message names a code, of which `batchpact show CODE` says the same as this page."
    yield "What `batchpact diff` finds has a name among [its rules](diff-rules.md)."
    yield from table(
        ("code", "title", "what it means"),
        [(links.error(code), escaped(told.title), escaped(told.means)) for code, told in CODES.items()],
    )
    for code in CODES:
        told = explanation(code)
        yield from heading(2, f"{code} {told.title}", code)
        yield escaped(told.means)
        yield ""
        yield f"**Why it matters.** {escaped(told.hurts)}"
        yield ""
        yield f"**What to do.** {escaped(told.fix)}"
        pipelines = found.with_code(code)
        if pipelines:
            yield ""
            yield f"Found in {links.listed(links.pipeline(name, 'findings') for name in pipelines)}."


def rules_page() -> str:
    """The page `diff-rules.md`."""
    return page("Rules of the diff", _rules())


def _rules() -> Iterator[str]:
    yield "What a rule means where a field is read, where it is written, and for what is neither."
    yield ""
    yield "- old data: what old writers wrote no longer satisfies new readers"
    yield "- new data: what new writers write does not satisfy old readers"
    yield "- pipeline: the stages of a pipeline do not fit although they are upgraded together"
    yield from table(
        ("rule", "what it finds", "read", "written", "otherwise"),
        [
            (
                f'<a id="{name}"></a>`{name}`',
                escaped(rule.purpose),
                *(_verdict(rule, role) for role in ("reads", "writes", "whole")),
            )
            for name, rule in RULES.items()
        ],
    )


def _verdict(rule: ChangeRule, role: Role) -> str:
    verdict = rule.verdicts.get(role)
    if verdict is None:
        return ""
    first = "" if verdict.first is None else f" ({verdict.first} first)"
    return ", ".join(verdict.breaks) + first if verdict.breaks else "safe"
