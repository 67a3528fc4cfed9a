"""Helper functions are followed into their code, with what they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, reading, unasked, undeclared, unset, unused


@pytest.mark.parametrize(
    ("call", "helper", "expected"),
    [
        ("take(data)", 'def take(batch):\n    return batch.batch["z"]', [undeclared("6:24", "read from batch")]),
        ("take(batch=data)", 'def take(batch):\n    batch["z"]', [undeclared("6:11", "read")]),
        ("take(data.batch)", 'def take(td, key="z"):\n    return td[key]', [undeclared("6:15", "read from batch")]),
        ('take("z", data)', "def take(key, data):\n    data.meta_info[key]",
         [undeclared("6:20", "read from meta_info")]),
        ('take(data, "x", "z")', "def take(data, *keys):\n    [data.batch[k] for k in keys]",
         [undeclared("6:17", "read from batch")]),
        ('take(*[data, "z"])', "def take(data, key):\n    data.batch[key]", [undeclared("6:16", "read from batch")]),
        ('take(**{"data": data})', 'def take(data):\n    data.batch["z"]', [undeclared("6:16", "read from batch")]),
        ("take(batch=data)", 'def take(**given):\n    given["batch"].batch["z"]',
         [undeclared("6:26", "read from batch")]),
        ("take(data)", 'def take(data, /, *, key="z"):\n    data.batch[key]', [undeclared("6:16", "read from batch")]),
        ("take([data])", 'def take(batches):\n    for b in batches:\n        b.batch["z"]',
         [undeclared("7:17", "read from batch")]),
        ("take(data)", 'def take(data):\n    return inner(data)\ndef inner(d):\n    return d.batch["z"]',
         [undeclared("8:20", "read from batch")]),
        ('data.batch[name("z")]', 'def name(stem):\n    return f"{stem}_mean"',
         [undeclared("3:16", "read from batch", "z_mean")]),
        ("for part in parts(data):\n        part.batch['z']",
         "def parts(data):\n    yield data[:2]\n    yield from [data[2:]]",
         [undeclared("4:20", "read from batch")]),
        ("take(lambda: data)", 'def take(get):\n    get().batch["z"]', [undeclared("6:17", "read from batch")]),
        ("functools.partial(take, data)('z')", "def take(data, key):\n    data.batch[key]",
         [undeclared("6:16", "read from batch")]),
        ("take(data)", '@torch.no_grad()\ndef take(data):\n    data.batch["z"]',
         [undeclared("7:16", "read from batch")]),
    ],
)  # fmt: skip
def test_a_helper_of_the_module_is_followed(call: str, helper: str, expected: list[str], tmp_path: Path) -> None:
    result = "DataProto.from_dict({'y': data.batch['x']})"
    source = f"@stage(One)\ndef compute(data):\n    {call}\n    return {result}\n{helper}\n"

    if "\n" in call:  # the helper stands a line further down
        source = source.replace("\n    return Data", " \n    return Data")
    assert found(source, tmp_path, undecidable=True) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('def inner():\n    return data.batch["z"]\ninner()', [undeclared("4:27", "read from batch")]),
        ('def inner(key):\n    return data.batch[key]\ninner("z")', [undeclared("4:27", "read from batch")]),
        ('def never_called():\n    return data.batch["z"]', [undeclared("4:27", "read from batch")]),
        ('class Hook:\n    def run(self):\n        return data.batch["z"]', [undeclared("5:31", "read from batch")]),
        ('pool.submit(lambda row: row.batch["z"], data[0])',
         [opaque("3:5", "given to submit, whose code is not read"), undeclared("3:39", "read from batch")]),
        ('model.register(hook=lambda: data.batch["z"])', [undeclared("3:44", "read from batch")]),
        ('def walk(part, depth):\n    return walk(part, depth - 1) if depth else part.batch["z"]\nwalk(data, 9)',
         [undeclared("4:63", "read from batch")]),
        ('def count(key):\n    return data.batch[key] if key == "z" else count("z")\ncount("x")',
         [undeclared("4:27", "read from batch")]),
        ('async def inner():\n    return data.batch["z"]\nasyncio.run(inner())',
         [undeclared("4:27", "read from batch")]),
    ],
)  # fmt: skip
def test_a_function_inside_sees_the_batch(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body, "data, pool=None, model=None"), tmp_path, undecidable=True) == expected


def test_what_a_helper_sets_and_returns_is_followed(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            mark(data, "z")
            return make(y=data.batch["x"], w=1)

        def mark(batch, key):
            batch.batch[key] = 1

        def make(**tensors):
            return DataProto.from_dict(tensors=tensors)
    """
    assert found(source, tmp_path) == [unasked("4:36", "batch", "w")]


