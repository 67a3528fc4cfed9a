"""The stages that a target names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batchpact.contracts.lint.stages import stages_of
from batchpact.schemas import SettingError
from tests.contracts.lint.support import module

SOURCE = """
    from batchpact.contracts import Pipeline

    @stage
    def compute(batch: One.Reads) -> One.Writes:
        return One.Writes(y=batch.x)

    class Worker:
        @stage(One)
        def work(self, data):
            return self.again(data)

        @stage(One)
        def again(self, data):
            return data

        @staticmethod
        @stage(One)
        def alone(data):
            return data

    def plain(data):
        return data

    plan = Pipeline("plan", inputs=One.Reads, stages=[compute, Worker().work, Rewrite])
    empty = Pipeline("empty", inputs=One.Reads, stages=[One])
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", ["compute", "work", "again", "alone"]),
        (":compute", ["compute"]),
        (":Worker", ["work", "again", "alone"]),
        (":Worker.work", ["work"]),
        (":plan", ["compute", "work"]),
    ],
)
def test_a_target_is_a_module_or_something_in_it(name: str, expected: list[str], tmp_path: Path) -> None:
    with module(SOURCE, tmp_path) as made:
        assert [stage.name for stage in stages_of(f"{made.__name__}{name}")] == expected


@pytest.mark.parametrize("name", [":plain", ":One", ":empty", ":DataProto", ":np"])
def test_what_has_no_stage_with_code_is_refused(name: str, tmp_path: Path) -> None:
    with module(SOURCE, tmp_path) as made, pytest.raises(SettingError) as caught:
        stages_of(f"{made.__name__}{name}")

    (violation,) = caught.value.violations
    assert violation.actual == "no stage of it has code"


def test_a_package_stands_for_its_modules_that_were_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "linted_package/__init__.py": "from linted_package import first\n",
        "linted_package/first.py": _stage("first"),
        "linted_package/second.py": _stage("second"),
        "linted_plan.py": "import linted_package.first as inside\nimport linted_package\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    try:
        assert [stage.name for stage in stages_of("linted_package")] == ["first"]
        assert [stage.name for stage in stages_of("linted_package.second")] == ["second"]
        assert [stage.name for stage in stages_of("linted_package")] == ["first", "second"]
        assert [stage.name for stage in stages_of("linted_plan:inside")] == ["first"]
        with pytest.raises(SettingError):
            stages_of("linted_plan")
    finally:
        for name in [name for name in sys.modules if name.startswith("linted_p")]:
            del sys.modules[name]


def _stage(name: str) -> str:
    imports = "from tests.contracts.lint.declared import *\n"
    return f"{imports}@stage\ndef {name}(batch: One.Reads) -> One.Writes:\n    return One.Writes(y=batch.x)\n"
