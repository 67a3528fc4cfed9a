"""The catalogue of codes is complete, and everything in it is used."""

import ast
import re
import string
from pathlib import Path

import pytest

from batchpact.schemas import CODES, Code
from batchpact.schemas.catalogue import _CODES

ROOT = Path(__file__).parents[2]
FLOORS = ("schemas", "dataproto", "contracts")


def codes_in_the_sources() -> set[str]:
    """Every string of the form BP000 in the code of the three floors, the catalogue left out."""
    found: set[str] = set()
    for path in (path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))):
        if path != ROOT / "schemas" / "catalogue.py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.update(re.findall(r"^BP\d+$", node.value))
    return found


def test_codes_are_unique_and_in_order() -> None:
    listed = [code.code for code in _CODES]

    assert listed == sorted(set(listed)) == list(CODES)


def test_titles_are_unique_so_that_a_message_names_its_code_in_words() -> None:
    assert len({code.title for code in _CODES}) == len(_CODES)


def test_every_code_in_the_sources_is_in_the_catalogue() -> None:
    assert codes_in_the_sources() - set(CODES) == set()


def test_every_code_in_the_catalogue_is_used() -> None:
    assert set(CODES) - codes_in_the_sources() == set()


@pytest.mark.parametrize("code", _CODES, ids=lambda code: code.code)
def test_a_code_says_what_it_means_why_it_hurts_and_how_to_fix_it(code: Code) -> None:
    assert re.fullmatch(r"BP0[0-8]\d", code.code)
    assert re.fullmatch(r"[a-z]{4,8}", code.title), "a word that keeps the column narrow"
    for text in (code.means, code.hurts, code.fix):
        assert not text[0].islower() and text.endswith("."), text


@pytest.mark.parametrize("code", _CODES, ids=lambda code: code.code)
def test_the_form_of_a_code_takes_what_is_there_and_what_is_expected(code: Code) -> None:
    names = {name for _, name, _, _ in string.Formatter().parse(code.form) if name is not None}

    assert names in ({"actual", "expected"}, {"expected"})
    assert names == {"actual", "expected"} or code.code == "BP001"
