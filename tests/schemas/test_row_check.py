"""One row where it is born: every violation at once, in the words of its schema without the batch axis."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from batchpact.schemas import (
    Arg,
    BatchSchema,
    ContractError,
    Finite,
    Jagged,
    Key,
    Meta,
    MissingFieldError,
    Name,
    NonTensor,
    SettingError,
    Tag,
    When,
    config,
    rule,
)
from batchpact.schemas.narrowing import narrowed
from tests.dataproto.support import jagged, says
from tests.schemas.rows import Rollout, row, without


def refused(schema: type[BatchSchema], row: Any, *lines: str, name: str = "", **options: Any) -> None:
    """The row is refused with exactly these lines, the row's name in the headline."""
    kind = MissingFieldError if all(line[:5] == "BP001" for line in lines) else ContractError
    with says(kind, f"where a row of {schema.__name__} is checked{f' ({name})' if name else ''}", *lines):
        schema.check_row(row, **options)


# --- healthy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["structure", "values"])
@pytest.mark.parametrize(
    "healthy",
    [
        row(),
        row(rollout_log_probs=torch.zeros(3)),
        row(rollout_log_probs=None),
        row(prompt=0, response=0, turns=0),
        without(row(), "step"),
    ],
    ids=["plain", "optional", "None", "no tokens", "no meta"],
)
def test_a_healthy_row_passes(healthy: dict[str, Any], level: Any) -> None:
    before = dict(healthy)

    Rollout.check_row(healthy, level=level)

    assert healthy == before or all(healthy[key] is before[key] for key in before)


def test_rows_have_keys_not_attribute_names() -> None:
    class Turns(BatchSchema):
        num_turns: Annotated[NonTensor[int], Name("__num_turns__")]

    Turns.check_row({"__num_turns__": 3})
    refused(
        Turns,
        {"num_turns": 3},
        "BP001 missing  __num_turns__  declared non-tensor int; closest name in the row: 'num_turns' (1 object in "
        "non_tensor_batch)",
        "BP004 unasked  num_turns      int 3; Turns does not declare it; declare it, or leave it out of the row",
    )


def test_the_dims_of_an_integer_that_a_row_has_are_those_of_its_tensors() -> None:
    """A cell of a column binds no dim; a meta value does."""

    class Sized(BatchSchema):
        width: Meta[int]
        count: NonTensor[int]
        pixels: Float32[Tensor, "batch width"]
        others: Float32[Tensor, "batch count"]

    Sized.check_row({"width": 2, "count": 9, "pixels": torch.ones(2), "others": torch.ones(3)})
    refused(
        Sized,
        {"width": 3, "count": 9, "pixels": torch.ones(2), "others": torch.ones(3)},
        "BP013 dims  width  3 in width, 2 in pixels; all must agree, and no size is in the majority",
        "",
        "dims  width=3 (width) 2 (pixels)  count=3 (others)",
    )


def test_a_dim_may_be_called_like_the_batch_axis() -> None:
    """What a row has of it cannot be held against the number of rows before all of them are there."""

    class Pairs(BatchSchema):
        wins: Int64[Tensor, "batch batch"]
        uid: NonTensor[str]

    class Named(BatchSchema):
        wins: Int64[Tensor, "row batch"]
        uid: NonTensor[str]

    for schema in (Pairs, Named):
        schema.check_row({"wins": torch.zeros(4, dtype=torch.int64), "uid": "a"})


def test_a_family_of_dtypes_and_several_placements_are_looked_at_as_in_a_batch() -> None:
    class Scored(BatchSchema):
        score: Float[Tensor, "batch"]
        temperature: Meta[float] | Float32[Tensor, "batch"]
        host: Tag[str]

    for temperature in (0.7, torch.tensor(0.7)):
        Scored.check_row({"score": torch.tensor(1.0).double(), "temperature": temperature, "host": "n0"})
    refused(
        Scored,
        {"score": torch.tensor(1), "temperature": "hot", "host": 3},
        "BP005 dtype  score        i64, declared float",
        "BP006 type   temperature  str, declared meta float",
        "BP006 type   host         int 3, declared tag str",
    )


def test_fields_of_an_open_schema_are_free() -> None:
    class Open(BatchSchema, extra="allow"):
        uid: NonTensor[str]

    Open.check_row({"uid": "a", "anything": torch.ones(2), "else": {}})


