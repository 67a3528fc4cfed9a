"""Findings in the format that was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from batchpact.contracts.formats.findings import Document
from batchpact.contracts.formats.github import as_github
from batchpact.contracts.formats.markdown import as_markdown
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.sarif import as_sarif


def as_json(document: Document) -> str:
    """The record itself."""
    return json.dumps(document.model_dump(mode="json", exclude_none=True), indent=2, ensure_ascii=False)


FORMATS: Mapping[Format, Callable[[Document], str]] = {
    Format.JSON: as_json,
    Format.GITHUB: as_github,
    Format.SARIF: as_sarif,
    Format.MARKDOWN: as_markdown,
}
"""Every format but text, which each report prints itself."""
