"""Parts whose rows cannot be made equally long: every field is named, and nothing is changed."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Float, Float32
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, ContractError, Pad
from tests.dataproto.policies import snapshot
from tests.dataproto.support import refuses, says


class Tokens(BatchSchema):
    x: Annotated[Float[Tensor, "batch response"], Pad(0)]


def tokens(*parts: torch.Tensor, schema: type[BatchSchema] = Tokens) -> list[DataProto]:
    return [DataProto.from_dict({"x": part}).bind(schema) for part in parts]


def test_every_field_that_nothing_fills_up_is_named_with_all_parts() -> None:
    class Half(BatchSchema):
        x: Annotated[Float[Tensor, "batch response"], Pad(0)]
        log_probs: Float32[Tensor, "batch response"]
        both: Float32[Tensor, "batch prompt+response"]
        prompts: Float32[Tensor, "batch prompt"]

    def part(response: int) -> DataProto:
        sizes = {"x": response, "log_probs": response, "both": response + 2, "prompts": 2}
        return DataProto.from_dict({key: torch.ones(4, size) for key, size in sizes.items()}).bind(Half)

    parts = [part(17), part(21), part(17)]
    before = [snapshot(one) for one in parts]

    with refuses(
        "concat",
        "BP042 parts  log_probs  f32 rows of [17] in parts 0, 2, f32 rows of [21] in part 1; one row shape; nothing "
        "says how to fill up response: declare Pad(value, side)",
        "BP042 parts  both       f32 rows of [19] in parts 0, 2, f32 rows of [23] in part 1; one row shape; nothing "
        "says how to fill up response: declare Pad(value, side)",
    ):
        DataProto.concat(parts, pad=True)

    assert [snapshot(one) for one in parts] == before


def test_a_field_whose_axis_stays_as_long_is_refused_all_the_same() -> None:
    """Prompts of 2 and 1, responses of 1 and 2: 3 tokens in both, but others are prompt."""

    class Sum(BatchSchema):
        prompts: Annotated[Float32[Tensor, "batch prompt"], Pad(0)]
        responses: Annotated[Float32[Tensor, "batch response"], Pad(0)]
        both: Float32[Tensor, "batch prompt+response"]

    def part(prompt: int, response: int) -> DataProto:
        sizes = {"prompts": prompt, "responses": response, "both": prompt + response}
        return DataProto.from_dict({key: torch.ones(1, size) for key, size in sizes.items()}).bind(Sum)

    with refuses(
        "concat",
        "BP042 parts  both  f32 rows of [3] in parts 0, 1; one row shape; nothing says how to fill up prompt, "
        "response: declare Pad(value, side)",
    ):
        DataProto.concat([part(2, 1), part(1, 2)], pad=True)


def test_arithmetic_that_says_no_place_is_refused() -> None:
    class Odd(BatchSchema):
        x: Annotated[Float[Tensor, "batch response"], Pad(0)]
        y: Annotated[Float[Tensor, "batch 2*response"], Pad(0)]
        z: Annotated[Float[Tensor, "batch response-1"], Pad(0)]

    def part(response: int) -> DataProto:
        sizes = {"x": response, "y": 2 * response, "z": response - 1}
        return DataProto.from_dict({key: torch.ones(1, size) for key, size in sizes.items()}).bind(Odd)

    with refuses(
        "concat",
        "BP042 parts  y  f32 rows of [4] in part 0, f32 rows of [6] in part 1; a dim that is a name or a sum of names; "
        "nobody can say where '2*response' gets longer",
        "BP042 parts  z  f32 rows of [1] in part 0, f32 rows of [2] in part 1; a dim that is a name or a sum of names; "
        "nobody can say where 'response-1' gets longer",
    ):
        DataProto.concat([part(2), part(3)], pad=True)


def test_a_sum_whose_parts_nobody_knows_is_refused() -> None:
    class Unknown(BatchSchema):
        x: Annotated[Float[Tensor, "batch prompt+response"], Pad(0)]
        prompts: Annotated[Float[Tensor, "batch prompt"], Pad(0)] | None = None
        responses: Annotated[Float[Tensor, "batch response"], Pad(0)] | None = None

    def part(**sizes: int) -> DataProto:
        return DataProto.from_dict({key: torch.ones(1, size) for key, size in sizes.items()}).bind(Unknown)

    with refuses(
        "concat",
        "BP042 parts  x  f32 rows of [3] in part 0, f32 rows of [4] in parts 1, 2; a size for prompt, response in part "
        "2; no other field there has one",
    ):
        DataProto.concat([part(x=3, prompts=1, responses=2), part(x=4, prompts=2, responses=2), part(x=4)], pad=True)


def test_an_axis_without_a_name_is_not_made_longer() -> None:
    class Any_(BatchSchema):
        x: Annotated[Float[Tensor, "batch _"], Pad(0)]

    with refuses(
        "concat",
        "BP042 parts  x  f32 rows of [2] in part 0, f32 rows of [3] in part 1; one dtype, layout and row shape",
    ):
        DataProto.concat(tokens(torch.ones(1, 2), torch.ones(1, 3), schema=Any_), pad=True)


def test_bound_dims_hold_for_every_part() -> None:
    parts = tokens(torch.ones(1, 2), torch.ones(1, 3))
    parts[0].bind(Tokens, dims={"response": 2})

    with says(
        ContractError,
        "where part 1 is bound to Tokens",
        'BP012 shape  x  f32[1, 3], declared "batch response"; response=2 in the bound dims',
        "",
        "dims  response=3 (x)  batch=1 (x)",
    ):
        DataProto.concat(parts, pad=True)


def test_padding_needs_a_schema() -> None:
    with refuses(
        "concat",
        "BP042 parts  pad  no part is bound to a schema; a schema that says how to fill up; bind a schema to the "
        "parts, with a Pad(value, side) on each field whose rows may be longer",
    ):
        DataProto.concat([DataProto.from_dict({"x": torch.ones(1)})], pad=True)