def test_a_field_with_a_condition_is_optional_until_somebody_knows() -> None:
    class Conditional(BatchSchema):
        uid: NonTensor[str]
        kl: Annotated[Float32[Tensor, "batch"], When(config("use_kl"))]

    Conditional.check_row({"uid": "a"})
    Conditional.check_row({"uid": "a", "kl": torch.tensor(0.0)})
    refused(
        narrowed(Conditional, {"kl": True}),
        {"uid": "a"},
        'BP001 missing  kl  declared f32 ""; no name in the row is close',
    )
    refused(
        narrowed(Conditional, {"kl": False}),
        {"uid": "a", "kl": torch.tensor(0.0)},
        "BP004 unasked  kl  f32[]; Conditional does not declare it; declare it, or leave it out of the row",
    )


# --- broken -----------------------------------------------------------------------------------------------------------


def test_all_violations_of_a_row_are_told_at_once() -> None:
    """Case D3: a list of floats where a tensor is declared says how to convert it."""
    refused(
        Rollout,
        {**without(row("q7"), "input_ids"), "score": [1.0], "response_mask": torch.ones(2), "step": 0.5, "reward": 1.0},
        'BP001 missing  input_ids      declared i64 "prompt+response"; no name in the row is close',
        "BP005 dtype    response_mask  f32, declared i64; cast it where it is made: x.to(torch.int64)",
        'BP006 type     score          list of 1, declared f32 ""; convert it where it is made: '
        "torch.tensor(x, dtype=...)",
        "BP006 type     step           float 0.5, declared meta int",
        "BP013 dims     response       3 in responses, 2 in response_mask; all must agree, and no size is in the "
        "majority",
        "BP004 unasked  reward         float 1.0; Rollout does not declare it; declare it, or leave it out of the row",
        "",
        "dims  prompt=2 (prompts)  response=3 (responses) 2 (response_mask)  turn=2 (turns)",
        name="uid 'q7'",
    )


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"score": 0.5}, 'score  float 0.5, declared f32 ""; convert it where it is made: torch.tensor(x, dtype=...)'),
        ({"score": None}, 'score  None, declared f32 ""'),
        ({"score": np.float32(1)}, 'score  float32, declared f32 ""; convert it where it is made: '
         "torch.tensor(x, dtype=...)"),
        ({"responses": np.ones(3)}, 'responses  float64[3], declared i64 "response"; convert it where it is made: '
         "torch.from_numpy(x)"),
        ({"uid": None}, "uid  None, declared non-tensor str"),
        ({"messages": np.array([{}])}, "messages  1 object, declared non-tensor list[dict[str, str]]; .tolist() gives "
         "Python values"),
        ({"step": np.int64(7)}, "step  int64, declared meta int; a numpy scalar; .item() gives the Python value"),
    ],
    ids=["float", "None", "numpy scalar", "array", "no text", "array for a list", "numpy scalar in meta"],
)  # fmt: skip
def test_a_value_of_another_type_is_told_with_a_way_out(change: dict[str, Any], line: str) -> None:
    """Cases M8, P3 and D3."""
    name = "" if "uid" in change else "uid 'a'"

    refused(Rollout, row(**change), f"BP006 type  {line}", name=name)


def test_a_batch_axis_that_a_row_still_has_is_one_axis_too_many() -> None:
    refused(
        Rollout,
        row(score=torch.ones(1)),
        'BP011 rank  score  f32[1], declared ""; 1 axis where 0 are declared; nothing is squeezed or expanded',
        "",
        "dims  prompt=2 (prompts)  response=3 (responses, response_mask)  turn=2 (turns)  step=7 (step)",
        name="uid 'a'",
    )


def test_a_row_of_length_zero_where_its_siblings_have_tokens_is_no_absence() -> None:
    """Case M8: there is one way to be absent, and it is to be left out, or None."""
    refused(
        Rollout,
        row(rollout_log_probs=torch.zeros(0)),
        'BP012 shape  rollout_log_probs  f32[0], declared "response"; response=3 in responses and response_mask',
        "",
        "dims  prompt=2 (prompts)  response=3 (responses, response_mask) 0 (rollout_log_probs)  turn=2 (turns)  "
        "step=7 (step)",
        name="uid 'a'",
    )


