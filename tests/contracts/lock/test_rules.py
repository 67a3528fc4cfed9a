"""Each rule has a folder with two versions of a small project and what the diff says about them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from batchpact.contracts.lock.change import AUDIENCES, Change
from batchpact.contracts.lock.diff import Diff, changes
from batchpact.contracts.lock.rules import RULES
from batchpact.contracts.lock.text import render
from tests.contracts.lock.versions import contracts_of

FOLDER = Path(__file__).parent / "rules"


def found(rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Change, ...]:
    old, new = (
        contracts_of((FOLDER / rule / f"{version}.py").read_text(encoding="utf-8"), monkeypatch, tmp_path / version)
        for version in ("old", "new")
    )
    assert changes(old, old) == changes(new, new) == ()
    return changes(old, new)


def test_every_rule_has_a_folder_and_every_folder_a_rule() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_the_changes_are_the_expected_ones(rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """BATCHPACT_GOLDEN=write writes what is expected anew."""
    golden = FOLDER / rule / "changes.txt"
    text = render(Diff("old.py", "new.py", found(rule, monkeypatch, tmp_path))) + "\n"
    if os.environ.get("BATCHPACT_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")

    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES)
def test_a_folder_shows_every_verdict_of_its_rule(rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown = {
        (change.breaks, change.why, change.first)
        for change in found(rule, monkeypatch, tmp_path)
        if change.rule == rule
    }

    assert shown == {(said.breaks, said.why, said.first) for said in RULES[rule].verdicts.values()}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_told_apart_and_says_what_to_do(rule: object) -> None:
    """What breaks somebody has a reason; who comes first is told where an order of upgrades helps."""
    found = RULES[rule.id]  # type: ignore[attr-defined]
    purposes = [other.purpose for other in RULES.values()]

    assert purposes.count(found.purpose) == 1
    assert found.purpose.endswith(".")
    for verdict in found.verdicts.values():
        assert set(verdict.breaks) <= set(AUDIENCES)
        assert verdict.why
        assert verdict.first is None or verdict.breaks
