"""`sample`: what a batch holds that was made from a schema, and what is said where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float, Float32, Int64
from pydantic import BaseModel, Field
from torch import Tensor
from typing_extensions import TypedDict

from batchpact.contracts import use_config
from batchpact.contracts.testing import Manner, SampleError, Sampler, sample
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Binary,
    Columns,
    Finite,
    From,
    Group,
    Jagged,
    Key,
    Meta,
    NonTensor,
    Pad,
    SameAs,
    Tag,
    When,
    config,
    meta,
    named_by,
    present,
    rule,
)


class Texts(BatchSchema):
    prompts: Annotated[Int64[Tensor, "batch prompt"], Field(ge=0), Pad(0, side="left")]
    responses: Annotated[Int64[Tensor, "batch response"], Field(ge=0), Pad(0)]
    mask: Annotated[Int64[Tensor, "batch prompt+response"], Binary(), Pad(0, side={"prompt": "left"})]
    score: Annotated[Float32[Tensor, "batch"], Finite(), Field(gt=0, le=1)]
    uid: Annotated[NonTensor[str], Group()]
    key: Annotated[NonTensor[str], Key()]
    values: Float32[Tensor, "batch response"] | None = None


def message(error: pytest.ExceptionInfo[SampleError]) -> str:
    return str(error.value)


# --- sizes --------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_rows_and_the_dims_that_are_asked_for() -> None:
    batch = sample(Texts, batch=3, dims={"prompt": 5, "response": 2}).bind(Texts)

    assert len(batch) == 3
    assert {key: tuple(value.shape) for key, value in batch.batch.items()} == {
        "prompts": (3, 5),
        "responses": (3, 2),
        "mask": (3, 7),
        "score": (3,),
        "values": (3, 2),
    }
    assert len(sample(Texts)) == 4
    assert len(sample(Texts, batch=0).bind(Texts)) == 0


def test_axis_0_may_be_arithmetic_and_a_field_may_say_a_size() -> None:
    class Repeated(BatchSchema):
        n: Annotated[Meta[int], Field(ge=2, le=3)]
        x: Float32[Tensor, "batch*n width//2 4"]

    batch = sample(Repeated, batch=5, dims={"width": 7}).bind(Repeated, dims={"batch": 5, "width": 7})

    assert batch.meta_info["n"] in (2, 3)
    assert tuple(batch.batch["x"].shape) == (5 * batch.meta_info["n"], 3, 4)
    assert len(sample(Repeated, batch=5, dims={"n": 3})) == 15


def test_jagged_fields_share_their_lengths_and_sums_hold_row_by_row() -> None:
    class Ragged(BatchSchema):
        prompts: Annotated[Int64[Tensor, "batch prompt"], Jagged("prompt")]
        responses: Annotated[Int64[Tensor, "batch response"], Jagged("response")]
        input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Jagged("prompt+response")]
        places: Annotated[Int64[Tensor, "batch 4 prompt+response"], Jagged("prompt+response")]

    batch = sample(Ragged, batch=6, seed=1).bind(Ragged)
    lengths = {key: value.offsets().diff().tolist() for key, value in batch.batch.items()}

    assert lengths["input_ids"] == lengths["places"]
    assert lengths["input_ids"] == [sum(parts) for parts in zip(lengths["prompts"], lengths["responses"], strict=True)]
    assert len(set(lengths["prompts"])) > 1
    even = Sampler(Ragged).draw(6, manner=Manner(even=True)).batch.bind(Ragged)
    assert len(set(even.batch["prompts"].offsets().diff().tolist())) == 1
    assert len(sample(Ragged, batch=0).bind(Ragged)) == 0


def test_sizes_that_cannot_agree_are_named() -> None:
    with pytest.raises(SampleError) as error:
        sample(Texts, dims={"response": 5}, overrides={"responses": torch.zeros(4, 6, dtype=torch.int64)})

    assert message(error) == (
        "1 problem where sizes are chosen\n\n"
        "  BP057 sample  response  response is 5 by dims and response is 6 in responses; sizes that agree"
    )


def test_a_dim_that_is_dense_and_ragged_is_named() -> None:
    class Both(BatchSchema):
        x: Annotated[Float32[Tensor, "batch length"], Jagged("length")]
        y: Float32[Tensor, "batch length"]

    with pytest.raises(SampleError, match="length is ragged in x and dense in y; one layout"):
        sample(Both)


# --- values -------------------------------------------------------------------------------------------------------


def test_a_mask_with_a_pad_says_what_is_padding_in_every_field() -> None:
    batch = sample(Texts, batch=32, dims={"prompt": 4, "response": 5}, seed=2)
    mask = batch.batch["mask"]

    assert (mask[:, :4].diff(dim=1) >= 0).all() and (mask[:, 4:].diff(dim=1) <= 0).all()
    assert not mask.all() and mask.any(dim=1).all()
    assert (batch.batch["prompts"][mask[:, :4] == 0] == 0).all()
    assert (batch.batch["responses"][mask[:, 4:] == 0] == 0).all()


def test_keys_differ_and_groups_are_shared() -> None:
    batch = sample(Texts, batch=7)

    assert len(set(batch.non_tensor_batch["key"].tolist())) == 7
    uid = batch.non_tensor_batch["uid"].tolist()
    assert uid == [uid[0], uid[0], uid[2], uid[2], uid[4], uid[4], uid[6]] and len(set(uid)) == 4


def test_keys_that_run_out_are_refused() -> None:
    class Few(BatchSchema):
        side: Annotated[NonTensor[Literal["a", "b"]], Key()]

    assert sorted(sample(Few, batch=2).non_tensor_batch["side"]) == ["a", "b"]
    with pytest.raises(SampleError, match="BP057 sample  side  no 3 rows have different keys; a value to draw"):
        sample(Few, batch=3)


def test_rules_of_one_field_that_exclude_each_other_are_named() -> None:
    class Impossible(BatchSchema):
        mask: Annotated[Int64[Tensor, "batch"], Binary(), Field(ge=2)]

    with pytest.raises(SampleError) as error:
        sample(Impossible)

    assert message(error) == (
        "1 problem where Impossible is sampled\n\n  BP057 sample  mask  no number is binary and >= 2; a value to draw"
    )


@pytest.mark.parametrize("limits", [{"ge": 0.1, "le": 0.1}, {"gt": 0, "lt": 1e-3}, {"ge": 3}, {"lt": -2}])
@pytest.mark.parametrize("half", [False, True])
def test_bounds_hold_in_the_dtype_of_the_field(limits: dict[str, float], half: bool) -> None:
    class Bounded(BatchSchema):
        x: Annotated[Float[Tensor, "batch width"], Finite(), Field(**limits)]

    batch = Sampler(Bounded).draw(8, manner=Manner(bfloat16=half)).batch.bind(Bounded)

    assert batch.batch["x"].dtype is (torch.bfloat16 if half else torch.float32)


class Inner(BaseModel):
    share: Annotated[float, Field(ge=0, le=1)]
    name: str


@dataclass
class Shape:
    sides: int
    labels: list[str]


class Box(TypedDict):
    left: int
    words: tuple[int, ...]


def test_cells_and_meta_have_their_python_types() -> None:
    class Cells(BatchSchema):
        any_: NonTensor[Any]
        model: NonTensor[Inner]
        shape: NonTensor[Shape]
        box: NonTensor[Box]
        choice: NonTensor[Literal["a", 3]]
        mixed: NonTensor[dict[str, list[int | None]]]
        pair: NonTensor[tuple[int, str]]
        even: NonTensor[Annotated[int, Field(ge=1, multiple_of=2)]]
        word: NonTensor[Annotated[str, Field(min_length=12)]]
        seen: Tag[bool]
        figures: Meta[dict[str, float]]

    batch = sample(Cells, batch=9).bind(Cells)

    assert all(each % 2 == 0 for each in batch.non_tensor_batch["even"])
    assert isinstance(batch.non_tensor_batch["model"][0], Inner)


def test_a_type_that_nobody_can_make_is_given() -> None:
    class Secret:
        pass

    class Odd(BatchSchema):
        secret: NonTensor[Secret]

    with pytest.raises(SampleError, match=r"secret  nothing says how a .*Secret is made"):
        sample(Odd)
    assert len(sample(Odd, overrides={"secret": [Secret(), Secret()]}).bind(Odd)) == 2


def test_twins_hold_the_same_values_under_the_rules_of_both() -> None:
    class Twins(BatchSchema):
        mask: Annotated[Float[Tensor, "batch length"], Field(ge=0)]
        copy_: Annotated[Float32[Tensor, "batch 3"], Binary(), SameAs("mask")]

    batch = sample(Twins, overrides={0: {"mask": torch.ones(3)}}).bind(Twins)

    assert torch.equal(batch.batch["mask"], batch.batch["copy_"])
    assert batch.batch["copy_"][0].tolist() == [1, 1, 1]


# --- conditions, arguments, open columns --------------------------------------------------------------------------


class Switched(BatchSchema):
    hard: Meta[bool]
    x: Float32[Tensor, "batch"]
    on: Annotated[Float32[Tensor, "batch"], When(config("switch"))]
    when_hard: Annotated[Float32[Tensor, "batch"], When(meta("hard"))]
    beside: Annotated[Float32[Tensor, "batch"], When(present("on"))]
    rate: Annotated[Meta[float], From("rate")]
    scale: Annotated[Arg[float], Field(ge=2)]


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("hard", [True, False])
def test_conditional_fields_follow_configuration_meta_and_presence(switch: bool, hard: bool) -> None:
    with use_config({"switch": switch, "rate": 0.25}):
        batch = sample(Switched, overrides={"hard": hard})

    there = {"on", "beside"} if switch else set()
    assert set(batch.batch.keys()) == {"x"} | there | ({"when_hard"} if hard else set())
    assert batch.meta_info == {"hard": hard, "rate": 0.25}


def test_arguments_go_with_the_call_and_never_enter_the_batch() -> None:
    batch, args = Sampler(Switched).draw()

    assert args.keys() == {"scale"} and args["scale"] >= 2
    assert "scale" not in batch.meta_info
    assert Sampler(Switched, overrides={"scale": 7.5}).draw().args == {"scale": 7.5}


def test_a_field_that_is_off_cannot_be_given() -> None:
    with use_config({"switch": False}), pytest.raises(SampleError, match="on  it is given; it is there if switch"):
        sample(Switched, overrides={"on": torch.zeros(4)})


def test_open_columns_have_the_names_that_meta_or_the_configuration_says() -> None:
    class Open(BatchSchema):
        names: Meta[list[str]]
        scores: Columns[NonTensor[float]] = named_by(meta("names"))
        parts: Columns[Float32[Tensor, "batch"]] = named_by(config("parts"))

    with use_config({"parts": ["p"]}):
        batch = sample(Open).bind(Open)
        given = sample(Open, overrides={"names": ["acc"], "acc": [0.5, 1.0]}).bind(Open)

    assert {*batch.non_tensor_batch} == {*batch.meta_info["names"]} and len(batch.non_tensor_batch) == 2
    assert [*batch.batch.keys()] == ["p"]
    assert given.non_tensor_batch["acc"].tolist() == [0.5, 1.0]
    with pytest.raises(SampleError, match="BP056 columns  parts"):
        sample(Open)


def test_a_meta_value_that_is_declared_nowhere_may_name_columns() -> None:
    class Open(BatchSchema):
        x: Float32[Tensor, "batch"]
        scores: Columns[NonTensor[float]] = named_by(meta("names"))
        others: Columns[NonTensor[float]] = named_by(meta("more", default=[]))

    batch = sample(Open).bind(Open)

    assert {*batch.non_tensor_batch} == {*batch.meta_info["names"]} and "more" not in batch.meta_info
    given = sample(Open, overrides={"more": ["acc"]}).bind(Open)
    assert "acc" in given.non_tensor_batch


def test_a_field_of_several_placements_stands_in_any_of_them_or_where_it_is_given() -> None:
    class Either(BatchSchema):
        x: Float32[Tensor, "batch"]
        heat: Annotated[Meta[float] | Float32[Tensor, "batch"], Field(gt=0)]

    drawn = [sample(Either, seed=seed).bind(Either) for seed in range(12)]

    assert {"heat" in batch.meta_info for batch in drawn} == {True, False}
    assert sample(Either, overrides={"heat": 0.5}).bind(Either).meta_info == {"heat": 0.5}
    assert "heat" in sample(Either, overrides={"heat": torch.ones(3)}).bind(Either).batch.keys()


def test_axes_without_a_name_are_drawn_and_fit_together() -> None:
    class Loose(BatchSchema):
        x: Float32[Tensor, "batch _ *inner"]
        y: Float32[Tensor, "batch 2 *inner"]
        z: Float32[Tensor, "batch ... 3"]

    shapes = []
    for seed in range(12):
        batch = sample(Loose, seed=seed).bind(Loose)
        shapes.append(batch.batch["x"].dim())
        assert batch.batch["x"].shape[2:] == batch.batch["y"].shape[2:]

    assert set(shapes) == {2, 3}


# --- overrides ----------------------------------------------------------------------------------------------------


def test_what_is_given_stays_as_it_is_and_the_rest_follows() -> None:
    given = torch.full((6, 3), 7)
    batch = sample(Texts, overrides={"responses": given, "uid": [*"aabbcc"], "values": None, 2: {"key": "me"}}).bind(
        Texts
    )

    assert batch.batch["responses"] is given or torch.equal(batch.batch["responses"], given)
    assert batch.non_tensor_batch["uid"].tolist() == [*"aabbcc"]
    assert batch.non_tensor_batch["key"][2] == "me"
    assert batch.batch["mask"].shape[1] == batch.batch["prompts"].shape[1] + 3
    assert "values" not in batch.batch.keys()


def test_a_row_of_a_jagged_field_brings_its_length() -> None:
    class Ragged(BatchSchema):
        x: Annotated[Float32[Tensor, "batch length"], Jagged("length")]
        y: Annotated[Float32[Tensor, "batch length"], Jagged("length")]

    batch = sample(Ragged, overrides={1: {"x": torch.ones(9)}}).bind(Ragged)

    assert batch.batch["x"][1].tolist() == [1.0] * 9
    assert len(batch.batch["y"][1]) == 9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"score": torch.full((4,), 2.0)}, "BP021 values  score  4 elements in rows 0"),
        ({"score": torch.ones(4, dtype=torch.float64)}, "BP005 dtype"),
        ({"responses": [1, 2, 3, 4]}, "responses"),
        ({"key": [*"aabb"]}, "BP023"),
        (
            {"scores": torch.ones(4)},
            r"scores  it is given, and declared nowhere; a field of the schema; closest name: 'score'",
        ),
        ({9: {"key": "x"}}, "row 9 of 4; a row of the sample; rows count from 0"),
        ({0: "x"}, "row 0  str; a mapping from keys to the values of this row"),
        ({1.5: {"key": "x"}}, "1.5  float 1.5 is no key; the key of a field, or the number of a row"),
        ({"key": [*"abcd"], 0: {"key": "e"}}, "it is given as a whole, and by rows; one of the two"),
        ({1: {"responses": torch.ones(2)}}, r"row 1 is f32\[2\]; i64\[2\], a tensor without its batch axis"),
        ({"key": "abcd"}, "it is given as a str; a tensor, or a list or an array with one object per row"),
    ],
)
def test_an_override_that_does_not_fit_is_refused(given: Any, words: str) -> None:
    with pytest.raises(SampleError, match=words):
        sample(Texts, overrides=given)


def test_an_unknown_dim_and_what_is_no_schema_are_refused() -> None:
    with pytest.raises(SampleError, match="dims  it has no dim responses; its dims are batch, prompt and response"):
        sample(Texts, dims={"responses": 3})
    with pytest.raises(SampleError, match="schema  DataProto is no BatchSchema; the Reads or the Writes of a stage"):
        from batchpact.dataproto import DataProto

        sample(DataProto)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-1, 2.0, "2"])
def test_numbers_of_rows_and_sizes_are_whole(number: Any) -> None:
    with pytest.raises(SampleError, match=f"batch  it is {number!r}; a whole number, 0 or more"):
        sample(Texts, number)
    with pytest.raises(SampleError, match=rf"dims\['response'\]  it is {number!r}; a whole number, 0 or more"):
        sample(Texts, dims={"response": number})


def test_one_value_for_the_batch_is_not_given_by_rows() -> None:
    class Scaled(BatchSchema):
        score: Float32[Tensor, "batch"]
        scale: Meta[float]

    with pytest.raises(SampleError, match="scale  it is given by rows; one value for the batch, under its key"):
        sample(Scaled, overrides={0: {"scale": 2.0}})


def test_other_fields_do_not_depend_on_an_override() -> None:
    plain, given = sample(Texts), sample(Texts, overrides={"uid": [*"abcd"]})

    assert torch.equal(plain.batch["prompts"], given.batch["prompts"])
    assert plain != given


# --- manners ------------------------------------------------------------------------------------------------------


def test_a_manner_lays_a_sample_out() -> None:
    drawn = Sampler(Texts).draw(manner=Manner(without=frozenset({"values", "score"}), strided=True, reordered=True))
    batch = drawn.batch.bind(Texts)

    assert set(batch.batch.keys()) == {"prompts", "responses", "mask", "score"}
    assert not any(value.is_contiguous() for value in batch.batch.values())
    assert [*batch.batch.keys(), *batch.non_tensor_batch] != ["prompts", "responses", "mask", "score", "uid", "key"]


def test_numeric_arrays_are_columns_too() -> None:
    class Counted(BatchSchema):
        turns: Annotated[NonTensor[int], Field(ge=0)]

    batch = sample(Counted, overrides={"turns": np.arange(3)}).bind(Counted)

    assert batch.non_tensor_batch["turns"].dtype == np.int64


# --- rules over several fields: more in test_satisfying.py --------------------------------------------------------


def test_rows_are_drawn_until_a_rule_holds() -> None:
    class Ordered(BatchSchema):
        low: Annotated[Int64[Tensor, "batch"], Field(ge=0, le=9)]
        high: Annotated[Int64[Tensor, "batch"], Field(ge=0, le=9)]

        @rule
        def low_is_below_high(self) -> Tensor:
            return self.low < self.high

    batch = sample(Ordered, batch=30).bind(Ordered)

    assert (batch.batch["low"] < batch.batch["high"]).all()
