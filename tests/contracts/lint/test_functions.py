"""Functions and classes that are known by name: what they make, and what those on a TensorDict look for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, reading, unasked, undeclared, unset


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('tensordicts.get(data, "z")', [undeclared("3:27", "looked for")]),
        ('tensordicts.get(data, key="z", default=0)', [undeclared("3:27", "looked for")]),
        ('tensordicts.get_non_tensor_data(data, "z", None)', [undeclared("3:43", "looked for")]),
        ('tensordicts.get_non_tensor_data(data=data, key="z", default=None)', [undeclared("3:48", "looked for")]),
        ('tensordicts.pop(data, "z", None)', [undeclared("3:27", "popped")]),
        ('tensordicts.get_keys(data, ["x", "z"])', [undeclared("3:38", "selected")]),
        ('tensordicts.pop_keys(data.batch, {"z"})', [undeclared("3:39", "selected from batch")]),
        ('tensordicts.index_select_tensor_dict(data, [0])["z"]', [undeclared("3:53", "read")]),
        ('padded, size = tensordicts.pad_to_divisor(data, 4)\npadded["z"]', [undeclared("4:12", "read")]),
        ('for part in tensordicts.chunk_tensordict(data, 2):\n    part["z"]', [undeclared("4:14", "read")]),
        ('padded, size = pad_dataproto_to_divisor(data, 4)\npadded.batch["z"]',
         [undeclared("4:18", "read from batch")]),
        ('unpad_dataproto(data, 2).batch["z"]', [undeclared("3:36", "read from batch")]),
        ('DataProto.concat([data[:2], data[2:]]).batch["z"]', [undeclared("3:50", "read from batch")]),
        ('tensordicts.unwrap_non_tensor_data(data["z"])', [undeclared("3:45", "read")]),
        ('tensordicts.maybe_fix_3d_position_ids(data)', []),
        ('from verl.utils import tensordict_utils as tu\ntu.get(data, "z")', [undeclared("4:18", "looked for")]),
        ('from verl import DataProto\nDataProto.concat([data]).batch["z"]',
         [undeclared("4:36", "read from batch")]),
    ],
)  # fmt: skip
def test_names_are_found_in_calls(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body), tmp_path, undecidable=True) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ('DataProto.from_dict({"y": x, "z": x})', [unasked("4:41", "batch")]),
        ('DataProto.from_dict(tensors={"y": x}, non_tensors={"z": x})', [unasked("4:63", "non_tensor_batch")]),
        ('DataProto.from_dict({"y": x}, {}, {"z": 1})', [unasked("4:47", "meta_info")]),
        ('DataProto.from_dict(tensors={**{"y": x}, "z": x})', [unasked("4:53", "batch")]),
        ('DataProto.from_dict({name: x for name in ("y", "z")})', [unasked("4:33", "batch")]),
        ('DataProto.from_dict(dict(y=x, z=x))', [unasked("4:42", "batch")]),
        ('DataProto.from_dict({"y": x} | {"z": x})', [unasked("4:44", "batch")]),
        ('DataProto.from_single_dict({"y": x, "z": x})', [unasked("4:48", "the result")]),
        ('DataProto.from_single_dict({"y": x}, meta_info={"z": 1})', [unasked("4:60", "meta_info")]),
        ('DataProto.from_tensordict(TensorDict({"y": x, "z": x}, [4]))', [unasked("4:58", "the result")]),
        ('DataProto(TensorDict({"y": x}, [4]), meta_info={"z": 1})', [unasked("4:60", "meta_info")]),
        ('DataProto(batch=data.batch.select("x"), meta_info={"z": 1})',
         [unset("2:5", "y"), unasked("4:63", "meta_info")]),
        ('TensorDict({"y": x, "z": x}, batch_size=4)', [unasked("4:32", "the result")]),
        ('TensorDict.from_dict({"y": x, "z": x}, batch_size=4)', [unasked("4:42", "the result")]),
        ('tensordicts.get_tensordict({"y": x, "z": x})', [unasked("4:48", "the result")]),
        ('tensordicts.get_tensordict({"y": x}, {"z": 1})', [unasked("4:50", "meta_info")]),
        ('One.Writes(y=x, z=x)', [unasked("4:28", "the result")]),
        ('One.Writes(**{"y": x, "z": x})', [unasked("4:34", "the result")]),
        ('tensordicts.assign_non_tensor(data, y=x, z=x)', [unasked("4:53", "the result")]),
        ('DataProto.concat([DataProto.from_dict({"y": x, "z": x})] * 2)', [unasked("4:59", "batch")]),
        ('DataProto.concat([DataProto.from_dict({"y": x, "z": x})])', [unasked("4:59", "batch")]),
        ('DataProto.from_dict({"y": x, **more})', []),
        ('DataProto.from_dict(*more)', []),
        ('tensordicts.list_of_dict_to_tensordict([{"y": x}])', []),
        ('from_rows(DataProto.from_dict({"y": x, "z": x}), [0])', [unasked("4:51", "batch")]),
        ('(DataProto.from_dict({"y": x, "z": x}), 3)', [unasked("4:42", "batch")]),
    ],
)  # fmt: skip
def test_what_is_made_is_returned(result: str, expected: list[str], tmp_path: Path) -> None:
    source = f"@stage(One)\ndef compute(data, more=None):\n    x = data.batch['x']\n    return {result}\n"

    assert found(source, tmp_path) == expected


def test_single_names_are_set_in_a_tensordict(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            tensordicts.assign_non_tensor_data(data, "y", data["x"])
            tensordicts.assign_non_tensor_stack(data, "z", [])
            tensordicts.union_tensor_dict(data, TensorDict({"w": 1}, [4]))
            return data
    """
    assert found(source, tmp_path) == [
        "3:46 BP073 y set in meta_info; One.Writes declares it in batch; set it there, or declare it in meta_info",
        unasked("4:47", "non_tensor_batch"),
        unasked("5:53", "the result", "w"),
    ]


def test_a_name_that_was_taken_out_is_not_returned(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            data["y"] = data["z"] = data["x"]
            tensordicts.pop_keys(data, ["z"])
            return data
    """
    assert found(source, tmp_path) == []


def test_a_class_that_is_not_known_may_look_at_anything(tmp_path: Path) -> None:
    body = "Loss(data).backward()"
    source = reading(body) + "class Loss:\n    def __init__(self, data):\n        self.data = data\n"

    assert found(source, tmp_path, undecidable=True) == [opaque("3:5", "given to a function, whose code is not read")]
