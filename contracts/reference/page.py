"""One HTML file to explore a project: search, stages, fields, the matrix, and what a configuration switches."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files

from batchpact.contracts.reference.optional import not_installed
from batchpact.contracts.reference.page_data import page_data
from batchpact.contracts.reference.project import Project

_STYLES = ("base", "header", "columns", "pages", "path", "panel", "matrix", "media")
_SCRIPTS = (
    *("dom", "state", "switches", "words", "lines", "graph", "cells", "matrix", "panel"),
    *("overviews", "things", "conditions", "codes", "pages", "search", "start"),
)
"""The parts of the style and of the script, in their order; the script is one module."""


def page(project: Project, title: str = "batchpact") -> str:
    """The page to explore: a self-contained HTML file that needs no network and no server.

    Args:
        project: what it tells of.
        title: what stands at its top.

    Raises:
        SettingError: if Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise not_installed("jinja2", "in the page to explore", "the page needs it") from None
    script = "\n".join(_read(f"{name}.js") for name in _SCRIPTS)
    style = "\n".join(_read(f"{name}.css") for name in _STYLES)
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(_read("template.html")).render(
        title=title,
        style=style,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=_json(page_data(project)),
    )


def _read(name: str) -> str:
    return (files("batchpact.contracts.reference") / "page_files" / name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """JSON that may stand inside a script: nothing in it looks like a tag."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
