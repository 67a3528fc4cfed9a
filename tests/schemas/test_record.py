"""The record is plain data with one canonical JSON form."""

import json
from typing import Annotated, Any, Literal

import pytest
from jaxtyping import Float32, Int64
from pydantic import BaseModel, Field, ValidationError
from torch import Tensor

from batchpact.schemas import (
    Arg,
    BatchSchema,
    Binary,
    FieldSpec,
    Finite,
    From,
    Jagged,
    Meta,
    Name,
    NonTensor,
    PipelineSpec,
    PlaceSpec,
    Repeat,
    RowsSpec,
    SchemaSpec,
    StageSchema,
    StageSpec,
)
from batchpact.schemas.record import Record


class Image(BaseModel):
    width: int


class Config:
    pass


class Everything(StageSchema):
    """A stage with a field of every kind, for ä and 中 too."""

    rows = Repeat("rollout.n")
    drops = ("timing",)

    class Reads(BatchSchema):
        prompts: Annotated[Int64[Tensor, "batch length"], Jagged("length"), Field(ge=0, description="größer als 0")]
        mask: Annotated[Int64[Tensor, "batch prompt"], Binary()]
        scores: Annotated[Float32[Tensor, "batch prompt"], Finite()] | None = None
        num_turns: Annotated[NonTensor[int], Name("__num_turns__")]
        images: NonTensor[list[Image]]
        mode: Meta[Literal["train", "test"]] = "train"
        config: Meta[Config]
        anything: Meta[Any]
        odd: Arg[object] = Config()
        gamma: Annotated[Arg[float], From("algorithm.gamma")] = 0.99

    class Writes(BatchSchema):
        values: Float32[Tensor, "batch prompt"] | Meta[float]


SPEC = Everything.__batchpact__
PIPELINE = PipelineSpec(name="grpo", inputs=SPEC.reads, outputs=("metrics",), stages=(SPEC, SPEC))


@pytest.mark.parametrize("record", [SPEC, SPEC.reads, SPEC.reads.fields[0], SPEC.rows, PIPELINE], ids=type)
def test_a_record_reads_back_from_its_canonical_form(record: Record) -> None:
    assert type(record).model_validate_json(record.canonical()) == record


def test_the_canonical_form_has_sorted_keys_and_no_absent_values() -> None:
    place = PlaceSpec(placement="tensor", dtype="float32", dtypes=("float32",), dims="batch", layout="dense")

    assert place.canonical() == (
        '{"dims": "batch", "dtype": "float32", "dtypes": ["float32"], "layout": "dense", "placement": "tensor"}'
    )


def test_the_canonical_form_is_sorted_on_every_level() -> None:
    def check(value: object) -> None:
        if isinstance(value, dict):
            assert list(value) == sorted(value)
            for inner in value.values():
                check(inner)
        if isinstance(value, list):
            for inner in value:
                check(inner)

    check(json.loads(PIPELINE.canonical()))


def test_the_canonical_form_holds_no_addresses_and_keeps_words_as_they_are() -> None:
    text = PIPELINE.canonical()

    assert " at 0x" not in text
    assert "größer als 0" in text
    assert "<" not in text


def test_two_equal_declarations_have_one_canonical_form() -> None:
    def declare() -> StageSpec:
        class Twin(StageSchema):
            """One declaration, made twice."""

            class Reads(BatchSchema):
                scores: Annotated[Float32[Tensor, "batch  response"], Finite(), Field(ge=0, le=1)]
                odd: Arg[object] = Config()

        return Twin.__batchpact__

    first, second = declare(), declare()

    assert first == second
    assert first.canonical() == second.canonical()


def test_spelling_that_means_the_same_has_one_record() -> None:
    class One(BatchSchema):
        scores: Annotated[Float32[Tensor, "batch response"], Finite()]

    class Other(BatchSchema):
        scores: Annotated[Annotated[Float32[Tensor, " batch  response "], "a note"], Finite()]

    assert One.__batchpact__.spec.fields == Other.__batchpact__.spec.fields


def test_a_different_default_is_a_different_record() -> None:
    class One(BatchSchema):
        gamma: Arg[float] = 0.99

    class Other(BatchSchema):
        gamma: Arg[float] = 0.9

    assert One.__batchpact__.spec.fields != Other.__batchpact__.spec.fields


def test_records_are_frozen_and_closed() -> None:
    place = PlaceSpec(placement="meta", type="float")

    with pytest.raises(ValidationError):
        place.type = "int"
    with pytest.raises(ValidationError):
        PlaceSpec(placement="meta", colour="red")  # type: ignore[call-arg]
    assert hash(place) == hash(PlaceSpec(placement="meta", type="float"))


def test_a_field_tells_how_it_is_declared_in_a_placement() -> None:
    (values,) = SPEC.writes.fields
    tensor, meta = values.places

    assert values.place("tensor") is tensor
    assert values.place("meta") is meta
    assert values.place("non_tensor") is None


def test_a_schema_finds_fields_by_their_key() -> None:
    schema = SchemaSpec(
        name="Reads",
        qualname="m.Reads",
        fields=(FieldSpec(name="turns", key="__turns__", places=(PlaceSpec(placement="meta", type="int"),)),),
    )

    assert schema.field("__turns__") is schema.fields[0]
    assert schema.field("turns") is None


def test_rows_print_as_they_are_declared() -> None:
    assert str(RowsSpec(kind="select")) == "select"
    assert str(RowsSpec(kind="repeat", times=4)) == "repeat(4)"
