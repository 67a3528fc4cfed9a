"""The form of the lock file: what is in it, what is not, and that it can be read again."""

from __future__ import annotations

from typing import Annotated, Any

import jaxtyping
import pytest
from jaxtyping import AbstractDtype, Float, Float32, Int64, Shaped
from pydantic import Field
from torch import Tensor

from batchpact.contracts.lock import normal
from batchpact.contracts.lock.normal import plain_condition, plain_schema, plain_stage, schema_of, stage_of
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Binary,
    Columns,
    ConditionSpec,
    FieldSpec,
    Fill,
    From,
    Key,
    Merge,
    Meta,
    Name,
    NonTensor,
    Pad,
    Repeat,
    SameAs,
    StageSchema,
    When,
    config,
    meta,
    named_by,
    present,
    rule,
)
from batchpact.schemas.conditions import Condition


class Half(AbstractDtype):
    """A family of somebody's own."""

    dtypes = ["float16", "bfloat16"]  # noqa: RUF012  # as jaxtyping's are


class Everything(StageSchema):
    """One of each."""

    rows = Repeat("rollout.n")
    drops = ("timing", "ids")
    pad_safe = True
    layouts = ("jagged", "dense")

    class Reads(BatchSchema):
        """What comes in."""

        mask: Annotated[Int64[Tensor, "batch response"], Binary(), Pad(0, side={"response": "left"})]
        loss_mask: Annotated[Int64[Tensor, "batch response"], SameAs("mask")] = Field(le=1, ge=0)
        half: Half[Tensor, "batch"]
        temperature: Annotated[Meta[float], From("rollout.temperature"), Merge.close(1e-3)] | Float[Tensor, "batch"]
        uid: Annotated[NonTensor[str], Key()]
        turns: Annotated[NonTensor[int], Name("__num_turns__")]
        scores: Annotated[Float32[Tensor, "batch"], Fill(0.0), When(config("reward.model") & present("uid"))] | None = (
            None
        )
        clip: Arg[float] = 0.2
        suffix: Arg[str] = ""

        @rule
        def real(self) -> Tensor:
            """some token is real"""
            return self.mask.any(dim=1)

    class Writes(BatchSchema):
        anything: Shaped[Tensor, "batch ..."]


def test_a_stage_has_what_it_declares_and_nothing_that_is_at_its_default() -> None:
    here = f"{__name__}.Everything"

    assert plain_stage(Everything.__batchpact__) == {
        "name": "everything",
        "description": "One of each.",
        "rows": {"kind": "repeat", "times": "rollout.n"},
        "drops": ["ids", "timing"],
        "pad_safe": True,
        "reads": {
            "qualname": f"{here}.Reads",
            "description": "What comes in.",
            "rules": {"real": {"qualname": f"{here}.Reads.real", "description": "some token is real"}},
            "fields": {
                "mask": {
                    "places": [tensor("int64", "batch response")],
                    "rules": [{"kind": "binary"}],
                    "pad": {"value": 0, "side": {"response": "left"}},
                },
                "loss_mask": {
                    "places": [tensor("int64", "batch response")],
                    "rules": [{"kind": "ge", "value": 0}, {"kind": "le", "value": 1}],
                    "same_as": "mask",
                },
                "half": {"places": [{**tensor("half", "batch"), "dtypes": ["bfloat16", "float16"]}]},
                "temperature": {
                    "places": [tensor("float", "batch"), {"placement": "meta", "type": "float"}],
                    "source": "rollout.temperature",
                    "merge": {"how": "close", "rtol": 0.001},
                },
                "uid": {"places": [{"placement": "non_tensor", "type": "str"}], "role": "key"},
                "__num_turns__": {"name": "turns", "places": [{"placement": "non_tensor", "type": "int"}]},
                "scores": {
                    "places": [tensor("float32", "batch")],
                    "required": False,
                    "nullable": True,
                    "fill": {"value": 0.0},
                    "when": {
                        "kind": "all",
                        "of": [
                            {"kind": "test", "subject": {"source": "config", "name": "reward.model"}},
                            {"kind": "test", "subject": {"source": "present", "name": "uid"}},
                        ],
                    },
                },
                "clip": {"places": [{"placement": "arg", "type": "float"}], "required": False, "default": 0.2},
                "suffix": {"places": [{"placement": "arg", "type": "str"}], "required": False, "default": ""},
            },
        },
        "writes": {
            "qualname": f"{here}.Writes",
            "fields": {"anything": {"places": [tensor("any", "batch ...")]}},
        },
    }


def tensor(dtype: str, dims: str) -> dict[str, Any]:
    return {"placement": "tensor", "dtype": dtype, "dims": dims, "layout": "dense"}


