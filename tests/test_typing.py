"""Both type checkers know every field of a typed batch, and refuse an undeclared one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")  # not in .venv-peers
pytest.importorskip("pyright")

ROOT = Path(__file__).parent.parent
SNIPPETS = ROOT / "tests" / "typing"
EXAMPLE = ROOT / "docs" / "examples" / "grpo_arithmetic"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def link_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages under their import names: type checkers do not follow an editable install's mapping."""
    tree = tmp_path_factory.mktemp("types")
    (tree / "batchpact").mkdir()
    for floor in ("schemas", "dataproto", "contracts"):
        (tree / "batchpact" / floor).symlink_to(ROOT / floor)
    return tree


def mypy(link_tree: Path, *paths: Path) -> set[tuple[str, int]]:
    """File and line of every error that mypy reports."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--namespace-packages"]
    command += ["--explicit-package-bases", "--follow-imports=silent", "--cache-dir", str(link_tree / "cache")]
    search = f"{link_tree}{os.pathsep}{EXAMPLE.parent}"
    run = subprocess.run(
        [*command, *map(str, paths)],
        env={**os.environ, "MYPYPATH": search},
        cwd=link_tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found = re.findall(r"^(.+?):(\d+): error: ", run.stdout, flags=re.MULTILINE)
    return {(Path(file).name, int(line)) for file, line in found}


def pyright(link_tree: Path, *paths: Path) -> set[tuple[str, int]]:
    """File and line of every error that pyright reports; it takes only what lies below its configuration."""
    checked = link_tree / "checked"
    shutil.rmtree(checked, ignore_errors=True)
    checked.mkdir()
    for path in paths:
        shutil.copytree(path, checked / path.name) if path.is_dir() else shutil.copy(path, checked)
    config = link_tree / "pyrightconfig.json"
    config.write_text(json.dumps({"extraPaths": [str(link_tree), str(checked)], "include": ["checked"]}))
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(config)],
        cwd=link_tree,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(paths), run.stdout
    errors = [entry for entry in report["generalDiagnostics"] if entry["severity"] == "error"]
    return {(Path(entry["file"]).name, entry["range"]["start"]["line"] + 1) for entry in errors}


def refused_lines() -> set[tuple[str, int]]:
    lines = (SNIPPETS / "refused.py").read_text().splitlines()
    return {("refused.py", number) for number, line in enumerate(lines, start=1) if line.endswith("# refused")}


@pytest.mark.parametrize("check", [mypy, pyright])
def test_healthy_stages_are_accepted(check: object, link_tree: Path) -> None:
    assert check(link_tree, SNIPPETS / "accepted.py", SNIPPETS / "views.py") == set()  # type: ignore[operator]


@pytest.mark.parametrize("check", [mypy, pyright])
def test_exactly_the_mistakes_are_refused(check: object, link_tree: Path) -> None:
    assert check(link_tree, SNIPPETS / "refused.py") == refused_lines()  # type: ignore[operator]


@pytest.mark.parametrize("check", [mypy, pyright])
def test_the_example_is_accepted(check: object, link_tree: Path) -> None:
    assert check(link_tree, EXAMPLE) == set()  # type: ignore[operator]
