"""Concat of parts with rows of different lengths: longer dim by dim, as `Pad` says, or refused by name."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool, Float, Float32, Int64, Integer
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Jagged, Merge, Meta, Pad
from tests.dataproto.policies import rollout, rollouts, snapshot
from tests.dataproto.support import jagged, law, plain, refuses


class Tokens(BatchSchema):
    x: Annotated[Float[Tensor, "batch response"], Pad(0)]


def tokens(*parts: torch.Tensor, schema: type[BatchSchema] = Tokens, **others: Any) -> list[DataProto]:
    return [DataProto.from_dict({"x": part}, meta_info=others).bind(schema) for part in parts]


def joined(parts: list[DataProto], key: str = "x") -> torch.Tensor:
    batch = DataProto.concat(parts, pad=True).batch
    assert batch is not None
    return batch[key]  # type: ignore[no-any-return]


# --- by name ----------------------------------------------------------------------------------------------------------


def test_every_dim_is_made_longer_on_its_own_side_in_all_fields_that_have_it() -> None:
    """Cases S5 and R6: prompts of 2 and 3, responses of 3 and 2; where the two meet, they still do."""

    class Rl(BatchSchema):
        prompts: Annotated[Int64[Tensor, "batch prompt"], Pad(0, "left")]
        responses: Annotated[Int64[Tensor, "batch response"], Pad(0)]
        input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Pad(0, {"prompt": "left", "response": "right"})]
        log_probs: Annotated[Float32[Tensor, "batch response"], Pad(float("-inf"))]

    def part(prompt: list[int], response: list[int]) -> DataProto:
        tensors = {"prompts": [prompt], "responses": [response], "input_ids": [prompt + response]}
        made = {key: torch.tensor(value) for key, value in tensors.items()}
        return DataProto.from_dict({**made, "log_probs": made["responses"] / -2.0}).bind(Rl)

    parts = [part([1, 2], [5, 6, 7]), part([1, 2, 3], [8, 9])]
    before = [snapshot(one) for one in parts]

    whole = DataProto.concat(parts, pad=True)

    assert {key: value.tolist() for key, value in whole.batch.items()} == {
        "prompts": [[0, 1, 2], [1, 2, 3]],
        "responses": [[5, 6, 7], [8, 9, 0]],
        "input_ids": [[0, 1, 2, 5, 6, 7], [1, 2, 3, 8, 9, 0]],
        "log_probs": [[-2.5, -3.0, -3.5], [-4.0, -4.5, float("-inf")]],
    }
    assert [snapshot(one) for one in parts] == before


def test_ranks_that_pad_to_their_own_longest_row() -> None:
    """Case S5: [4, 17] and [4, 21]."""
    one, two = torch.rand(4, 17), torch.rand(4, 21)

    whole = joined(tokens(one, two))

    assert whole.shape == (8, 21)
    assert torch.equal(whole[:4, :17], one)
    assert torch.equal(whole[4:], two)
    assert whole[:4, 17:].abs().sum() == 0


@law
@given(rollouts(seed=1), rollouts(seed=2), rollouts(seed=3))
def test_the_own_region_of_a_part_is_the_part(one: DataProto, two: DataProto, three: DataProto) -> None:
    parts = [one, two, three]
    before = [snapshot(part) for part in parts]

    whole = DataProto.concat(parts, pad=True)

    prompt, start = whole.batch["prompts"].shape[1], 0
    for part in parts:
        rows = whole[start : start + len(part)].batch
        for key, value in part.batch.items():
            left = prompt - part.batch["prompts"].shape[1] if key in ("prompts", "input_ids") else 0
            own = rows[key] if value.is_nested or value.dim() == 1 else rows[key][:, left : left + value.shape[1]]
            assert plain(DataProto.from_dict({"x": own})) == plain(DataProto.from_dict({"x": value}))
        start += len(part)
    assert [snapshot(part) for part in parts] == before


@law
@given(rollouts(), st.integers(1, 4))
def test_parts_of_one_length_are_joined_as_without_padding(data: DataProto, parts: int) -> None:
    chunks = data.chunk(parts, uneven=True)

    assert snapshot(DataProto.concat(chunks, pad=True)) == snapshot(DataProto.concat(chunks))


def test_parts_without_rows_or_fields_count_with_the_sizes_that_they_have() -> None:
    one = torch.ones(2, 3)

    assert joined([*tokens(one), DataProto(), DataProto(meta_info={"k": 1})]).tolist() == one.tolist()
    assert joined(tokens(torch.ones(0, 5), one)).tolist() == [[1, 1, 1, 0, 0]] * 2
    assert joined(tokens(torch.ones(1, 0), one)).tolist() == [[0, 0, 0], [1, 1, 1], [1, 1, 1]]


def test_several_axes_get_longer_at_once() -> None:
    class Grid(BatchSchema):
        x: Annotated[Integer[Tensor, "batch ... k 2+m"], Pad(9, {"k": "left"})]
        m: Annotated[Meta[int], Merge("max")]

    def grid(k: int, m: int) -> DataProto:
        values = torch.arange(k * (2 + m)).reshape(1, 1, k, 2 + m)
        return DataProto.from_dict({"x": values}, meta_info={"m": m}).bind(Grid)

    whole = DataProto.concat([grid(1, 1), grid(2, 0)], pad=True)

    assert whole.batch["x"].tolist() == [[[[9, 9, 9], [0, 1, 2]]], [[[0, 1, 9], [2, 3, 9]]]]
    assert whole.meta_info == {"m": 1}


def test_a_jagged_tensor_gets_longer_beside_its_ragged_axis() -> None:
    class Positions(BatchSchema):
        x: Annotated[Integer[Tensor, "batch head length"], Jagged("length"), Pad(0)]
        y: Annotated[Integer[Tensor, "batch length head"], Jagged("length"), Pad(0)]

    def part(heads: int, *lengths: int) -> DataProto:
        ends = torch.tensor([0, *lengths]).cumsum(0)
        values = torch.ones(heads, sum(lengths), dtype=torch.int64)
        x = torch.nested.nested_tensor_from_jagged(values, ends, jagged_dim=2)
        y = torch.nested.nested_tensor_from_jagged(values.T.contiguous(), ends)
        return DataProto.from_dict({"x": x, "y": y}).bind(Positions)

    whole = DataProto.concat([part(1, 2, 0), part(2, 1)], pad=True)

    assert [row.tolist() for row in whole.batch["x"].unbind(0)] == [[[1, 1], [0, 0]], [[], []], [[1], [1]]]
    assert [row.tolist() for row in whole.batch["y"].unbind(0)] == [[[1, 0], [1, 0]], [], [[1, 1]]]


def test_lengths_of_a_ragged_axis_stay_as_they_are() -> None:
    class Ragged(BatchSchema):
        x: Annotated[Integer[Tensor, "batch turn"], Jagged("turn")]

    parts = [DataProto.from_dict({"x": jagged(*rows)}).bind(Ragged) for rows in ([[1, 2], []], [[3]])]

    assert [row.tolist() for row in joined(parts).unbind(0)] == [[1, 2], [], [3]]


def test_one_bound_part_speaks_for_all() -> None:
    unbound = DataProto.from_dict({"x": torch.ones(1, 1)})

    assert joined([unbound, *tokens(torch.ones(1, 2))]).tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert len(DataProto.concat([rollout(2, response=1), rollout(3, seed=1)], pad=True)) == 5


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, -1.5, float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.float8_e5m2])
def test_what_is_longer_keeps_its_dtype_and_holds_the_value(value: float, dtype: torch.dtype) -> None:
    class Padded(BatchSchema):
        x: Annotated[Float[Tensor, "batch response"], Pad(value)]

    whole = joined(tokens(torch.ones(1, 1).to(dtype), torch.ones(1, 2).to(dtype), schema=Padded))

    assert whole.dtype is dtype
    assert repr(whole.double().tolist()) == repr([[1.0, value], [1.0, 1.0]])


def test_truth_values_are_padded_with_truth_values() -> None:
    class Mask(BatchSchema):
        x: Annotated[Bool[Tensor, "batch response"], Pad(False, "left")]

    whole = joined(tokens(torch.ones(1, 1, dtype=torch.bool), torch.ones(1, 2, dtype=torch.bool), schema=Mask))

    assert whole.tolist() == [[False, True], [True, True]]


def test_gradients_go_to_the_rows_that_there_are() -> None:
    one, two = torch.ones(1, 1, requires_grad=True), torch.ones(1, 2, requires_grad=True)

    whole = joined(tokens(one, two))
    (whole * torch.tensor([[2.0, 3.0], [4.0, 5.0]])).sum().backward()

    assert one.grad is not None
    assert two.grad is not None
    assert (one.grad.tolist(), two.grad.tolist()) == ([[2.0]], [[4.0, 5.0]])


def test_a_value_that_the_dtype_cannot_hold_is_refused() -> None:
    class Small(BatchSchema):
        x: Annotated[Integer[Tensor, "batch response"], Pad(300)]

    parts = tokens(*(torch.ones(1, size, dtype=torch.uint8) for size in (1, 2)), schema=Small)

    with refuses("concat", "BP045 store  x  Pad(300) for u8[1, 1]; a value that the field can hold as it is"):
        DataProto.concat(parts, pad=True)
    other = tokens(torch.ones(1, 2, dtype=torch.int64), schema=Small)
    with refuses("concat", "BP045 store  x  Pad(300) for u8[1, 1]; a value that the field can hold as it is"):
        DataProto.concat([*other, parts[0]], pad=True)
