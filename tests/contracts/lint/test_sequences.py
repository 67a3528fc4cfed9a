"""Lists and sets of names: what is put into them, and what they are compared with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, reading, undeclared


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('keys = []\nkeys.append("z")\n[data.batch[key] for key in keys]', [undeclared("5:17", "read from batch")]),
        ('keys = []\nkeys.insert(0, "z")\n[data.batch[key] for key in keys]', [undeclared("5:17", "read from batch")]),
        ('keys = set()\nkeys.add("z")\ndata.select(batch_keys=keys)', [undeclared("4:14", "selected from batch")]),
        ('keys = ["x"]\nkeys.extend(["z"])\ndata.select(batch_keys=keys)', [undeclared("4:18", "selected from batch")]),
        ('keys = {"x"}\nkeys.update({"z"})\ndata.select(batch_keys=keys)', [undeclared("4:18", "selected from batch")]),
        ('keys = {"x"}.union({"z"})\ndata.select(batch_keys=keys)', [undeclared("3:25", "selected from batch")]),
        ('keys = ["z"]\ndata.batch[keys.pop()]', [undeclared("4:16", "read from batch")]),
        ('keys = ["z"]\ndata.select(batch_keys=keys.copy())', [undeclared("3:13", "selected from batch")]),
        ('{"z"}.issubset(data.batch.keys())', [undeclared("3:6", "looked for in batch")]),
        ('{"z", "x"}.difference(data.batch.keys())', [undeclared("3:6", "looked for in batch")]),
        ('data.batch.keys().isdisjoint({"z"})', [undeclared("3:35", "looked for in batch")]),
        ('data.select(batch_keys=["x", *more])', [opaque("3:17", "read by a key that is computed")]),
        ('keys = ["x"]\nkeys += more\ndata.select(batch_keys=keys)',
         [opaque("5:17", "read by a key that is computed")]),
        ('keys = ["x"]\nkeys[0] = "z"\ndata.select(batch_keys=keys)', [undeclared("5:17", "selected from batch")]),
    ],
)  # fmt: skip
def test_names_are_followed_through_lists_and_sets(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body, "data, more"), tmp_path, undecidable=True) == expected
