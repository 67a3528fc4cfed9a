"""The record is plain data with one canonical JSON form."""

import json
import math
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
    Fill,
    FillSpec,
    Finite,
    From,
    Group,
    Jagged,
    Key,
    Merge,
    MergeSpec,
    Meta,
    Name,
    NonTensor,
    Pad,
    PadSpec,
    PipelineSpec,
    PlaceSpec,
    Repeat,
    RowsSpec,
    SchemaSpec,
    StageSchema,
    StageSpec,
)
from batchpact.schemas.record import Record, named


class Image(BaseModel):
    width: int


class Config:
    pass


def policy_of(key: str) -> Merge:
    return Merge("mean")


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
        limit: Arg[float] = math.inf
        uid: Annotated[NonTensor[str], Key(), Pad("")]
        source: Annotated[NonTensor[str | None], Group(), Fill(None)] | None = None
        logits: (
            Annotated[Float32[Tensor, "batch prompt"], Pad(-math.inf, {"prompt": "left"}), Fill(math.nan)] | None
        ) = None
        timing: Annotated[Meta[dict[str, float]], Merge.by_key(policy_of)]
        loss: Annotated[Meta[float], Merge.close(0.5)]

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


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (MergeSpec(how="mean"), '{"how": "mean"}'),
        (MergeSpec(how="close", rtol=0.5), '{"how": "close", "rtol": 0.5}'),
        (MergeSpec(how="by_key", policy_of="m.f"), '{"how": "by_key", "policy_of": "m.f"}'),
        (PadSpec(value=0), '{"side": "right", "value": 0}'),
        (PadSpec(value=0.0, side="left"), '{"side": "left", "value": 0.0}'),
        (
            PadSpec(value=False, side={"b": "left", "a": "right"}),
            '{"side": {"a": "right", "b": "left"}, "value": false}',
        ),
        (PadSpec(value=None), '{"side": "right"}'),
        (FillSpec(value="none"), '{"value": "none"}'),
        (FillSpec(value=None), "{}"),
    ],
    ids=repr,
)
def test_the_canonical_form_of_a_policy_keeps_its_value_as_it_is(record: Record, text: str) -> None:
    assert record.canonical() == text
    back = type(record).model_validate_json(text)
    assert (back, back.canonical()) == (record, text)


def test_policies_stand_in_the_canonical_form_where_a_field_has_any() -> None:
    fields = {field["key"]: field for field in json.loads(SPEC.reads.canonical())["fields"]}
    names = ("merge", "pad", "fill", "role")

    assert {key: found for key, field in fields.items() if (found := {n: field[n] for n in names if n in field})} == {
        "uid": {"role": "key", "pad": {"value": "", "side": "right"}},
        "source": {"role": "group", "fill": {}},
        "logits": {"pad": {"value": "-inf", "side": {"prompt": "left"}}, "fill": {"value": "nan"}},
        "timing": {"merge": {"how": "by_key", "policy_of": f"{__name__}.policy_of"}},
        "loss": {"merge": {"how": "close", "rtol": 0.5}},
    }


def test_the_canonical_form_is_json_without_the_names_that_python_adds() -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    limit = next(
        field
        for field in json.loads(SPEC.reads.canonical(), parse_constant=refuse)["fields"]
        if field["key"] == "limit"
    )
    assert limit["default"] == "inf"


def test_infinity_and_nan_have_names_wherever_they_stand() -> None:
    assert named([math.inf, {"a": -math.inf, "b": [math.nan]}]) == ["inf", {"a": "-inf", "b": ["nan"]}]
    for value in (None, True, 0, 0.5, "inf", [1], {"a": 1}):
        assert named(value) == value  # type: ignore[arg-type]


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
