"""The page to explore as a file: it holds everything, and nothing in it is taken for markup."""

from __future__ import annotations

import json
import re
import sys

import pytest

from batchpact.contracts.reference.page import page
from batchpact.contracts.reference.page_data import page_data
from batchpact.schemas import SettingError
from tests.contracts.reference.explored import HOSTILE, explored


def data_of(text: str) -> object:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found.group(1))


def test_everything_is_in_the_file() -> None:
    text = page(explored(), "A <small> project")

    assert data_of(text) == json.loads(json.dumps(page_data(explored())))
    assert "<title>A &lt;small&gt; project</title>" in text
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"|@import|url\(', text) == []


def test_what_authors_write_ends_no_script() -> None:
    text = page(explored())

    assert HOSTILE not in text
    assert text.count("</script") == 2


def test_nothing_but_its_own_script_may_run() -> None:
    text = page(explored())

    assert re.search(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/]{43}='", text)
    assert not re.search(r"<[^>]* on\w+=", text.partition("<script")[0])


def test_the_same_project_makes_the_same_page() -> None:
    assert page(explored()) == page(explored())


def test_without_jinja_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)

    with pytest.raises(SettingError, match=r"pip install 'batchpact\[docs\]'"):
        page(explored())
