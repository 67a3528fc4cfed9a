"""Levels, actions, severities: set by environment, by context manager, by stage."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batchpact.contracts import checking, stage
from batchpact.contracts.settings import Settings, _environment, current
from batchpact.dataproto import DataProto
from batchpact.schemas import CODES, ContractError, SettingError
from tests.contracts.stages import ComputeReturns, refusal, scored


def misshapen() -> DataProto:
    """A batch of the wrong structure."""
    batch = scored()
    batch.meta_info["gamma"] = "half"
    return batch


def nan() -> DataProto:
    """A batch whose structure is right and whose values are not."""
    batch = scored()
    batch.batch["response_mask"][2, 1] = 7
    return batch


def outcome_of(function: Callable[[DataProto], object], batch: DataProto) -> str:
    try:
        function(batch)
    except ContractError as error:
        return error.violations[0].code
    return "passed"


@stage(ComputeReturns)
def plain(data: DataProto) -> None:
    return None


@stage(ComputeReturns, level="off")
def unchecked(data: DataProto) -> None:
    return None


@stage(ComputeReturns, level="values")
def thorough(data: DataProto) -> None:
    return None


# --- levels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "function", "expected"),
    [
        (None, plain, ["BP006", "passed"]),
        (None, unchecked, ["passed", "passed"]),
        (None, thorough, ["BP006", "BP021"]),
        ("off", thorough, ["passed", "passed"]),
        ("structure", thorough, ["BP006", "passed"]),
        ("structure", unchecked, ["BP006", "passed"]),
        ("values", unchecked, ["BP006", "BP021"]),
    ],
)
def test_a_block_wins_over_the_level_of_a_stage(level: Any, function: Any, expected: list[str]) -> None:
    with checking(level):
        assert [outcome_of(function, misshapen()), outcome_of(function, nan())] == expected


def test_the_innermost_block_counts_and_leaves_what_it_does_not_name() -> None:
    before = current()
    with checking("values", action="warn", severity={"BP001": "ignore"}, sample=2):
        with checking("off", severity={"BP005": "warning"}) as inner:
            assert inner == current()
            assert inner == Settings("off", "warn", {"BP001": "ignore", "BP005": "warning"}, 2)
        assert current() == Settings("values", "warn", {"BP001": "ignore"}, 2)
    assert current() == before == Settings(None, "raise", {}, None)


def test_a_block_ends_with_an_error_too() -> None:
    with pytest.raises(ContractError), checking("values"):
        plain(nan())

    assert current().level is None


async def test_tasks_have_their_own_level() -> None:
    async def level(name: Any) -> object:
        with checking(name):
            await asyncio.sleep(0)
            return current().level

    assert await asyncio.gather(level("off"), level("values")) == ["off", "values"]


# --- unknown values --------------------------------------------------------------------------------------------------


def checking_with(**settings: Any) -> Callable[[], object]:
    def enter() -> None:
        with checking(**settings):
            pass

    return enter


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (checking_with(level="loud"), "level  'loud' is not known; 'off', 'structure' and 'values' are"),
        (checking_with(action="shout"), "action  'shout' is not known; 'raise' and 'warn' are"),
        (
            checking_with(severity={"BP999": "ignore"}),
            "code  'BP999' is not known; 'BP001', 'BP002', 'BP003', 'BP004', 'BP005', 'BP006' and "
            f"{len(CODES) - 6} more are",
        ),
        (
            checking_with(severity={"BP001": "loud"}),
            "severity of BP001  'loud' is not known; 'error', 'warning' and 'ignore' are",
        ),
        (checking_with(sample=0), "sample  0 rows; 1 or more, or None for all"),
        (
            lambda: stage(ComputeReturns, level="hard"),
            "level  'hard' is not known; 'off', 'structure' and 'values' are",
        ),
        (
            lambda: stage(ComputeReturns, project="maybe"),
            "project  'maybe' is not known; 'on', 'record' and 'off' are",
        ),
    ],
)
def test_a_value_that_is_not_known_is_refused_with_the_ones_that_are(call: Any, text: str) -> None:
    assert refusal(call, SettingError) == f"1 problem in the settings\n\n  BP052 setting  {text}"


def test_a_block_with_a_wrong_value_changes_nothing() -> None:
    with pytest.raises(SettingError), checking("off", severity={"BP999": "ignore"}):
        pass

    assert current() == Settings()


# --- environment -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Settings()),
        ({"BATCHPACT_LEVEL": "values"}, Settings(level="values")),
        ({"BATCHPACT_ACTION": "warn"}, Settings(action="warn")),
        ({"BATCHPACT_LEVEL": "off", "BATCHPACT_ACTION": "raise"}, Settings(level="off", action="raise")),
    ],
)
def test_the_environment_sets_level_and_action(
    variables: dict[str, str], expected: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert _environment() == expected


@pytest.mark.parametrize(
    ("name", "known"),
    [("BATCHPACT_LEVEL", "'off', 'structure' and 'values'"), ("BATCHPACT_ACTION", "'raise' and 'warn'")],
)
def test_a_misspelt_environment_is_an_error_and_not_the_default(
    name: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "loud")

    assert refusal(_environment, SettingError) == (
        f"1 problem in the settings\n\n  BP052 setting  {name}  'loud' is not known; {known} are"
    )


def test_a_process_takes_its_settings_from_the_environment_that_it_starts_in() -> None:
    program = """
from tests.contracts.test_settings import misshapen, nan, outcome_of, plain, unchecked
print(*(outcome_of(plain, batch) for batch in (misshapen(), nan())), outcome_of(unchecked, misshapen()))
"""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path, "BATCHPACT_LEVEL": "values"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout == "BP006 BP021 BP006\n", run.stderr
