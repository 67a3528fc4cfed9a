"""Which parameter of a function is the batch, and what the others are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, opaque, undeclared, unused

READ_Z = [undeclared("3:34", "read from batch")]


@pytest.mark.parametrize(
    "signature",
    [
        "b",
        "b, other",
        "b: DataProto, other: DataProto",
        "other: dict, b: DataProto",
        'other, b: "DataProto"',
        'other: int, b: "DataProto | None" = None',
        "other, b",
        "other, *, b",
        "other, b: object",
    ],
)
def test_the_batch_is_found_by_its_annotation_or_its_use(signature: str, tmp_path: Path) -> None:
    source = f"""
        @stage(One)
        def compute({signature}):
            x = b.batch["x"] + b.batch["z"]
            return DataProto.from_dict({{"y": x + len(other) if len({{}}) else x}})
    """
    source = source if "other" in signature else source.replace("len(other)", "1")
    expected = [] if signature == "other, b: object" else [undeclared("3:32", "read from batch")]
    lines = found(source, tmp_path)

    assert lines == (expected or [unused("2:5", "x")])


@pytest.mark.parametrize("annotation", ["One.Reads", '"One.Reads"', "declared.One.Reads", "Alias"])
def test_reads_are_found_by_their_annotation(annotation: str, tmp_path: Path) -> None:
    source = f"""
        from tests.contracts.lint import declared
        Alias = One.Reads
        @stage
        def compute(other: int, batch: {annotation}) -> One.Writes:
            return One.Writes(y=batch.x + batch.z)
    """
    # an alias says nothing of the class; the first parameter is taken then
    if annotation == "Alias":
        source = source.replace("other: int, ", "")

    assert found(source, tmp_path) == [undeclared("5:41", "read")]


def test_an_element_by_a_string_tells_a_batch_from_other_parameters(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(config, td):
            return TensorDict({"y": td["x"] * config.scale}, [4])
    """
    assert found(source, tmp_path) == []


def test_a_batch_without_a_parameter_of_its_own_cannot_be_followed(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(*args, **kwargs):
            return elsewhere(*args, **kwargs)
    """
    assert found(source, tmp_path) == []
    assert found(source, tmp_path, undecidable=True) == [opaque("2:5", "taken by a parameter without a name")]


def test_rows_of_a_dataproto_may_be_chosen_by_anything(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data, rows):
            return DataProto.from_dict({"y": data[rows].batch["x"]})
    """
    assert found(source, tmp_path, undecidable=True) == []


def test_an_element_of_a_tensordict_may_be_a_field(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data: TensorDict, key):
            return TensorDict({"y": data[key]}, [4])
    """
    assert found(source, tmp_path, undecidable=True) == [opaque("3:34", "read by a key that is computed")]


def test_a_parameter_with_a_default_may_have_it(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data, key="z"):
            return DataProto.from_dict({"y": data.batch["x"] * data.batch[key]})
    """
    assert found(source, tmp_path) == [undeclared("3:67", "read from batch")]
