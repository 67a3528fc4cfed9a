"""What there is to tell of a stage or a field: lines of sentences, and how they look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from batchpact.contracts.reference.words import Kind, Ref, Words, plain


class Line(NamedTuple):
    """One thing that is so.

    Attributes:
        label: what kind of thing: `rows`, `reads`, `writes`, ...
        about: the field of a stage, or the stage of a field; None where the line is about the whole.
        facts: the sentences.
    """

    label: str
    about: Ref | None
    facts: tuple[Words, ...]

    def text(self) -> str:
        """The sentences without links."""
        return "; ".join(map(plain, self.facts))


@dataclass(frozen=True, slots=True)
class Told:
    """A stage or a field of one pipeline, told.

    Attributes:
        kind: which of the two.
        name: the name of the stage, the key of the field.
        pipeline: the name of the pipeline.
        qualname: the class or function that declares a stage; empty for a field.
        descriptions: what its authors say of it. A field may have several, as each stage declares it.
        lines: everything else.
    """

    kind: Kind
    name: str
    pipeline: str
    qualname: str
    descriptions: tuple[str, ...]
    lines: tuple[Line, ...]

    def text(self) -> Iterator[str]:
        """The lines as a terminal shows them."""
        declared = f"  ({self.qualname})" if self.qualname else ""
        yield f"{self.kind} '{self.name}' of pipeline '{self.pipeline}'{declared}"
        yield from (f"  {description}" for description in self.descriptions)
        printed = _fields if self.kind == "stage" else _stages
        for label, group in groupby(self.lines, lambda line: line.label):
            yield from printed(label, list(group))


def _fields(label: str, lines: list[Line]) -> Iterator[str]:
    """Lines of a stage: what they are about stands in a column."""
    if lines[0].about is None:
        yield from (f"  {label:<7} {line.text()}" for line in lines)
        return
    yield f"  {label}"
    width = max(len(line.about.text) for line in lines if line.about is not None)
    yield from (f"    {line.about.text:<{width}}  {line.text()}" for line in lines if line.about is not None)


def _stages(label: str, lines: list[Line]) -> Iterator[str]:
    """Lines of a field, each under its stage."""
    for line in lines:
        about = "" if line.about is None else f"{line.about.text}  "
        yield f"  {label:<7} {about}{line.text()}".rstrip()
