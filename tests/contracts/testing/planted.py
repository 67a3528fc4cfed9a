"""Small stages with one bug each, beside twins that are sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Binary, Finite, Group, Meta, NonTensor, Pad, StageSchema, rule

Mask = Annotated[Int64[Tensor, "batch response"], Binary(), Pad(0)]


class Shape(StageSchema):
    """Shape rewards."""

    pad_safe = True

    class Reads(BatchSchema):
        rewards: Annotated[Float32[Tensor, "batch response"], Finite(), Pad(0.0)]
        response_mask: Mask
        uid: Annotated[NonTensor[str], Group()]
        info: NonTensor[dict[str, int]]
        bonus: Float32[Tensor, "batch"] | None = None
        weights: Meta[list[float]] | None = None

    class Writes(BatchSchema):
        shaped: Annotated[Float32[Tensor, "batch response"], Finite()]


class InGroups(Shape):
    """Shape rewards within a group, before rows are padded."""

    pad_safe = False


class Masked(StageSchema):
    """Say which rewards count."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        response_mask: Mask
        attention_mask: Annotated[Int64[Tensor, "batch prompt+response"], Binary(), Pad(0, side={"prompt": "left"})]

    class Writes(BatchSchema):
        response_mask: Mask
        shaped: Float32[Tensor, "batch response"]

        @rule
        def nothing_outside_the_mask(self) -> Tensor:
            """Shaped is 0 where response_mask is 0."""
            return ((self.shaped == 0) | self.response_mask.bool()).all(dim=1)


class Balance(StageSchema):
    """Bring the rows into another order, and score them."""

    rows = "permute"

    class Reads(BatchSchema):
        length: Int64[Tensor, "batch"]

    class Writes(BatchSchema):
        share: Float32[Tensor, "batch"]


class Bug(NamedTuple):
    """A stage with a bug, and its sound twin; what is said of the bug is in planted.txt."""

    contract: type[StageSchema]
    broken: Callable[[DataProto], Any]
    sound: Callable[[DataProto], Any]


def made(contract: type[StageSchema], function: Callable[[DataProto], Any]) -> Callable[..., Any]:
    """A stage of a function, which is handed the whole batch as it is."""
    return stage(contract, name="shape", project="off")(function)


def wrote(shaped: Tensor, **more: Any) -> DataProto:
    return DataProto.from_dict({"shaped": shaped, **more})


def with_bonus(data: DataProto, bonus: Tensor | None) -> DataProto:
    rewards = data.batch["rewards"]
    return wrote(rewards.clone() if bonus is None else rewards + bonus[:, None])


def sound(data: DataProto) -> DataProto:
    """What most of these are meant to be."""
    return with_bonus(data, data.batch.get("bonus"))


# --- what comes out ---------------------------------------------------------------------------------------------------


def another_dtype(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].double())


def another_dtype_on_one_row(data: DataProto) -> DataProto:
    rewards = data.batch["rewards"]
    return wrote(torch.from_numpy(np.array(rewards.tolist())) if len(rewards) == 1 else rewards.clone())


def without_its_write(data: DataProto) -> DataProto:
    return DataProto.from_dict({})


def one_write_more(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].clone(), extra=data.batch["rewards"].clone())


def with_a_graph(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"] * torch.ones(1, requires_grad=True))


def broadcast(data: DataProto) -> DataProto:
    """[B, 1] and [B] make [B, B]."""
    total = data.batch["rewards"].sum(dim=1)
    return wrote(data.batch["rewards"] + (total.unsqueeze(1) - total))


def centred(data: DataProto) -> DataProto:
    total = data.batch["rewards"].sum(dim=1, keepdim=True)
    return wrote(data.batch["rewards"] - total)


def nan_where_nothing_is_valid(data: DataProto) -> DataProto:
    rewards, mask = data.batch["rewards"], data.batch["response_mask"]
    return wrote(rewards - ((rewards * mask).sum(dim=1) / mask.sum(dim=1))[:, None])


def mean_of_what_is_valid(data: DataProto) -> DataProto:
    rewards, mask = data.batch["rewards"], data.batch["response_mask"]
    return wrote(rewards - ((rewards * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1))[:, None])


# --- what goes in -----------------------------------------------------------------------------------------------------


def in_place(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].mul_(2).clone())


def in_place_past_the_counter(data: DataProto) -> DataProto:
    data.batch["rewards"].data[:1] += 1
    return wrote(data.batch["rewards"].clone())


def in_place_by_numpy(data: DataProto) -> DataProto:
    data.batch["rewards"].numpy()[-1:] = 0
    return wrote(data.batch["rewards"].clone())


def in_place_in_a_cell(data: DataProto) -> DataProto:
    for info in data.non_tensor_batch["info"]:
        info["seen"] = 1
    return sound(data)


def in_place_in_meta(data: DataProto) -> DataProto:
    data.meta_info.get("weights", []).append(1.0)
    return sound(data)


def needs_the_optional_field(data: DataProto) -> DataProto:
    return with_bonus(data, data.batch["bonus"])


def reads_undeclared(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"] - data.batch["values"])


# --- rows -------------------------------------------------------------------------------------------------------------


def sums_over_rows(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].cumsum(dim=0))


def sums_over_tokens(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].cumsum(dim=1))


def looks_at_row_0(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"] - data.batch["rewards"][:1])


def shifts_rows(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].roll(1))


