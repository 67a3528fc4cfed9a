"""The bytes on the page about scale are those that the contracts come to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.benchmarks.batches import Size
from tests.benchmarks.scale_model import Rates, field_bytes, load

PAGE = (Path(__file__).parent.parent / "docs" / "scale.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"^\| ([\d,]+) x \(([\d,]+) \+ ([\d,]+)\) \| (\d+) \| ([\d.]+) GB \| ([\d.]+) GB \| ([\d.]+) GB "
    r"\| ([\d.]+) s \| ([\d.]+) s \|$",
    flags=re.MULTILINE,
)
STEPS = [tuple(float(number.replace(",", "")) for number in row) for row in STEP.findall(PAGE)]
RATES = Rates(stage=8.9e-3, message=1.5e-3, byte=1 / 2.6e9)


def test_the_page_has_the_rates_that_its_seconds_are_told_by() -> None:
    found = [
        re.search(text, PAGE) for text in (r"\| ([\d.]+) ms a stage", r"\| ([\d.]+) ms a worker", r"for ([\d.]+) GB")
    ]
    stage, message, giga = (float(match[1]) for match in found if match is not None)
    assert (stage * 1e-3, message * 1e-3, 1 / (giga * 1e9)) == pytest.approx(RATES)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0]:.0f} rows")
def test_the_numbers_of_a_step_are_counted_from_the_contracts(step: tuple[float, ...]) -> None:
    rows, prompt, response, workers, batch, declared, whole, seconds, seconds_whole = step
    size = Size(int(rows), int(prompt), int(response))
    projected = load(size, int(workers), projected=True)
    everything = load(size, int(workers), projected=False)

    told = [sum(field_bytes(size).values()), projected.sent, everything.sent]
    assert [round(number / 1e9, 2) for number in told] == [batch, declared, whole]
    assert [round(RATES.seconds(each), 2) for each in (projected, everything)] == [seconds, seconds_whole]


def test_every_step_of_the_page_was_looked_at() -> None:
    assert len(STEPS) == 5
