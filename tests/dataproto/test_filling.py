"""Optional fields that some parts lack: filled to fit the part, marked as absent, the same in both orders."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, ContractError, Fill, Jagged, Meta, NonTensor, Pad
from tests.dataproto.policies import OPTIONAL, by_uid, rollout, rollouts, snapshot
from tests.dataproto.support import jagged, law, plain, refuses, says


class Scored(BatchSchema):
    responses: Int64[Tensor, "batch response"]
    score: Annotated[Float32[Tensor, "batch response"], Fill(-1.5)] | None = None
    mean: Annotated[Float32[Tensor, "batch"], Fill(0.0)] | None = None
    tool: Annotated[NonTensor[str], Fill("none")] | None = None
    acc: Annotated[NonTensor[Any], Fill(0.5)] | None = None


def scored(rows: int, response: int, **fields: Any) -> DataProto:
    tensors = {key: value for key, value in fields.items() if isinstance(value, torch.Tensor)}
    columns = {key: value for key, value in fields.items() if key not in tensors}
    responses = torch.zeros(rows, response, dtype=torch.int64)
    return DataProto.from_dict({"responses": responses, **tensors}, columns).bind(Scored)


def tensor(data: DataProto, key: str) -> Any:
    assert data.batch is not None
    return [row.tolist() for row in data.batch[key].unbind(0)]


pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

# --- what is filled ---------------------------------------------------------------------------------------------------


def test_rows_of_parts_without_the_field_hold_its_fill_and_are_absent() -> None:
    """Case M4."""
    parts = [scored(1, 2), scored(2, 2, score=torch.ones(2, 2), tool=["a", "b"]), scored(1, 2, acc=[1.0])]
    before = [snapshot(part) for part in parts]

    joined = DataProto.concat(parts)

    assert tensor(joined, "score") == [[-1.5, -1.5], [1.0, 1.0], [1.0, 1.0], [-1.5, -1.5]]
    assert joined.presence("score").tolist() == [False, True, True, False]
    assert list(joined.non_tensor_batch["tool"]) == ["none", "a", "b", "none"]
    assert joined.presence("tool").tolist() == [False, True, True, False]
    assert list(joined.non_tensor_batch["acc"]) == [0.5, 0.5, 0.5, 1.0]
    assert joined.presence("acc").tolist() == [False, False, False, True]
    assert joined.presence("responses").tolist() == [True] * 4
    assert "mean" not in joined.stores().names()
    assert [snapshot(part) for part in parts] == before


@law
@given(rollouts(seed=1), rollouts(seed=2), st.booleans())
def test_both_orders_have_the_same_rows(one: DataProto, two: DataProto, pad: bool) -> None:
    """Case M3: which part comes first decides nothing."""
    same = all(one.batch[key].shape[1:] == two.batch[key].shape[1:] for key in ("prompts", "responses"))
    pad = pad or not same

    there, back = DataProto.concat([one, two], pad=pad), DataProto.concat([two, one], pad=pad)

    assert by_uid(there) == by_uid(back)
    order = list(range(len(one), len(there))) + list(range(len(one)))
    assert {key: there.presence(key)[order].tolist() for key in OPTIONAL if there.stores().find(key)} == {
        key: back.presence(key).tolist() for key in OPTIONAL if back.stores().find(key)
    }


@law
@given(rollouts(seed=1), rollouts(seed=2))
def test_a_field_is_present_where_its_part_has_it(one: DataProto, two: DataProto) -> None:
    joined = DataProto.concat([one, two], pad=True)

    for key in OPTIONAL:
        held = [part.stores().find(key) is not None for part in (one, two)]
        if any(held):
            expected = [held[0]] * len(one) + [held[1]] * len(two)
            assert joined.presence(key).tolist() == expected
        else:
            assert joined.stores().find(key) is None


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_a_filled_tensor_is_as_long_as_the_rows_of_its_part() -> None:
    """The other part has longer responses; only with `pad` do they become equal, and then by `Pad`, not by `Fill`."""
    one = rollout(1, response=2, seed=1, optional=["scores"])
    two = rollout(2, response=4, seed=2, optional=[])

    assert DataProto.concat([two, one], pad=True).batch["scores"][:2].tolist() == [[0.0] * 4] * 2
    assert DataProto.concat([one, two], pad=True).batch["scores"][1:].tolist() == [[0.0] * 4] * 2
    long = rollout(1, response=4, seed=1, optional=["scores"])
    short = rollout(2, response=2, seed=2, optional=[])
    assert DataProto.concat([long, short], pad=True).batch["scores"][1:].tolist() == [[0.0, 0.0, -1.0, -1.0]] * 2

    with refuses(
        "concat",
        "BP042 parts  prompts    i64 rows of [2] in part 0, i64 rows of [1] in part 1; one dtype, layout and row "
        "shape; concat(parts, pad=True) makes rows equally long",
        "BP042 parts  input_ids  i64 rows of [5] in part 0, i64 rows of [4] in part 1; one dtype, layout and row "
        "shape; concat(parts, pad=True) makes rows equally long",
    ):
        DataProto.concat([rollout(1, seed=1, optional=["scores"]), rollout(2, prompt=1, seed=2, optional=[])])


def test_a_filled_jagged_tensor_has_the_lengths_of_its_siblings() -> None:
    one, two = rollout(2, seed=1), rollout(3, seed=2, optional=["scores"])
    turns = one.batch["turns"]
    one.batch["turn_scores"] = torch.nested.nested_tensor_from_jagged(turns.values().float(), turns.offsets())

    joined = DataProto.concat([two, one])

    assert tensor(joined, "turn_scores")[:3] == [[0.5] * len(row) for row in tensor(two, "turns")]
    assert tensor(joined, "turn_scores")[3:] == tensor(one, "turns")
    assert (joined.batch["turns"] + joined.batch["turn_scores"]).is_nested  # torch adds what shares its offsets


def test_ragged_sums_and_sizes_that_only_filled_fields_have() -> None:
    class Ragged(BatchSchema):
        prompts: Annotated[Int64[Tensor, "batch prompt"], Jagged("prompt")]
        width: Int64[Tensor, "batch width"]
        ids: Annotated[Int64[Tensor, "batch prompt+width+1"], Jagged("prompt+width+1"), Fill(7)] | None = None
        alone: Annotated[Int64[Tensor, "batch alone"], Jagged("alone"), Fill(7)] | None = None
        friend: Annotated[Int64[Tensor, "batch alone"], Jagged("alone"), Fill(7)] | None = None
        heads: Annotated[Int64[Tensor, "batch head width"], Fill(7)] | None = None
        twice: Annotated[Int64[Tensor, "batch 2*width _"], Fill(7)] | None = None

    full = {
        "prompts": jagged([1]),
        "width": torch.zeros(1, 1, dtype=torch.int64),
        "ids": jagged([1, 2, 3]),
        "alone": jagged([1, 2]),
        "friend": jagged([3, 4]),
        "heads": torch.zeros(1, 2, 1, dtype=torch.int64),
        "twice": torch.zeros(1, 2, 3, dtype=torch.int64),
    }
    bare = {"prompts": jagged([1, 2], []), "width": torch.zeros(2, 1, dtype=torch.int64)}
    one, two = (DataProto.from_dict(fields).bind(Ragged) for fields in (full, bare))

    joined = DataProto.concat([one, two])

    assert tensor(joined, "ids") == [[1, 2, 3], [7, 7, 7, 7], [7, 7]]
    assert tensor(joined, "alone") == [[1, 2], [], []]  # nothing says how long its rows are
    assert tensor(joined, "friend") == [[3, 4], [], []]
    assert tensor(joined, "heads")[1:] == [[[7], [7]]] * 2
    assert tensor(joined, "twice")[1:] == [[[7, 7, 7], [7, 7, 7]]] * 2


def test_two_filled_fields_share_a_size_that_no_other_field_has() -> None:
    class Shared(BatchSchema):
        x: Int64[Tensor, "batch"]
        one: Annotated[Int64[Tensor, "batch k"], Fill(1), Pad(0)] | None = None
        two: Annotated[Int64[Tensor, "batch k"], Fill(2), Pad(0)] | None = None

    def part(**tensors: Any) -> DataProto:
        return DataProto.from_dict({"x": torch.zeros(1, dtype=torch.int64), **tensors}).bind(Shared)

    parts = [part(one=torch.zeros(1, 3, dtype=torch.int64)), part(), part(two=torch.zeros(1, 2, dtype=torch.int64))]

    joined = DataProto.concat(parts, pad=True)

    assert tensor(joined, "one") == [[0, 0, 0], [1, 1, 1], [1, 1, 0]]
    assert tensor(joined, "two") == [[2, 2, 2], [2, 2, 2], [0, 0, 0]]


def test_parts_without_rows_or_fields_are_no_obstacle() -> None:
    full, empty = scored(2, 2, score=torch.ones(2, 2)), scored(0, 2)

    for parts in ([empty, full], [full, empty], [DataProto(), full, DataProto(meta_info={"k": 1})]):
        joined = DataProto.concat(parts)
        assert tensor(joined, "score") == [[1.0, 1.0]] * 2
        assert joined.presence("score").tolist() == [True, True]


# --- what is not filled -----------------------------------------------------------------------------------------------


def test_an_optional_field_without_fill_is_missing() -> None:
    class Plain(BatchSchema):
        x: Int64[Tensor, "batch"]
        y: Annotated[Float32[Tensor, "batch"], Pad(0.0)] | None = None

    base = {"x": torch.zeros(1, dtype=torch.int64)}
    parts = [DataProto.from_dict(base).bind(Plain), DataProto.from_dict({**base, "y": torch.ones(1)}).bind(Plain)]

    with refuses(
        "concat",
        "BP042 parts  y  missing in part 0, present in part 1; every part has the same fields; the producer must write "
        "it for every part, or the field be left out of all",
    ):
        DataProto.concat(parts)


def test_an_unbound_concat_fills_nothing() -> None:
    one, two = (DataProto.from_dict({"x": torch.ones(1)}, columns) for columns in ({}, {"tool": ["a"]}))

    with refuses(
        "concat",
        "BP042 parts  tool  missing in part 0, present in part 1; every part has the same fields; the producer must "
        "write it for every part, or the field be left out of all",
    ):
        DataProto.concat([one, two])


def test_what_no_row_can_be_made_of_is_missing() -> None:
    """A strided nested tensor or a TensorDict where a tensor is declared: the check has the last word."""

    class Nested(BatchSchema):
        x: Int64[Tensor, "batch"]
        y: Annotated[Float32[Tensor, "batch"], Fill(0.0)] | None = None

    base = {"x": torch.zeros(2, dtype=torch.int64)}
    bare = DataProto.from_dict(base).bind(Nested)
    for odd in (torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), TensorDict({}, batch_size=[2])):
        part = DataProto.from_dict(base).bind(Nested)
        part.batch["y"] = odd
        with refuses(
            "concat",
            "BP042 parts  y  missing in part 0, present in part 1; every part has the same fields; the producer must "
            "write it for every part, or the field be left out of all",
        ):
            DataProto.concat([bare, part])


def test_a_field_that_stands_in_meta_is_not_filled() -> None:
    class Either(BatchSchema):
        x: Int64[Tensor, "batch"]
        t: Annotated[Meta[float] | Float32[Tensor, "batch"], Fill(0.0)] | None = None

    base = {"x": torch.zeros(1, dtype=torch.int64)}
    one = DataProto.from_dict(base, meta_info={"t": 0.7}).bind(Either)

    joined = DataProto.concat([one, DataProto.from_dict(base).bind(Either)])

    assert joined.meta_info == {"t": 0.7}
    assert list(joined.batch.keys()) == ["x"]


def test_a_part_that_does_not_keep_to_the_schema_is_told_so_and_nothing_is_changed() -> None:
    one, two = scored(1, 2, score=torch.ones(1, 2)), scored(1, 2)
    two.batch["responses"] = torch.zeros(1, 2, 2, dtype=torch.int64)
    before = [plain(part) for part in (one, two)]

    with says(
        ContractError,
        "where part 1 is bound to Scored",
        'BP011 rank  responses  i64[1, 2, 2], declared "batch response"; 3 axes where 2 are declared; nothing is '
        "squeezed or expanded",
    ):
        DataProto.concat([one, two], pad=True)

    assert [plain(part) for part in (one, two)] == before