def test_what_was_written_is_read_again() -> None:
    spec = Everything.__batchpact__
    plain = plain_stage(spec)
    again = stage_of(spec.qualname, plain)

    assert plain_stage(again) == plain
    assert (again.name, again.rows, again.reads.axis, again.reads.name) == (spec.name, spec.rows, "batch", "Reads")
    assert {
        field.key: field for field in again.reads.fields if field.key not in ("temperature", "loss_mask", "half")
    } == {field.key: field for field in spec.reads.fields if field.key not in ("temperature", "loss_mask", "half")}


def test_a_schema_without_fields() -> None:
    class Nothing(BatchSchema):
        """Nothing at all."""

    plain = plain_schema(Nothing.__batchpact__.spec)

    assert plain == {"qualname": f"{__name__}.test_a_schema_without_fields.Nothing", "description": "Nothing at all."}
    assert schema_of(plain) == Nothing.__batchpact__.spec


# --- nothing but what is declared changes the file --------------------------------------------------------------------


def test_a_field_that_a_later_version_adds_to_the_record_changes_nothing() -> None:
    class Later(FieldSpec):
        unit: str | None = None
        aliases: tuple[str, ...] = ()

    spec = Everything.Reads.__batchpact__.spec
    later = spec.model_copy(update={"fields": tuple(Later(**dict(field)) for field in spec.fields)})

    assert plain_schema(later) == plain_schema(spec)


def test_other_versions_of_torch_and_jaxtyping_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family has more dtypes there; read, it has those of here."""
    plain = plain_schema(Everything.Reads.__batchpact__.spec)
    families = {**normal._families(), "float": ("float16", "float32")}
    monkeypatch.setattr(normal, "_families", lambda: families)
    there = schema_of(plain)
    field = there.field("temperature")

    assert field is not None
    assert field.places[0].dtypes == ("float16", "float32")
    assert plain_schema(there) == plain


def test_every_family_of_jaxtyping_is_known() -> None:
    """But for those that stand for one dtype, for all of them, or for what torch does not have."""
    several = {
        name
        for name in dir(jaxtyping)
        if isinstance(getattr(getattr(jaxtyping, name), "dtypes", None), (list, tuple))
        and len(getattr(jaxtyping, name).dtypes) > 1
    }

    assert several - {"Bool"} == set(normal._FAMILIES)


def test_the_order_of_what_has_none_changes_nothing() -> None:
    spec = Everything.__batchpact__
    fields = tuple(reversed(spec.reads.fields))
    shuffled = spec.model_copy(
        update={
            "reads": spec.reads.model_copy(update={"fields": fields}),
            "drops": tuple(reversed(spec.drops)),
            "layouts": ("dense", "jagged"),
        }
    )

    assert plain_stage(shuffled) == plain_stage(spec)


# --- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "plain"),
    [
        (config("a"), {"kind": "test", "subject": {"source": "config", "name": "a"}}),
        (
            (config("a", default=3) > 1).named("many"),
            {
                "kind": "test",
                "subject": {"source": "config", "name": "a", "default": 3},
                "test": ">",
                "value": 1,
                "name": "many",
            },
        ),
        (
            ~(config("a") == None),  # noqa: E711  # it builds a condition
            {
                "kind": "not",
                "of": {"kind": "test", "subject": {"source": "config", "name": "a"}, "test": "=="},
            },
        ),
    ],
)
def test_conditions(condition: Condition, plain: dict[str, Any]) -> None:
    assert plain_condition(condition.spec) == plain
    assert read(plain) == condition.spec


def read(plain: dict[str, Any]) -> ConditionSpec | None:
    return FieldSpec.model_validate({"name": "x", "key": "x", "places": [], "when": plain}).when


class Opened(StageSchema):
    """Columns whose names stand elsewhere."""

    class Reads(BatchSchema):
        scores: Columns[NonTensor[float]] = named_by(meta("keys", default=[]), optional=True)
        tokens: Annotated[Columns[Float32[Tensor, "rows n"]], Pad(0.0), When(config("tokens"))] = named_by(
            config("extra")
        )


def test_open_columns_stand_by_their_attributes_and_can_be_read_again() -> None:
    plain = plain_schema(Opened.Reads.__batchpact__.spec)

    assert sorted(plain["columns"]) == ["scores", "tokens"]
    assert plain["columns"]["scores"] == {
        "named_by": {"default": [], "name": "keys", "source": "meta"},
        "places": [{"placement": "non_tensor", "type": "float"}],
        "required": False,
    }
    assert schema_of(plain).axis == "rows"
    assert plain_schema(schema_of(plain)) == plain
    assert schema_of(plain).columns == Opened.Reads.__batchpact__.spec.columns
