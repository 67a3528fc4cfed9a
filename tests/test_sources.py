"""What the source of all three floors may not contain: `python -O` changes nothing, and data is never executed."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for floor in ("schemas", "dataproto", "contracts") for path in (ROOT / floor).rglob("*.py"))


RUNS_DATA = ("eval", "exec", "builtins.eval", "builtins.exec")
UNPICKLES = ("pickle.load", "pickle.loads", "pickle.Unpickler")
MAY_UNPICKLE = {
    "dataproto/files/pickled.py",  # where whoever saves and whoever loads ask for it
}


def forbidden(text: str) -> list[str]:
    """What must not be there, with its line."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert):
            found.append(f"{node.lineno}: assert")
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in RUNS_DATA or called.endswith(UNPICKLES):
                found.append(f"{node.lineno}: {called}")
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name.name}" for name in node.names]
            found += [f"{node.lineno}: {name}" for name in names if name.endswith(UNPICKLES)]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_there_is_no_assert_and_nothing_that_runs_data(path: Path) -> None:
    found = forbidden(path.read_text(encoding="utf-8"))
    if str(path.relative_to(ROOT)) in MAY_UNPICKLE:
        assert any(line.endswith(UNPICKLES) for line in found)
        found = [line for line in found if not line.endswith(UNPICKLES)]
    assert found == []


def test_there_are_sources() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == {"schemas", "dataproto", "contracts"}
    assert len(SOURCES) > 50


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("assert x", ["1: assert"]),
        ("def f():\n    assert x, 'why'", ["2: assert"]),
        ("eval('1')", ["1: eval"]),
        ("exec(text, {})", ["1: exec"]),
        ("pickle.loads(data)", ["1: pickle.loads"]),
        ("cloudpickle.load(file)", ["1: cloudpickle.load"]),
        ("from pickle import loads", ["1: pickle.loads"]),
        ("model.eval()", []),
        ("pickle.dumps(x)", []),
        ("'assert x'", []),
    ],
)
def test_the_search_finds_what_it_looks_for(text: str, found: list[str]) -> None:
    assert forbidden(text) == found
