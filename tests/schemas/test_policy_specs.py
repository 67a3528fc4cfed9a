"""Policies in the record and in the compiled schema."""

import math
from typing import Annotated, Any

import pytest
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import (
    Arg,
    BatchSchema,
    FieldSpec,
    Fill,
    FillSpec,
    Finite,
    Group,
    Key,
    Merge,
    MergeSpec,
    Meta,
    Name,
    NonTensor,
    Pad,
    PadSpec,
)
from batchpact.schemas.policy_specs import Policies

Ids = Int64[Tensor, "batch prompt+response"]
Scores = Float32[Tensor, "batch response"]
Padded = Annotated[Scores, Pad(0.0, "left")]


def policy_of(key: str) -> Merge:
    return Merge("max" if key.endswith("/max") else "mean")


def field(annotation: Any, default: object = ...) -> FieldSpec:
    class Reads(BatchSchema):
        x: annotation = default

    return Reads.__batchpact__.spec.fields[0]


# --- the record -------------------------------------------------------------------------------------------------------


def test_a_field_without_policies_has_none_in_the_record() -> None:
    spec = field(Scores)

    assert (spec.merge, spec.pad, spec.fill, spec.role) == (None, None, None, None)


@pytest.mark.parametrize(
    ("merge", "record"),
    [
        (Merge(), MergeSpec(how="equal")),
        (Merge("set_union"), MergeSpec(how="set_union")),
        (Merge.close(0.25), MergeSpec(how="close", rtol=0.25)),
        (Merge.close(0), MergeSpec(how="close", rtol=0.0)),
        (Merge.by_key(policy_of), MergeSpec(how="by_key", policy_of=f"{__name__}.policy_of")),
        (Merge.by_key(lambda _: Merge("sum")), MergeSpec(how="by_key", policy_of=f"{__name__}.<lambda>")),
    ],
    ids=lambda value: value.how,
)
def test_merge_is_recorded_with_a_function_by_its_name(merge: Merge, record: MergeSpec) -> None:
    assert field(Annotated[Meta[dict[str, float]], merge]).merge == record


@pytest.mark.parametrize(
    ("pad", "record"),
    [
        (Pad(0), PadSpec(value=0, side="right")),
        (Pad(-1, "left"), PadSpec(value=-1, side="left")),
        (Pad(1, {"prompt": "left"}), PadSpec(value=1, side={"prompt": "left"})),
        (
            Pad(1, {"prompt": "left", "response": "right"}),
            PadSpec(value=1, side={"prompt": "left", "response": "right"}),
        ),
    ],
    ids=repr,
)
def test_pad_is_recorded_with_its_side(pad: Pad, record: PadSpec) -> None:
    assert field(Annotated[Ids, pad]).pad == record


@pytest.mark.parametrize(
    ("value", "record"), [(-math.inf, "-inf"), (math.inf, "inf"), (math.nan, "nan"), (-1e30, -1e30)], ids=str
)
def test_infinity_and_nan_are_recorded_by_name(value: float, record: object) -> None:
    assert field(Annotated[Scores, Pad(value)]).pad == PadSpec(value=record, side="right")  # type: ignore[arg-type]
    assert field(Annotated[Scores, Fill(value)] | None, None).fill == FillSpec(value=record)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, 1.5, True, False, "", "none", None], ids=repr)
def test_the_value_of_a_column_is_recorded_as_it_is(value: Any) -> None:
    pad = field(Annotated[NonTensor[Any], Pad(value)]).pad
    fill = field(Annotated[NonTensor[Any], Fill(value)] | None, None).fill

    assert pad is not None
    assert fill is not None
    assert [(type(spec.value), spec.value) for spec in (pad, fill)] == [(type(value), value)] * 2


def test_a_key_and_a_group_are_the_role_of_a_field() -> None:
    assert field(Annotated[NonTensor[str], Key()]).role == "key"
    assert field(Annotated[NonTensor[str], Group()]).role == "group"
    assert field(Annotated[Int64[Tensor, "batch"], Key()]).role == "key"


# --- where they may stand ---------------------------------------------------------------------------------------------


def test_a_field_that_may_be_meta_or_rows_takes_the_policies_of_both() -> None:
    spec = field(Annotated[Meta[float] | Float32[Tensor, "batch"], Merge("mean"), Pad(1.0)])

    assert (spec.merge, spec.pad) == (MergeSpec(how="mean"), PadSpec(value=1.0))
    assert field(Annotated[Meta[str] | NonTensor[str], Group()]).role == "group"


def test_an_alias_that_is_optional_keeps_its_policies() -> None:
    plain, optional = field(Padded), field(Padded | None, None)

    assert optional == plain.model_copy(update={"required": False, "nullable": True})
    assert optional.pad == PadSpec(value=0.0, side="left")


def test_a_policy_inside_an_optional_alias_counts_as_outside() -> None:
    inside = field(Annotated[Padded, Fill(1.0)] | None, None)
    outside = field(Annotated[Padded | None, Fill(1.0)], None)

    assert inside == outside
    assert (inside.pad, inside.fill) == (PadSpec(value=0.0, side="left"), FillSpec(value=1.0))


def test_an_alias_is_used_with_and_without_a_policy() -> None:
    class Reads(BatchSchema):
        plain: Scores
        padded: Annotated[Scores, Pad(0)]
        filled: Annotated[Scores, Fill(0)] | None = None

    assert list(Reads.__batchpact__.policies) == ["padded", "filled"]
    assert field(Scores).pad is None


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[Scores, Finite(), Pad(0)],
        Annotated[NonTensor[str | None], Pad(None)],
        Annotated[NonTensor[float], Pad(0)],
        Annotated[Float32[Tensor, "batch"] | NonTensor[float], Pad(0.0)],
        Annotated[Float32[Tensor, "batch *inner"], Pad(0, "left")],
        Annotated[Float32[Tensor, "batch ..."], Pad(0, "left")],
    ],
    ids=str,
)
def test_a_value_that_the_field_may_hold_is_right(annotation: Any) -> None:
    assert field(annotation).pad is not None


# --- what the running program knows -----------------------------------------------------------------------------------


def test_a_compiled_schema_has_the_policies_of_the_fields_that_have_any_by_key() -> None:
    merge, pad, fill = Merge.by_key(policy_of), Pad(-math.inf), Fill(0)

    class Reads(BatchSchema):
        turns: Annotated[NonTensor[int], Name("__turns__"), Key()]
        uid: Annotated[NonTensor[str], Group(), Pad("")]
        logits: Annotated[Scores, pad]
        acc: Annotated[Float32[Tensor, "batch"], fill] | None = None
        timing: Annotated[Meta[dict[str, float]], merge]
        plain: Annotated[Scores, Finite()]
        gamma: Arg[float] = 0.9

    assert Reads.__batchpact__.policies == {
        "__turns__": Policies(role="key"),
        "uid": Policies(role="group", pad=Pad("")),
        "logits": Policies(pad=pad),
        "acc": Policies(fill=fill),
        "timing": Policies(merge=merge),
    }


def test_policies_are_inherited_and_declared_anew_with_the_field() -> None:
    class Base(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        scores: Padded

    class Child(Base):
        scores: Scores
        step: Annotated[Meta[int], Merge("max")]

    assert Base.__batchpact__.policies == {"uid": Policies(role="key"), "scores": Policies(pad=Pad(0.0, "left"))}
    assert Child.__batchpact__.policies == {"uid": Policies(role="key"), "step": Policies(merge=Merge("max"))}
