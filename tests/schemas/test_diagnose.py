"""What is said of a broken batch: names, placements, types and dtypes."""

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float, Float32, Int64, Shaped
from pydantic import Field
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Binary, ContractError, From, Meta, NonTensor, StageSchema
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.errors import contract_error

from .support import complaint, floats, ids, objects, stores


class KlInReward(StageSchema):
    """Subtract the KL penalty against the reference policy from the token-level scores."""

    class Reads(BatchSchema):
        token_level_scores: Float32[Tensor, "batch response"] = Field(description="score of each response token")
        old_log_probs: Float32[Tensor, "batch response"]
        ref_log_prob: Float32[Tensor, "batch response"]
        response_mask: Annotated[Int64[Tensor, "batch response"], Binary()]
        uid: NonTensor[str]
        temperature: Meta[float]
        kl_coef: Annotated[Arg[float], From("algorithm.kl_ctrl.kl_coef")] = 0.001


def test_the_message_of_the_design() -> None:
    batch = stores(
        {
            "token_level_scores": floats(8, 512),
            "old_log_prob": floats(8, 512),
            "ref_log_prob": floats(8, 511),
            "response_mask": ids(8, 512),
        },
        {"uid": objects(*"aabbccdd"), "temperature": objects(*[0.7] * 8)},
    )
    context = Context(history={"old_log_prob": "written by 'infer_actor'"})

    found = diagnose(KlInReward.Reads.__batchpact__.plan, batch, context)
    e = contract_error("where stage 'kl_in_reward' reads its batch", found.violations, found.dims)

    assert type(e) is ContractError
    assert f"{type(e).__name__}: {e}" == (
        "ContractError: 3 problems where stage 'kl_in_reward' reads its batch\n"
        "\n"
        "  BP001 missing  old_log_probs  declared f32 \"batch response\"; closest name in the batch: 'old_log_prob' "
        "(tensor f32[8, 512], written by 'infer_actor')\n"
        '  BP012 shape    ref_log_prob   f32[8, 511], declared "batch response"; response=512 in token_level_scores '
        "and response_mask\n"
        "  BP003 place    temperature    8 objects in non_tensor_batch; declared meta, one for the batch\n"
        "\n"
        "  dims  batch=8 (token_level_scores, ref_log_prob, response_mask)  "
        "response=512 (token_level_scores, response_mask) 511 (ref_log_prob)"
    )


# --- BP001: missing ---------------------------------------------------------------------------------------------------


class One(BatchSchema):
    scores: Float32[Tensor, "batch response"]


def test_a_missing_field_without_a_close_name() -> None:
    assert complaint(One, stores(meta={"step": 1})) == (
        '  BP001 missing  scores  declared f32 "batch response"; no name in the batch is close'
    )


@pytest.mark.parametrize(
    ("batch", "where"),
    [
        (stores({"score": floats(2, 3)}), "tensor f32[2, 3]"),
        (stores(columns={"score": objects(1, 2)}), "2 objects in non_tensor_batch"),
        (stores(meta={"score": 0.5}), "float in meta_info"),
    ],
    ids=["tensor", "column", "meta"],
)
def test_a_missing_field_with_a_close_name_in_any_store(batch: Any, where: str) -> None:
    assert complaint(One, batch) == (
        f"  BP001 missing  scores  declared f32 \"batch response\"; closest name in the batch: 'score' ({where})"
    )


def test_a_missing_field_that_once_was_there_says_who_had_it() -> None:
    context = Context(history={"scores": "last read by 'filter'"})

    assert complaint(One, stores({"score": floats(2, 3)}), context) == (
        "  BP001 missing  scores  declared f32 \"batch response\"; last read by 'filter', and no longer in the batch"
    )


def test_what_is_looked_at_is_named() -> None:
    assert complaint(One, stores(), Context(holder="result")) == (
        '  BP001 missing  scores  declared f32 "batch response"; no name in the result is close'
    )


