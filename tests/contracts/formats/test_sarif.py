"""SARIF 2.1.0, held against its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from batchpact.contracts.formats import sarif
from batchpact.contracts.formats.findings import Document
from batchpact.contracts.formats.sarif import as_sarif
from batchpact.contracts.lock.rules import RULES
from batchpact.schemas import CODES
from tests.contracts.formats.samples import EMPTY, EVERYTHING, document, nasty

SCHEMA = json.loads((Path(__file__).parent / "sarif" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
DOCUMENTS = [EVERYTHING, EMPTY, nasty(), nasty(file=None), nasty(file="/tmp/x y.py")]


def log(found: Document) -> Any:
    return json.loads(as_sarif(found))


def errors(found: object) -> list[str]:
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found)]


@pytest.mark.parametrize("found", DOCUMENTS)
def test_it_keeps_to_the_schema(found: Document) -> None:
    assert errors(log(found)) == []


def test_the_schema_refuses_something() -> None:
    broken = log(EVERYTHING)
    broken["runs"][0]["results"][0]["level"] = "notice"

    assert errors(broken) == ["'notice' is not one of ['none', 'note', 'warning', 'error']"]


def test_a_result() -> None:
    run = log(EVERYTHING)["runs"][0]
    first = run["results"][0]
    fingerprint = first.pop("partialFingerprints")["batchpact/v1"]

    assert first == {
        "ruleId": "BP001",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": 'use: scores: declared f32 "batch"; nobody writes it'},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "trainer/plan.py"},
                    "region": {"startLine": 12, "startColumn": 5},
                },
                "logicalLocations": [{"fullyQualifiedName": "use: scores"}],
            }
        ],
    }
    assert len(fingerprint) == 64
    assert run["automationDetails"] == {"id": "batchpact/check/"}
    assert run["tool"]["driver"]["name"] == "batchpact"


def test_every_rule_has_its_help() -> None:
    found = document(*(EVERYTHING.reports))
    rules = log(found)["runs"][0]["tool"]["driver"]["rules"]

    assert [rule["id"] for rule in rules] == [
        "BP001",
        "BP005",
        "BP051",
        "field-removed",
        "dtype-widened",
        "description-changed",
    ]
    assert rules[0] == {
        "id": "BP001",
        "name": "missing",
        "shortDescription": {"text": CODES["BP001"].means},
        "fullDescription": {"text": f"{CODES['BP001'].means} {CODES['BP001'].hurts}"},
        "help": {
            "text": f"{CODES['BP001'].means}\n\n{CODES['BP001'].hurts}\n\n{CODES['BP001'].fix}",
            "markdown": f"{CODES['BP001'].means}\n\n**Why it matters.** {CODES['BP001'].hurts}\n\n"
            f"**What to do.** {CODES['BP001'].fix}",
        },
    }
    assert rules[3]["shortDescription"] == {"text": RULES["field-removed"].purpose}


def test_a_finding_is_recognised_when_lines_move() -> None:
    """By its rule, what it is about, and its file; the message may be worded anew."""
    one = EVERYTHING.findings[0]
    moved = one.model_copy(update={"line": 99, "message": "other words"})
    other = one.model_copy(update={"subject": "use: values"})
    prints = [
        result["partialFingerprints"]["batchpact/v1"]
        for result in log(document(EVERYTHING.reports[0].model_copy(update={"findings": (one, moved, other)})))["runs"][
            0
        ]["results"]
    ]

    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a folder/ö,:%.py", "a%20folder/%C3%B6%2C%3A%25.py"),
        ("/tmp/x y.py", "file:///tmp/x%20y.py"),
    ],
)
def test_paths_are_uris(file: str, uri: str) -> None:
    result = log(nasty(file=file))["runs"][0]["results"][0]

    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_finding_without_a_file_has_a_name_alone() -> None:
    location = log(nasty(file=None))["runs"][0]["results"][0]["locations"][0]

    assert list(location) == ["logicalLocations"]


@pytest.mark.parametrize(("installed", "driver"), [(True, {"version": "1.2"}), (False, {})])
def test_the_version_stands_there_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch, installed: bool, driver: dict[str, str]
) -> None:
    def version(name: str) -> str:
        if not installed:
            raise sarif.PackageNotFoundError(name)
        return "1.2"

    monkeypatch.setattr(sarif, "version", version)

    assert sarif._version() == driver
