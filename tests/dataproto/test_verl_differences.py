"""The page of differences and the tests that show its rows fit together."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.dataproto.verl_differences import DIFFERENCES, read

SHOWN = sorted(Path(__file__).parent.glob("test_verl_differences_*.py"))


def test_every_row_of_the_page_has_all_its_cells() -> None:
    rows = read("DataProto")

    assert len(rows) == len(DIFFERENCES) > 50
    assert all(cell.strip() for row in rows for cell in row)


def test_every_row_is_shown_by_one_test_of_its_name() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SHOWN]
    tests = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef))
    shown = Counter({name: times for name, times in tests.items() if name.startswith("test_")})

    assert shown == Counter(f"test_{id.replace('-', '_')}" for id in DIFFERENCES)