def shifts_tokens(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].roll(1, dims=1))


def sorts_rows(data: DataProto) -> DataProto:
    rewards = data.batch["rewards"]
    return wrote(rewards[rewards.sum(dim=1).argsort()])


def groups_by_neighbours(data: DataProto) -> DataProto:
    """The mean of each pair of rows, which hold one group in the batches that somebody has tried."""
    rewards = data.batch["rewards"].clone()
    for start in range(0, len(rewards), 2):
        rewards[start : start + 2] -= rewards[start : start + 2].mean(dim=0)
    return wrote(rewards)


def groups_by_uid(data: DataProto) -> DataProto:
    rewards, uid = data.batch["rewards"].clone(), data.non_tensor_batch["uid"]
    for name in dict.fromkeys(uid):
        rows = torch.from_numpy(np.flatnonzero(uid == name))
        rewards[rows] -= rewards[rows].mean(dim=0)
    return wrote(rewards)


def counts_pad_rows(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"] - data.batch["rewards"].mean())


def leaves_pad_rows_out(data: DataProto) -> DataProto:
    rewards, mask = data.batch["rewards"], data.batch["response_mask"]
    return wrote(rewards - (rewards * mask).sum() / mask.sum().clamp(min=1))


def needs_a_row(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"] / data.batch["rewards"].abs().amax().clamp(min=1))


def does_without_a_row(data: DataProto) -> DataProto:
    rewards = data.batch["rewards"]
    return wrote(rewards / rewards.abs().amax().clamp(min=1) if rewards.numel() else rewards.clone())


def moves_one_field_only(data: DataProto) -> DataProto:
    share = data.batch["length"] / data.batch["length"].sum().clamp(min=1)
    data.reorder(data.batch["length"].argsort())
    data.batch["share"] = share
    return data


def moves_whole_rows(data: DataProto) -> DataProto:
    data.reorder(data.batch["length"].argsort())
    data.batch["share"] = data.batch["length"] / data.batch["length"].sum().clamp(min=1)
    return data


# --- fields -----------------------------------------------------------------------------------------------------------


def takes_the_first_field(data: DataProto) -> DataProto:
    return wrote(next(iter(data.batch.values())).float())


def takes_it_by_name(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].float())


def needs_it_contiguous(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].view(-1).view(data.batch["rewards"].shape).clone())


def reshapes(data: DataProto) -> DataProto:
    return wrote(data.batch["rewards"].reshape(-1).reshape(data.batch["rewards"].shape).clone())


def masks_with_another_mask(data: DataProto) -> DataProto:
    mask, rewards = data.batch["response_mask"], data.batch["rewards"]
    return wrote(rewards * data.batch["attention_mask"][:, : rewards.shape[1]], response_mask=mask.clone())


def masks_with_its_mask(data: DataProto) -> DataProto:
    mask = data.batch["response_mask"]
    return wrote(data.batch["rewards"] * mask, response_mask=mask.clone())


_calls = 0


def counts_its_calls(data: DataProto) -> DataProto:
    global _calls
    _calls += 1
    return wrote(data.batch["rewards"] + _calls)


def draws_noise(data: DataProto) -> DataProto:
    """Its own randomness is seeded before each run."""
    return wrote(data.batch["rewards"] + torch.rand(data.batch["rewards"].shape) + np.random.rand())


BUGS: dict[str, Bug] = {
    "another dtype": Bug(Shape, another_dtype, sound),
    "another dtype on one row": Bug(Shape, another_dtype_on_one_row, sound),
    "a missing write": Bug(Shape, without_its_write, sound),
    "an undeclared write": Bug(Shape, one_write_more, sound),
    "a graph": Bug(Shape, with_a_graph, sound),
    "broadcast": Bug(Shape, broadcast, centred),
    "NaN": Bug(Shape, nan_where_nothing_is_valid, mean_of_what_is_valid),
    "in place": Bug(Shape, in_place, sound),
    "in place by .data": Bug(Shape, in_place_past_the_counter, sound),
    "in place by numpy": Bug(Shape, in_place_by_numpy, sound),
    "in place in a cell": Bug(Shape, in_place_in_a_cell, sound),
    "in place in meta": Bug(Shape, in_place_in_meta, sound),
    "an optional field": Bug(Shape, needs_the_optional_field, sound),
    "an undeclared read": Bug(Shape, reads_undeclared, sound),
    "cumsum": Bug(Shape, sums_over_rows, sums_over_tokens),
    "row 0": Bug(Shape, looks_at_row_0, centred),
    "shift": Bug(Shape, shifts_rows, shifts_tokens),
    "sort": Bug(Shape, sorts_rows, sound),
    "neighbours": Bug(InGroups, groups_by_neighbours, groups_by_uid),
    "pad rows": Bug(Shape, counts_pad_rows, leaves_pad_rows_out),
    "no row": Bug(Shape, needs_a_row, does_without_a_row),
    "half of a move": Bug(Balance, moves_one_field_only, moves_whole_rows),
    "order of fields": Bug(Shape, takes_the_first_field, takes_it_by_name),
    "contiguous": Bug(Shape, needs_it_contiguous, reshapes),
    "another mask": Bug(Masked, masks_with_another_mask, masks_with_its_mask),
    "state": Bug(Shape, counts_its_calls, draws_noise),
}
