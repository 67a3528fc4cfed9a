"""The entry of a code, or of a rule of the diff, as a terminal shows it."""

from __future__ import annotations

from batchpact.contracts.formats.findings import explanation
from batchpact.contracts.lock.rules import RULES
from batchpact.schemas.catalogue import CODES


def is_code(name: str) -> bool:
    """Whether this is a code of the catalogue, or a rule of the diff."""
    return name in CODES or name in RULES


def entry(name: str) -> str:
    """What it means, why it matters and what to do, as the page of errors says."""
    told = explanation(name)
    title = f"{name}  {told.title}" if name in CODES else name
    return "\n".join([title, f"  {told.means}", f"  why it matters  {told.hurts}", f"  what to do      {told.fix}"])
