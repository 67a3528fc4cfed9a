"""`select` and `pop` of a DataProto: names of each store, in lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, reading, undeclared


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('data.pop(batch_keys=["x", "z"])', [undeclared("3:31", "popped from batch")]),
        ('data.pop(batch_keys=["z"], non_tensor_batch_keys=["u"], meta_info_keys=["m"])',
         [undeclared("3:26", "popped from batch"), undeclared("3:55", "popped from non_tensor_batch", "u"),
          undeclared("3:77", "popped from meta_info", "m")]),
        ('data.pop(["z"], ["u"], ["m"])',
         [undeclared("3:15", "popped from batch"), undeclared("3:22", "popped from non_tensor_batch", "u"),
          undeclared("3:29", "popped from meta_info", "m")]),
        ('data.select(batch_keys=["z"], deepcopy=True)', [undeclared("3:29", "selected from batch")]),
        ('data.select(meta_info_keys=("z",))', [undeclared("3:33", "selected from meta_info")]),
        ('data.select(batch_keys=None).batch["z"]', [undeclared("3:40", "read from batch")]),
        ('keys = ["x"]\nkeys.append("z")\ndata.select(batch_keys=keys)',
         [undeclared("4:17", "selected from batch")]),
        ('keys = ["x"]\nif len(data):\n    keys += ["z"]\ndata.select(batch_keys=keys)',
         [undeclared("5:18", "selected from batch")]),
        ('data.select(batch_keys=["x"] + ["z"])', [undeclared("3:37", "selected from batch")]),
        ('data.select(batch_keys=list({"z": 1}))', [undeclared("3:34", "selected from batch")]),
        ('data.pop(non_tensor_batch_keys=list(set(data.non_tensor_batch.keys()) - {"uid"}))', []),
    ],
)  # fmt: skip
def test_the_names_in_the_lists_are_looked_for(body: str, expected: list[str], tmp_path: Path) -> None:
    lines = found(reading(body), tmp_path)

    assert [line for line in lines if " uid " not in line] == expected


def test_lists_that_are_computed_cannot_be_told(tmp_path: Path) -> None:
    body = "data.select(batch_keys=keys, meta_info_keys=['z'])"
    expected = [opaque("3:17", "read by a key that is computed"), undeclared("3:50", "selected from meta_info")]

    assert found(reading(body, "data, keys"), tmp_path, undecidable=True) == expected