def test_a_row_of_a_jagged_field_is_dense() -> None:
    class Positions(BatchSchema):
        positions: Annotated[Int64[Tensor, "batch 2 length"], Jagged("length")]
        ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]

    ids = torch.arange(3)
    Positions.check_row({"positions": torch.stack([ids, ids]), "ids": ids})
    refused(
        Positions,
        {"positions": torch.stack([ids, ids]), "ids": jagged([1, 2])},
        'BP015 layout  ids  jagged, i64[1, jagged], declared dense "length"',
    )
    refused(
        Positions,
        {"positions": torch.stack([ids, ids]), "ids": ids[1:]},
        "BP013 dims  length  3 in positions, 2 in ids; all must agree, and no size is in the majority",
        "",
        "dims  length=3 (positions) 2 (ids)",
    )


def test_an_argument_belongs_to_the_call() -> None:
    class Reads(BatchSchema):
        uid: NonTensor[str]
        scale: Arg[float] = 1.0

    class Open(Reads, extra="allow"):
        pass

    for schema in (Reads, Open):
        schema.check_row({"uid": "a"})
        refused(
            schema,
            {"uid": "a", "scale": 2.0},
            "BP004 unasked  scale  float 2.0; an argument goes with the call, not with a row",
        )


@pytest.mark.parametrize("value", [3, None, [("uid", "a")], "uid"])
def test_what_is_no_mapping_is_no_row(value: Any) -> None:
    with pytest.raises(ContractError, match=r"BP006 type  row  .*, declared a mapping by the keys of the fields$"):
        Rollout.check_row(value)


def test_the_name_of_a_row_is_its_key_or_else_its_group() -> None:
    class Keyed(BatchSchema):
        prompt: Annotated[NonTensor[str], Key()]
        sample: Annotated[Int64[Tensor, "batch"], Key()]
        score: Float32[Tensor, "batch"]

    broken = {"prompt": "p", "sample": torch.tensor(3), "score": torch.tensor(1)}
    line = "BP005 dtype  score  i64, declared f32; cast it where it is made: x.to(torch.float32)"

    refused(Keyed, broken, line, name="prompt, sample ('p', 3)")


# --- values -----------------------------------------------------------------------------------------------------------


def test_rules_are_asked_at_level_values_only() -> None:
    class Ruled(BatchSchema):
        rewards: Annotated[Float32[Tensor, "batch response"], Finite()]
        response_mask: Int64[Tensor, "batch response"]
        tools: NonTensor[list[str]]

        @rule
        def rewards_are_masked(self) -> Tensor:
            """rewards are zero outside response_mask"""
            return ((self.rewards == 0) | (self.response_mask == 1)).all(dim=1)

    def made(rewards: list[float], tools: list[Any]) -> dict[str, Any]:
        return {"rewards": torch.tensor(rewards), "response_mask": torch.tensor([1, 0]), "tools": tools}

    Ruled.check_row(made([1.0, 0.0], ["a"]), level="values")
    for broken in (made([1.0, 2.0], ["a"]), made([float("nan"), 0.0], [1])):
        Ruled.check_row(broken)
    refused(
        Ruled,
        made([1.0, 2.0], ["a"]),
        "BP022 rule  rewards_are_masked  it does not hold in the row; declared: rewards are zero outside response_mask",
        level="values",
    )
    refused(
        Ruled,
        made([float("nan"), 0.0], [1]),
        "BP021 values  rewards  1 element in the row; 1 NaN, 0 infinite; declared finite",
        "BP006 type    tools    the row: list, [0] Input should be a valid string, declared list[str] per row",
        level="values",
    )


def test_a_level_that_is_not_known_is_refused() -> None:
    with says(SettingError, "in check_row", "BP052 setting  level  'off' is not known; 'structure' and 'values' are"):
        Rollout.check_row(row(), level="off")  # type: ignore[arg-type]


def test_the_names_of_its_methods_cannot_be_fields() -> None:
    with pytest.raises(ContractError, match="collate  a schema has an attribute of this name; choose"):

        class Wrong(BatchSchema):
            collate: NonTensor[str]  # type: ignore[assignment]
