"""A run over several stages: its report, the order of the findings, and its speed."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType

import pytest

from batchpact.contracts.lint.linter import lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.schemas import CODES, Violation, Where
from tests.contracts.lint.support import module

TWO = """
    @stage(One)
    def second(data):
        return DataProto.from_dict({"y": take(data)})

    @stage(One, name="first_of_two")
    def first(data):
        data.batch["x"]
        return DataProto.from_dict({"y": take(data), "z": 1})

    def take(data):
        return data.batch["w"]
"""


def test_the_findings_of_all_stages_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    with module(TWO, tmp_path) as made:
        report = lint(stages_of(made.__name__)).report

    assert [(finding.where.line, finding.code, finding.where.stage) for finding in report.findings] == [
        (3, "BP074", "second"),
        (9, "BP072", "first_of_two"),
        (12, "BP071", "second"),
        (12, "BP071", "first_of_two"),
    ]
    assert (report.subject, report.checked, report.ok) == ("the code of 2 stages", "1 file", False)


def test_a_finding_is_a_record_with_its_place(tmp_path: Path) -> None:
    with module(TWO, tmp_path) as made:
        unused, unasked, *_ = lint(stages_of(made.__name__)).report.findings

    assert unused.severity == "warning"
    assert unasked == Violation(
        code="BP072",
        field="z",
        placement="tensor",
        actual="set in batch",
        expected="One.Writes does not declare it",
        hint="declare it, or leave it out of the result",
        where=Where(stage="first_of_two", file=made.__file__, line=9, column=50),
    )


def test_a_file_is_named_as_seen_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with module(TWO, tmp_path) as made:
        files = {finding.where.file for finding in lint(stages_of(made.__name__)).report.findings}

    assert files == {f"{made.__name__}.py"}


def test_warnings_alone_are_in_order(tmp_path: Path) -> None:
    with module("@stage(One)\ndef compute(data):\n    return One.Writes(y=1)\n", tmp_path) as made:
        report = lint(stages_of(made.__name__)).report

    assert (len(report.findings), report.ok) == (1, True)


def test_every_code_of_the_linter_is_in_the_catalogue() -> None:
    assert [code for code in CODES if code.startswith("BP07")] == [f"BP07{at}" for at in range(1, 8)]


STAGE = '''
@stage(Rewrite, name="stage_{at}")
def stage_{at}(data, scale=2.0):
    """What a stage of a trainer looks like."""
    total = 0
    for key in KEYS:
        if key in data.batch.keys():
            total = total + data.batch[key] * scale
    for part in data.chunk(4):
        values = helper_{at}(part, scale)
        total = total + values.sum()
    if total is None:
        raise ValueError("nothing")
    try:
        note = data.meta_info["note_{at}"]
    except KeyError:
        note = ""
    data.batch["x"] = total
    data.meta_info["note"] = note
    return data

def helper_{at}(data, scale):
    x = data.batch["x"]
    mask = x > 0
    while mask.any():
        x = torch.where(mask, x * scale, x)
        mask = x < scale
    return shared(x, data.batch["mask"])
'''


def test_200_stages_of_one_module_are_linted(tmp_path: Path) -> None:
    """How long that takes stands in the benchmarks."""
    with many_stages(tmp_path) as made:
        report = lint(stages_of(made.__name__)).report

    assert [finding.field for finding in report.findings] == [f"note_{at}" for at in range(200)]


def many_stages(folder: Path) -> AbstractContextManager[ModuleType]:
    """A module of 200 stages, each with one fault, and a helper that all of them call."""
    shared = "KEYS = ('x', 'mask')\ndef shared(x, mask):\n    return (x * mask).sum() / mask.sum()\n"
    return module(shared + "".join(STAGE.format(at=at) for at in range(200)), folder)


def test_the_order_does_not_depend_on_the_hashes_of_a_process(tmp_path: Path) -> None:
    """Strings have another hash in every process."""
    (tmp_path / "linted_order.py").write_text(
        "from tests.contracts.lint.declared import *\n@stage(One)\ndef compute(data):\n"
        "    key = 'x' if len(data) > 1 else 'z' if len(data) else 'w' if data else 'v'\n"
        "    return DataProto.from_dict({'y': data.batch[key], **{f'{key}_sum': 1}})\n"
    )
    outputs = set()
    for seed in ("1", "2", "3"):
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": seed}
        code = "from batchpact.contracts.cli import main; main()"
        run = subprocess.run(
            [sys.executable, "-c", code, "lint", "linted_order.py"],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode, run.stderr) == (1, "")
        outputs.add(run.stdout)

    (output,) = outputs
    assert [text.split("  ")[3] for text in output.splitlines()[2:]] == [
        *("compute: v", "compute: w", "compute: z"),
        *("compute: v_sum", "compute: w_sum", "compute: x_sum", "compute: z_sum"),
    ]
