"""The names of the formats; importing them costs nothing."""

from __future__ import annotations

from enum import Enum


class Format(str, Enum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    MARKDOWN = "markdown"
