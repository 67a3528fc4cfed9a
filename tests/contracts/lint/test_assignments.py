"""Assignments: which fields the code sets, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, unasked, undeclared, unset


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('data.batch["y"] = x\n    data.batch["z"] = x', [unasked("5:16", "batch")]),
        ('data["y"] = data["z"] = x', [unasked("4:22", "the result")]),
        ('data.batch["y"], data.meta_info["z"] = x, 1', [unasked("4:37", "meta_info")]),
        ('data.batch["y"]: Tensor = x\n    td = data.batch\n    td["z"] = x', [unasked("6:8", "batch")]),
        ('(data.batch["y"], *data.batch["z"]) = [x, x]', [unasked("4:35", "batch")]),
        ('for key in ("y", "z"):\n        data.batch[key] = x', [unasked("5:20", "batch")]),
        ('data.batch |= {"y": x, "z": x}', [unasked("4:28", "batch")]),
        ('data.batch = TensorDict({"y": x, "z": x}, [4])', [unasked("4:38", "batch")]),
        ('data.batch["y"] = x\n    data.meta_info = {"z": 1}', [unasked("5:23", "meta_info")]),
        ('data.batch["y"] = x\n    data.meta_info = {**data.meta_info, "z": 1}', [unasked("5:41", "meta_info")]),
        ('data.batch["y"] = data.batch["z"] = x\n    del data.batch["z"]', []),
        ('data.batch["y"] = x\n    del data.batch["w"], data.batch["v"]',
         [undeclared("5:20", "deleted from batch", "w"), undeclared("5:37", "deleted from batch", "v")]),
        ('data.batch["y"] = x\n    del (data.batch["w"],)', [undeclared("5:21", "deleted from batch", "w")]),
        ('data.batch["y"] = x\n    data.batch["y"] += data.batch["z"]', [undeclared("5:35", "read from batch")]),
        ('data.batch["y"] = x\n    data.batch["z"] += 1',
         [undeclared("5:16", "read from batch"), unasked("5:16", "batch")]),
        ('data.batch[some_key()] = x', []),
        ('data.batch = some_batch()\n    data.batch["z"].sum()', []),
        ('data.batch = None\n    data.batch["y"] = data.batch["z"]', [undeclared("5:34", "read from batch")]),
        ('rows = data[:2]\n    rows.batch["z"] = x\n    data.batch["y"] = x', []),
        ('data.batch["y"] = x\n    data.batch.batch_size = [4]\n    data.batch["x"][0] = 1', []),
    ],
)  # fmt: skip
def test_a_field_that_is_set_and_returned_has_to_be_declared(body: str, expected: list[str], tmp_path: Path) -> None:
    source = f"@stage(One)\ndef compute(data):\n    x = 2 * data.batch['x']\n    {body}\n    return data\n"

    assert found(source, tmp_path) == expected


def test_what_is_set_and_not_returned_is_scratch(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            data.batch["scratch"] = data.batch["x"]
            data.meta_info["start"] = 1
            return DataProto.from_dict({"y": data.batch["scratch"] * data.meta_info["start"]})
    """
    assert found(source, tmp_path) == []


def test_a_field_of_writes_can_be_set_afterwards(tmp_path: Path) -> None:
    source = """
        @stage
        def compute(batch: One.Reads) -> One.Writes:
            made = One.Writes()
            made.y = made.z = batch.x
            return made
    """
    assert found(source, tmp_path) == [unasked("4:19", "the result")]


def test_a_dict_that_is_filled_bit_by_bit(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            tensors, meta = {}, dict()
            tensors["y"] = data.batch["x"]
            tensors.update(z=1)
            meta["w"] = {}
            meta["w"]["inner"] = 1
            return DataProto.from_dict(tensors, meta_info=meta)
    """
    assert found(source, tmp_path) == [unasked("5:20", "batch"), unasked("6:10", "meta_info", "w")]


def test_a_field_that_is_put_into_a_dict_under_another_name_is_another_one(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            tensors = {"old": data.batch["x"]}
            tensors["y"] = tensors.pop("old")
            return DataProto.from_dict(tensors)
    """
    assert found(source, tmp_path) == []


def test_a_batch_that_is_kept_elsewhere_may_be_used_there(tmp_path: Path) -> None:
    source = """
        class Worker:
            @stage(Each)
            def compute(self, data):
                self.data, cache["meta"] = data, data.meta_info
                return self.work()
    """
    assert found(source, tmp_path) == []
    assert found(source, tmp_path, undecidable=True) == [
        opaque("4:9", "kept in an attribute"),
        opaque("4:26", "kept in something else", "meta_info"),
    ]


def test_a_result_without_what_is_declared(tmp_path: Path) -> None:
    source = """
        @stage(Each)
        def compute(data):
            use(data)
            made = DataProto.from_dict({"total": 1})
            made.meta_info["metrics"] = {}
            return made
    """
    assert found(source, tmp_path) == [unset("2:5", "label", "Each")]
