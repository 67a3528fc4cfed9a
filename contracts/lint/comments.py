"""Comments that silence findings on their line: `# batchpact: ignore[BP071]`, or without a code for all."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from batchpact.contracts.lint.sources import SourceFile
from batchpact.contracts.lint.trace import Site

_COMMENT = re.compile(r"#\s*batchpact:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that silences: some codes, or all where it names none."""

    site: Site
    codes: tuple[str, ...]

    def silences(self, code: str) -> bool:
        """Whether it silences a code."""
        return not self.codes or code in self.codes

    def idle(self, codes: Iterable[str]) -> list[str]:
        """What it says in vain, where these codes were found on its line; an empty text is the whole comment."""
        found = set(codes)
        if not self.codes:
            return [] if found else [""]
        return [code for code in self.codes if code not in found]


def comments(source: SourceFile) -> Iterator[Comment]:
    """The comments of a file that silence something."""
    text = "".join(source.lines)
    if "batchpact:" not in text:
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            codes = tuple(code.strip() for code in (match["codes"] or "").split(",") if code.strip())
            line, column = token.start
            yield Comment(Site(source.path, line, column + match.start() + 1), codes)
