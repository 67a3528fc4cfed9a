"""Looking for a field of the batch: every spelling of it is found, at the place where its name stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, reading, undeclared


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # the stores
        ('data.batch["z"]', [undeclared("3:16", "read from batch")]),
        ('data.non_tensor_batch["z"]', [undeclared("3:27", "read from non_tensor_batch")]),
        ('data.meta_info["z"]', [undeclared("3:20", "read from meta_info")]),
        ('data["z"]', [undeclared("3:10", "read")]),
        ('data.batch["nested", "inner"]', [undeclared("3:16", "read from batch", "nested")]),
        # what a name may be
        ('batch = data.batch\nbatch["z"]', [undeclared("4:11", "read from batch")]),
        ('get = data.batch.get\nget("z")', [undeclared("4:9", "looked for in batch")]),
        ('key = "z"\ndata.batch[key]', [undeclared("4:16", "read from batch")]),
        ('key = "x" if len(data) else "z"\ndata.batch[key]', [undeclared("4:16", "read from batch")]),
        ('key = None or "z"\ndata.batch[key]', [undeclared("4:16", "read from batch")]),
        ('name = "z"\ndata.batch[f"{name}_mean"]', [undeclared("4:16", "read from batch", "z_mean")]),
        ('data.batch["z" + "_mean"]', [undeclared("3:16", "read from batch", "z_mean")]),
        ('keys = ["x", "z"]\ndata.batch[keys[1]]', [undeclared("4:16", "read from batch")]),
        ('names = {"key": "z"}\ndata.batch[names["key"]]', [undeclared("4:16", "read from batch")]),
        # rows of it are still the batch
        ('data[2:4].batch["z"]', [undeclared("3:21", "read from batch")]),
        ('data[0].non_tensor_batch["z"]', [undeclared("3:30", "read from non_tensor_batch")]),
        ('data[torch.arange(2)].batch["z"]', [undeclared("3:33", "read from batch")]),
        ('rows = data.batch[:2]\nrows["z"]', [undeclared("4:10", "read from batch")]),
        # where an expression can stand
        ('a, b = data.batch["z"], data.batch["x"]', [undeclared("3:23", "read from batch")]),
        ('if (z := data.batch["z"]) is not None:\n    z.sum()', [undeclared("3:25", "read from batch")]),
        ('if (td := data.batch) is not None:\n    td["z"]', [undeclared("4:12", "read from batch")]),
        ('[td["z"] for row in data if (td := row.batch)]\ntd["w"]',
         [undeclared("3:9", "read from batch"), undeclared("4:8", "read from batch", "w")]),
        ('data.batch["z"] if data.meta_info["w"] else None',
         [undeclared("3:16", "read from batch"), undeclared("3:39", "read from meta_info", "w")]),
        ('f = lambda: data.batch["z"]', [undeclared("3:28", "read from batch")]),
        ('f"{len(data.batch)}" + str(data.batch["z"])', [undeclared("3:43", "read from batch")]),
        ('{"a": [data.batch["z"]]}', [undeclared("3:23", "read from batch")]),
        ('torch.stack([*data.batch["z"]])[-data.batch["w"]:]',
         [undeclared("3:30", "read from batch"), undeclared("3:49", "read from batch", "w")]),
        # comprehensions
        ('[data.batch[key] for key in ("z", "x")]', [undeclared("3:17", "read from batch")]),
        ('{key: data.batch[key] for key in ("z",)}', [undeclared("3:22", "read from batch")]),
        ('[key for key in ("x", "z") if data.batch[key].any()]', [undeclared("3:46", "read from batch")]),
        ('[data.batch[f"{a}_{b}"] for a in ("u", "v") for b in ("w",)]',
         [undeclared("3:17", "read from batch", "u_w"), undeclared("3:17", "read from batch", "v_w")]),
        ('[row.batch["z"] for row in data]', [undeclared("3:16", "read from batch")]),
        ('{store[key] for store, key in ((data.batch, "x"), (data.meta_info, "z"))}',
         [undeclared("3:12", "read from meta_info")]),
        # membership
        ('"z" in data.batch', [undeclared("3:5", "looked for in batch")]),
        ('"z" not in data.non_tensor_batch', [undeclared("3:5", "looked for in non_tensor_batch")]),
        ('"z" in data.batch.keys()', [undeclared("3:5", "looked for in batch")]),
        ('"z" in list(data.batch.keys())', [undeclared("3:5", "looked for in batch")]),
        ('all(key in data.batch for key in ["z", "x"])', [undeclared("3:9", "looked for in batch")]),
        ('{"z"} <= set(data.batch.keys())', [undeclared("3:6", "looked for in batch")]),
        ('set(["z"]) & data.batch.keys()', [undeclared("3:10", "looked for in batch")]),
        ('{"z", "x"} - data.batch.keys()', [undeclared("3:6", "looked for in batch")]),
        ('1 < 2 < 3 and "z" in data.batch', [undeclared("3:19", "looked for in batch")]),
    ],
)  # fmt: skip
def test_a_field_that_nothing_declares_is_found(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body), tmp_path) == expected


def test_columns_count_characters_and_not_bytes(tmp_path: Path) -> None:
    assert found(reading('"äöü"; data.batch["z"]'), tmp_path) == [undeclared("3:23", "read from batch")]


class TestReads:
    """An instance of Reads has its fields as attributes."""

    def test_an_attribute_that_is_no_field_is_found(self, tmp_path: Path) -> None:
        source = """
            @stage
            def compute(batch: One.Reads) -> One.Writes:
                return One.Writes(y=batch.x + batch.z)
        """
        assert found(source, tmp_path) == [undeclared("3:41", "read")]

    def test_a_field_has_the_name_of_the_attribute_there_and_its_own_in_the_message(self, tmp_path: Path) -> None:
        source = """
            @stage
            def compute(batch: Each.Reads) -> Each.Writes:
                metrics = {"scale": batch.scale}
                return Each.Writes(total=batch.score * batch.gamma, label=batch.uid, metrics=metrics)
        """
        assert [text.split(" nothing")[0] for text in found(source, tmp_path)] == ["2:5 BP074 __turns__"]

    def test_what_every_schema_has_is_no_field(self, tmp_path: Path) -> None:
        source = """
            @stage
            def compute(batch: One.Reads) -> One.Writes:
                print(type(batch), batch.model_fields, batch.__class__)
                return One.Writes(y=batch.x)
        """
        assert found(source, tmp_path) == []

    @pytest.mark.parametrize(
        "use",
        [
            "batch.__dict__.values()",
            "[value for name, value in batch]",
            "batch.model_dump().values()",
            "dict(batch).values()",
            "elsewhere(batch)",
        ],
    )
    def test_all_of_its_fields_can_be_used_at_once(self, use: str, tmp_path: Path) -> None:
        source = f"""
            @stage
            def compute(batch: One.Reads) -> One.Writes:
                return One.Writes(y=sum({use}))
        """
        assert found(source, tmp_path) == []