def test_a_helper_that_is_called_on_two_ways_sets_its_names_on_both(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            if len(data) > 1:
                mark(data.batch)
                return data
            mark(data.batch)
            data.batch["z"].sum()
            return data

        def mark(batch):
            batch["y"] = batch["z"] = batch["x"]
    """
    assert found(source, tmp_path) == [unasked("11:24", "batch")]


def test_a_function_inside_a_helper_sees_what_the_helper_is_given_this_time(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            take(data.batch, "x")
            take(data.meta_info, "z")
            return DataProto.from_dict({"y": 1})

        def take(store, key):
            def inner():
                return store[key]
            return inner()
    """
    assert found(source, tmp_path) == [undeclared("9:22", "read from meta_info")]


def test_code_that_is_not_read_may_use_every_field_and_set_every_field(tmp_path: Path) -> None:
    source = """
        @stage(Each)
        def compute(data):
            elsewhere.fill(data)
            return data
    """
    assert found(source, tmp_path) == []
    assert found(source, tmp_path, undecidable=True) == [opaque("3:5", "given to fill, whose code is not read")]


def test_code_that_is_given_one_store_may_use_the_fields_of_that_store(tmp_path: Path) -> None:
    source = """
        @stage(Each)
        def compute(data, scale):
            return elsewhere.fill(data.batch, data.meta_info, **data.non_tensor_batch) * scale
    """
    assert found(source, tmp_path) == []
    assert found(source, tmp_path, undecidable=True) == [
        opaque("3:12", "given to fill, whose code is not read"),
        opaque("3:12", "given to fill, whose code is not read", "meta_info"),
    ]


@pytest.mark.parametrize("given", ["[data]", "{'batch': data}", "batch=(1, [data])", "data.batch.get", "*[data]"])
def test_a_batch_inside_something_else_goes_with_it(given: str, tmp_path: Path) -> None:
    source = f"""
        @stage(One)
        def compute(data):
            return elsewhere({given})
    """
    assert found(source, tmp_path, undecidable=True) == [opaque("3:12", "given to a function, whose code is not read")]


def test_a_helper_that_is_called_too_deep_is_not_read(tmp_path: Path) -> None:
    helpers = [f"def helper_{at}(data):\n    return helper_{at + 1}(data)" for at in range(20)]
    source = "\n".join([reading("helper_0(data)"), *helpers, "def helper_20(data):\n    data.batch['z']"])

    assert found(source, tmp_path, undecidable=True) == [
        opaque("29:12", "given to a function that is too far away to be read")
    ]


class TestStages:
    """A stage that calls another one reads what that one declares, and gets what it writes."""

    def test_what_the_other_reads_is_read(self, tmp_path: Path) -> None:
        source = """
            class Other(StageSchema):
                class Reads(BatchSchema):
                    z: PerRow
                    w: PerRow | None = None
                class Writes(BatchSchema):
                    y: PerRow

            @stage
            def other(batch: Other.Reads) -> Other.Writes:
                return Other.Writes(y=batch.z if batch.w is None else batch.w)

            @stage(One)
            def compute(data):
                return other(data)
        """
        assert found(source, tmp_path) == [
            unused("13:5", "x"),
            undeclared("14:12", "read by the stage 'other'"),
        ]

    def test_what_the_other_writes_is_there(self, tmp_path: Path) -> None:
        source = """
            class Worker:
                @stage
                def inner(self, batch: One.Reads) -> One.Writes:
                    return One.Writes(y=batch.x)

                @stage(One)
                def compute(self, data):
                    return DataProto.from_dict({"z": self.inner(data)["y"]})
        """
        assert found(source, tmp_path) == [unset("7:9", "y"), unasked("8:37", "batch")]

    def test_one_that_gives_the_whole_batch_in_other_rows(self, tmp_path: Path) -> None:
        source = """
            class Best(StageSchema):
                rows = "select"
                class Reads(BatchSchema):
                    x: PerRow
                class Writes(BatchSchema):
                    y: PerRow

            @stage
            def best(batch: Best.Reads) -> Best.Writes:
                return from_rows(Best.Writes(y=batch.x[:1]), [0])

            @stage(One)
            def compute(data):
                return best(data).select("y", "z")
        """
        assert found(source, tmp_path) == [undeclared("14:35", "selected")]
