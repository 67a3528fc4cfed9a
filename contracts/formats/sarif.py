"""SARIF 2.1.0, as code scanning services take it: every rule with its help, every finding with its place."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from batchpact.contracts.formats.findings import Document, Finding, explanation

Plain: TypeAlias = dict[str, Any]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(document: Document) -> str:
    """The findings as a SARIF log with one run."""
    rules = list(dict.fromkeys(finding.rule for finding in document.findings))
    driver = {"name": "batchpact", **_version(), "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"batchpact/{document.command}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules.index(finding.rule)) for finding in document.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _version() -> Plain:
    try:
        return {"version": version("batchpact")}
    except PackageNotFoundError:  # run from a source tree
        return {}


def _rule(rule: str) -> Plain:
    told = explanation(rule)
    text = f"{told.means}\n\n{told.hurts}\n\n{told.fix}"
    markdown = f"{told.means}\n\n**Why it matters.** {told.hurts}\n\n**What to do.** {told.fix}"
    return {
        "id": rule,
        "name": told.title,
        "shortDescription": {"text": told.means},
        "fullDescription": {"text": f"{told.means} {told.hurts}"},
        "help": {"text": text, "markdown": markdown},
    }


def _result(finding: Finding, index: int) -> Plain:
    identity = "\0".join((finding.rule, finding.subject, finding.file or ""))
    result: Plain = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": f"{finding.subject}: {finding.message}"},
        "partialFingerprints": {"batchpact/v1": sha256(identity.encode()).hexdigest()},
    }
    location: Plain = {"logicalLocations": [{"fullyQualifiedName": finding.subject}]}
    if finding.file is not None:
        place: Plain = {"artifactLocation": {"uri": _uri(finding.file)}}
        if finding.line is not None:
            place["region"] = {"startLine": finding.line}
            if finding.column is not None:
                place["region"]["startColumn"] = finding.column
        location["physicalLocation"] = place
    return {**result, "locations": [location]}


def _uri(file: str) -> str:
    """A path as a URI; a relative one stays relative, to wherever the log is read."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
