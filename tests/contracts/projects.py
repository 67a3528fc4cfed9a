"""Small projects on disk, for the tests of targets and of the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

HEALTHY = """
    from jaxtyping import Float32
    from torch import Tensor
    from batchpact.contracts import Pipeline
    from batchpact.schemas import BatchSchema, StageSchema

    class Start(BatchSchema):
        scores: Float32[Tensor, "batch response"]

    class Sum(StageSchema):
        class Reads(BatchSchema):
            scores: Float32[Tensor, "batch response"]
        class Writes(BatchSchema):
            total: Float32[Tensor, "batch"]

    small = Pipeline("small", inputs=Start, stages=[Sum])
    same = small
"""
BROKEN = (
    HEALTHY
    + """
    class Use(StageSchema):
        class Reads(BatchSchema):
            totals: Float32[Tensor, "batch"]

    broken = Pipeline("broken", inputs=Start, stages=[Sum, Use])
"""
)
MISDECLARED = """
    from batchpact.schemas import BatchSchema

    class Start(BatchSchema):
        scores: float
"""
EMPTY = "numbers = [1, 2, 3]\n"

FINE = "pipeline 'small': 1 stage, 2 fields, no problems"
WRONG = (
    "1 problem in pipeline 'broken' (2 stages, 3 fields)\n\n"
    '  BP001 missing  use: totals  declared f32 "batch"; nothing before writes it, and no known stage does; '
    "closest name: 'total', written by 'sum'"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module, a package and broken ones, which is also the working directory."""
    files = {
        "healthy_plan.py": HEALTHY,
        "broken_plan.py": BROKEN,
        "misdeclared_plan.py": MISDECLARED,
        "empty_plan.py": EMPTY,
        "other/healthy_plan.py": HEALTHY,
        "trainer_pkg/__init__.py": "",
        "trainer_pkg/shared.py": HEALTHY,
        "trainer_pkg/steps/__init__.py": "from trainer_pkg.shared import small\n",
        "trainer_pkg/steps/plan.py": "from ..shared import small as relative\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(dedent(text))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("healthy_plan", "broken_plan", "misdeclared_plan", "empty_plan", "trainer_pkg"):
            del sys.modules[name]
