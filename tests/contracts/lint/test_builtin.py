"""Python's own functions: batches and names go through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, reading, unasked, undeclared, unset


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('getattr(data, "batch")["z"]', [undeclared("3:28", "read from batch")]),
        ('for i, key in enumerate(["z"]):\n    data.batch[key]', [undeclared("4:20", "read from batch")]),
        ('for key, store in zip(["x", "z"], [data.batch, data.meta_info]):\n    store[key]',
         [undeclared("4:15", "read from meta_info")]),
        ('for key in sorted({"z"}):\n    data.batch[key]', [undeclared("4:20", "read from batch")]),
        ('data.batch[next(iter(["z"]))]', [undeclared("3:16", "read from batch")]),
        ('list(map(lambda key: data.batch[key], ["z"]))', [undeclared("3:37", "read from batch")]),
        ('list(filter(lambda key: data.batch[key].any(), ["z"]))', [undeclared("3:40", "read from batch")]),
        ('copy.deepcopy(data).batch["z"]', [undeclared("3:31", "read from batch")]),
        ('dict(data.meta_info)["z"]', [undeclared("3:26", "read from meta_info")]),
        ('dict(data.meta_info, w=1)["w"]', []),
        ('cast("DataProto", data).batch["z"]', [undeclared("3:35", "read from batch")]),
        ('max(len(data), 1), isinstance(data, DataProto), print(data), repr(data.batch)', []),
        ('functools.partial(data.batch.get, "z")()', [opaque("3:5", "given to partial, whose code is not read")]),
    ],
)  # fmt: skip
def test_names_are_found_in_calls(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body), tmp_path, undecidable=True) == expected


def test_attributes_of_reads_and_writes_by_name(tmp_path: Path) -> None:
    source = """
        @stage
        def compute(batch: One.Reads) -> One.Writes:
            made = One.Writes(y=getattr(batch, "x"))
            for name in ("z", "w"):
                if hasattr(batch, name):
                    setattr(made, name, 2 * getattr(batch, name))
            return made
    """
    assert found(source, tmp_path) == [
        undeclared("5:27", "looked for", "w"),
        undeclared("5:27", "looked for"),
        unasked("6:27", "the result", "w"),
        unasked("6:27", "the result"),
        undeclared("6:52", "read", "w"),
        undeclared("6:52", "read"),
    ]


def test_all_attributes_of_reads(tmp_path: Path) -> None:
    source = """
        @stage
        def compute(batch: One.Reads) -> One.Writes:
            return One.Writes(y=sum(vars(batch).values()))
    """
    assert found(source, tmp_path) == []


def test_an_attribute_whose_name_is_computed_cannot_be_told(tmp_path: Path) -> None:
    source = """
        @stage
        def compute(batch: One.Reads) -> One.Writes:
            return One.Writes(y=getattr(batch, name_of()))
    """
    assert found(source, tmp_path, undecidable=True) == [
        opaque("3:40", "read by a key that is computed"),
    ]


@pytest.mark.parametrize("kind", ["type(data)", "type(data.batch)"])
def test_the_type_of_a_batch_makes_one(kind: str, tmp_path: Path) -> None:
    source = f"""
        @stage(One)
        def compute(data):
            tensors = {{"w": data.batch["x"]}}
            return {kind}(tensors)
    """
    where = "batch" if kind == "type(data)" else "the result"

    assert found(source, tmp_path) == [unset("2:5", "y"), unasked("3:16", where, "w")]
