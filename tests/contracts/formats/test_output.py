"""Each format is read by a parser that somebody else wrote."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from batchpact.contracts.formats.findings import Document
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.output import FORMATS, as_json
from tests.contracts.formats.samples import EMPTY, EVERYTHING, nasty
from tests.contracts.formats.test_findings import SCHEMA

DOCUMENTS = [EVERYTHING, EMPTY, nasty(), nasty(file=None)]


def test_every_format_has_its_printer() -> None:
    """Text is what each report prints itself."""
    assert set(FORMATS) == set(Format) - {Format.TEXT}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_json_keeps_to_the_documented_schema(document: Document) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    validator.check_schema(validator.schema)

    assert list(validator.iter_errors(json.loads(as_json(document)))) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_json_is_the_record(document: Document) -> None:
    assert Document.model_validate_json(as_json(document)) == document


def test_the_schema_refuses_something() -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    broken = {**json.loads(as_json(EVERYTHING)), "version": 2, "more": 1}

    assert sorted(error.validator for error in validator.iter_errors(broken)) == ["additionalProperties", "const"]
