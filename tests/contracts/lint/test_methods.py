"""Methods of a batch and of its stores: which names they look for, and what they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, reading, unasked, undeclared, unset


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('data.batch.get("z")', [undeclared("3:20", "looked for in batch")]),
        ('data.batch.get("z", None)', [undeclared("3:20", "looked for in batch")]),
        ('data.batch.get(key="z", default=0)', [undeclared("3:20", "looked for in batch")]),
        ('data.get("z")', [undeclared("3:14", "looked for")]),
        ('data.meta_info.pop("z", None)', [undeclared("3:24", "popped from meta_info")]),
        ('data.batch.del_("z")', [undeclared("3:21", "popped from batch")]),
        ('data.meta_info.setdefault("z", 1)', [undeclared("3:31", "looked for in meta_info")]),
        ('data.batch.rename_key_("z", "w")', [undeclared("3:28", "read from batch")]),
        ('data.rename("z", "w")', [undeclared("3:17", "read from batch")]),
        ('data.rename(["x", "z"], ["w", "v"])', [undeclared("3:23", "read from batch")]),
        ('data.batch.select("x", "z")', [undeclared("3:28", "selected from batch")]),
        ('data.select("x", "z")', [undeclared("3:22", "selected")]),
        ('data.batch.select(*["z"])', [undeclared("3:25", "selected from batch")]),
        # what they give is the batch, still
        ('data.to("cpu").batch["z"]', [undeclared("3:26", "read from batch")]),
        ('data.select_idxs([0]).repeat(2).batch["z"]', [undeclared("3:43", "read from batch")]),
        ('data.batch.to("cpu").clone()["z"]', [undeclared("3:34", "read from batch")]),
        ('data.batch.exclude("x")["z"]', [undeclared("3:29", "read from batch")]),
        ('data.to_tensordict()["z"]', [undeclared("3:26", "read")]),
        ('for part in data.chunk(2):\n    part.batch["z"]', [undeclared("4:20", "read from batch")]),
        ('first, *rest = data.split(2)\nfirst.batch["z"]\nrest[0].batch["w"]',
         [undeclared("4:17", "read from batch"), undeclared("5:19", "read from batch", "w")]),
        ('for part in data.make_iterator(2, 1):\n    part.batch["z"]', [undeclared("4:20", "read from batch")]),
        # every name of a store
        ('for key, value in data.batch.items():\n    data.batch[key]', []),
        ('for value in data.batch.values():\n    value.sum()', []),
        ('data.batch.print_size()\ndata.check_consistency()\nlen(data.batch.keys())', []),
    ],
)  # fmt: skip
def test_names_are_found_in_calls(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body), tmp_path, undecidable=True) == expected


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        ('data.batch.update({"y": x, "z": x})', "data", [unasked("4:32", "batch")]),
        ('data.meta_info.update(z=3)', "data", [unasked("4:27", "meta_info"), unset("2:5", "y")]),
        ('data.batch.set("z", x).set("y", x)', "data", [unasked("4:20", "batch")]),
        ('data.meta_info.update([("z", 1)])\ndata.batch["y"] = x', "data", [unasked("4:29", "meta_info")]),
        ('data.batch["w"] = x\ndata.batch.rename_key_("w", "y")', "data", []),
        ('data.batch["w"] = x\ndata.rename("w", "z")', "data", [unasked("5:22", "batch"), unset("2:5", "y")]),
        ('data.batch["y"] = data.batch["z"] = x', "data.batch.select('y')", []),
        ('data.batch["y"] = data.batch["z"] = x', "data.batch.exclude('z')", []),
        ('data.batch["y"] = data.batch["z"] = x', "data.select(batch_keys=['y'])", []),
        ('data.batch["y"] = data.batch["z"] = x', "data.pop(batch_keys=['y'])", []),
        ('data.batch["y"] = data.batch["z"] = x\ndata.batch.pop("z")', "data", []),
        ('data.batch["y"] = data.batch["z"] = x\ndata.pop(batch_keys=["z"])', "data", []),
        ('other = DataProto.from_dict({"y": x, "z": x})', "data.union(other)", [unasked("4:42", "batch")]),
        ('other = TensorDict({"y": x, "z": x}, [4])', "data.union(other)", [unasked("4:33", "the result")]),
        ('data.union(compute_elsewhere())', "data", []),
        ('data.batch["z"] = x\nrows = data[:2]\nrows.batch["y"] = x\nrows.batch.pop("z")', "rows", []),
        ('rows = data[:2]\ndata.batch["z"] = x\nrows.batch["y"] = x', "rows", []),
    ],
)  # fmt: skip
def test_what_a_method_sets_is_returned(body: str, result: str, expected: list[str], tmp_path: Path) -> None:
    lines = body.replace("\n", "\n    ")
    source = f"@stage(One)\ndef compute(data):\n    x = data.batch['x']\n    {lines}\n    return {result}\n"

    assert sorted(found(source, tmp_path)) == sorted(expected)


def test_a_method_that_is_not_known_may_look_at_anything(tmp_path: Path) -> None:
    expected = [opaque("3:5", "given to its method to_somewhere")]

    assert found(reading("data.to_somewhere()"), tmp_path, undecidable=True) == expected


def test_a_tensordict_hands_all_of_its_fields_to_a_method_that_is_not_known(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            return DataProto.from_dict({"y": data.batch.sum(dim="feature")})
    """
    assert found(source, tmp_path, undecidable=True) == []


def test_a_tensor_that_may_be_the_one_that_was_read_may_be_returned(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            x = data.batch["x"].to("cpu").contiguous()
            return DataProto.from_dict({"x": x, "y": x.mean(0)})
    """
    assert found(source, tmp_path) == []