def test_a_missing_field_of_two_placements_says_both() -> None:
    class Reads(BatchSchema):
        temperature: Meta[float] | Float32[Tensor, "batch"]

    assert complaint(Reads, stores()) == (
        '  BP001 missing  temperature  declared meta float or f32 "batch"; no name in the batch is close'
    )


def test_a_missing_argument_says_that_it_comes_with_the_call() -> None:
    class Reads(BatchSchema):
        coef: Arg[float]

    class Configured(BatchSchema):
        coef: Annotated[Arg[float], From("algorithm.coef")]

    assert complaint(Reads, stores()) == ("  BP001 missing  coef  declared argument float; pass coef=... with the call")
    assert complaint(Configured, stores()) == (
        "  BP001 missing  coef  declared argument float; "
        "pass coef=... with the call, or set algorithm.coef in the configuration"
    )


# --- BP003: place -----------------------------------------------------------------------------------------------------


class Placed(BatchSchema):
    scores: Float32[Tensor, "batch"] | None = None
    uid: NonTensor[str] | None = None
    temperature: Meta[float] = 1.0
    coef: Arg[float] = 0.1


@pytest.mark.parametrize(
    ("batch", "text"),
    [
        (
            stores(columns={"scores": np.zeros(2, dtype=np.float32)}),
            'scores  float32[2] in non_tensor_batch; declared f32 "batch"; torch.from_numpy(column) is the tensor',
        ),
        (stores(columns={"scores": objects(1, 2)}), 'scores  2 objects in non_tensor_batch; declared f32 "batch"'),
        (stores(meta={"scores": [1.0]}), 'scores  list of 1 in meta_info; declared f32 "batch"'),
        (
            stores(meta={"uid": ["a", "b"]}),
            "uid  list of 2 in meta_info; declared non-tensor, one per row; "
            "a column is made by batchpact.dataproto.column(values)",
        ),
        (stores({"uid": ids(2)}), "uid  tensor i64[2]; declared non-tensor, one per row"),
        (stores({"temperature": floats(2)}), "temperature  tensor f32[2]; declared meta, one for the batch"),
        (
            stores(columns={"temperature": objects(0.7)}),
            "temperature  1 object in non_tensor_batch; declared meta, one for the batch",
        ),
        (stores(meta={"coef": 0.1}), "coef  float in meta_info; declared argument, passed with the call"),
        (
            stores(args={"temperature": 0.1}),
            "temperature  float in the call's arguments; declared meta, one for the batch",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_field_in_a_wrong_store_is_found_though_it_is_optional(batch: Any, text: str) -> None:
    assert complaint(Placed, batch) == f"  BP003 place  {text}"


def test_the_placement_of_the_violation_is_where_the_field_was_found() -> None:
    (wrong,) = diagnose(Placed.__batchpact__.plan, stores(meta={"uid": ["a"]})).violations

    assert (wrong.field, wrong.placement) == ("uid", "meta")


# --- BP005: dtype -----------------------------------------------------------------------------------------------------


def test_another_dtype_is_refused_with_the_cast() -> None:
    assert complaint(One, stores({"scores": floats(2, 3).double()})) == (
        "  BP005 dtype  scores  f64, declared f32; cast it where it is made: x.to(torch.float32)"
    )


def test_another_dtype_than_those_of_a_family_is_refused() -> None:
    class Reads(BatchSchema):
        scores: Float[Tensor, "batch"]
        anything: Shaped[Tensor, "batch"]

    assert complaint(Reads, stores({"scores": ids(2), "anything": ids(2)})) == (
        "  BP005 dtype  scores  i64, declared float"
    )


# --- BP006: type ------------------------------------------------------------------------------------------------------


class Typed(BatchSchema):
    scores: Float32[Tensor, "batch"]
    uid: NonTensor[str]
    step: Meta[int]
    coef: Arg[float]


HEALTHY: dict[str, dict[str, Any]] = {
    "tensors": {"scores": floats(2)},
    "columns": {"uid": objects("a", "b")},
    "meta": {"step": 1},
    "args": {"coef": 1},
}
COLUMN = "a column is made by batchpact.dataproto.column(values)"
WRONG: dict[str, tuple[str, str, object, str]] = {
    "an array for a tensor": (
        "tensors",
        "scores",
        np.zeros(2, dtype=np.float32),
        'float32[2], declared f32 "batch"; convert it where it is made: torch.from_numpy(x)',
    ),
    "a list for a tensor": (
        "tensors",
        "scores",
        [0.5, 1.0],
        'list of 2, declared f32 "batch"; convert it where it is made: torch.tensor(x, dtype=...)',
    ),
    "a list for a column": ("columns", "uid", ["a", "b"], f"list of 2, declared non-tensor str; {COLUMN}"),
    "a tensor for a column": ("columns", "uid", ids(2), f"i64[2], declared non-tensor str; {COLUMN}"),
    "an array without rows": ("columns", "uid", np.array("a"), f"str32[], declared non-tensor str; {COLUMN}"),
    "a float for an int": ("meta", "step", 1.5, "float 1.5, declared meta int"),
    "a string for an int": ("meta", "step", "1", "str, declared meta int"),
    "a numpy scalar": (
        "meta",
        "step",
        np.int64(1),
        "int64, declared meta int; a numpy scalar; .item() gives the Python value",
    ),
    "a tensor for an int": ("meta", "step", torch.tensor(1), "i64[], declared meta int"),
    "None in meta": ("meta", "step", None, "None, declared meta int"),
    "None for a tensor": ("tensors", "scores", None, 'None, declared f32 "batch"'),
    "None for a column": ("columns", "uid", None, "None, declared non-tensor str"),
    "a string for an argument": ("args", "coef", "0.1", "str, declared argument float"),
}


@pytest.mark.parametrize(("store", "key", "value", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_value_of_a_wrong_type_is_refused(store: str, key: str, value: object, text: str) -> None:
    batch = stores(**{**HEALTHY, store: {**HEALTHY[store], key: value}})

    assert complaint(Typed, stores(**HEALTHY)) == ""
    assert complaint(Typed, batch) == f"  BP006 type  {key}  {text}"


def test_none_in_an_optional_field_is_absent_only_where_none_is_declared() -> None:
    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch"] | None = None
        uid: NonTensor[str] | None = None
        ratio: Meta[float] | None = None
        temperature: Meta[float] = 1.0

    nothing = stores({"scores": None}, {"uid": None}, {"ratio": None})
    assert complaint(Reads, nothing) == ""
    assert complaint(Reads, stores(meta={"temperature": None})) == (
        "  BP006 type  temperature  None, declared meta float; leave the field out where there is no value"
    )


def test_the_inside_of_a_value_is_looked_at_where_values_may_be_read() -> None:
    class Reads(BatchSchema):
        lengths: Meta[list[int]]

    batch = stores(meta={"lengths": [1, "2"]})
    assert complaint(Reads, batch) == ""
    found = diagnose(Reads.__batchpact__.plan, batch, Context(values=True))
    assert [wrong.model_dump(exclude_defaults=True) for wrong in found.violations] == [
        {
            "code": "BP006",
            "field": "lengths",
            "placement": "meta",
            "expected": "meta list[int]",
            "actual": "list of 2",
            "hint": "[1] Input should be a valid integer",
        }
    ]


def test_violations_come_in_the_order_of_declaration() -> None:
    broken = stores({"scores": ids(2)}, {"uid": ["a"]}, {"step": "1"})

    found = diagnose(Typed.__batchpact__.plan, broken)
    assert [(wrong.code, wrong.field) for wrong in found.violations] == [
        ("BP005", "scores"),
        ("BP006", "uid"),
        ("BP006", "step"),
        ("BP001", "coef"),
    ]
