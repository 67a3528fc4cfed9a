"""Union of bound batches: meta by its policy, rows that were computed anew within their tolerance (case T5)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.dataproto import DataProto, pad_dataproto_to_divisor
from batchpact.dataproto.row_marks import RowMarks
from batchpact.schemas import BatchSchema, ContractError, Jagged, Key, Merge, Meta, NonTensor
from tests.dataproto.policies import meta, rollout, rollouts, snapshot
from tests.dataproto.support import jagged, law, plain, refuses, says


class Recomputed(BatchSchema):
    old_log_probs: Annotated[Float32[Tensor, "batch response"], Merge.close(1e-4)]
    turns: Annotated[Float32[Tensor, "batch turn"], Jagged("turn"), Merge.close(1e-4)] | None = None
    score: Annotated[NonTensor[float], Merge.close(1e-4)] | None = None
    ids: Int64[Tensor, "batch response"] | None = None
    tokens: Annotated[Meta[int], Merge("sum")] = 0
    timing: Annotated[Meta[dict[str, float]], Merge("mean")] | None = None


def log_probs(**others: Any) -> DataProto:
    tensors = {"old_log_probs": torch.tensor([[-1.0, -2.0], [-3.0, float("-inf")]])}
    columns = {key: value for key, value in others.items() if not isinstance(value, torch.Tensor)}
    tensors |= {key: value for key, value in others.items() if key not in columns}
    return DataProto.from_dict(tensors, columns)


CONFLICT = "equal values, or on_conflict='left' or 'right'"

# --- meta -------------------------------------------------------------------------------------------------------------


def test_meta_is_merged_by_its_policy() -> None:
    data = log_probs().bind(Recomputed)
    data.meta_info.update(tokens=5, timing={"gen": 1.0})
    other = DataProto(meta_info={"tokens": 6, "timing": {"gen": 2.0, "all": 4.0}, "free": 1})
    before = snapshot(other)

    data.union(other)

    assert data.meta_info == {"tokens": 11, "timing": {"gen": 1.5, "all": 4.0}, "free": 1}
    assert snapshot(other) == before


def test_an_unbound_union_compares_meta() -> None:
    with refuses("union", f"BP041 conflict  tokens  the sides differ: 5 against 6; {CONFLICT}"):
        DataProto(meta_info={"tokens": 5}).union(DataProto(meta_info={"tokens": 6}))
    with refuses("union", f"BP041 conflict  metrics  the sides differ: [0]: 1 against 2; {CONFLICT}"):
        DataProto(meta_info={"metrics": [1]}).union(DataProto(meta_info={"metrics": [2]}))


@pytest.mark.parametrize(
    ("on_conflict", "timing"), [("left", {"gen": 1.0}), ("right", {"gen": "fast"})], ids=["left", "right"]
)
def test_what_cannot_be_merged_is_a_conflict(on_conflict: Any, timing: Any) -> None:
    data = log_probs().bind(Recomputed)
    data.meta_info.update(tokens=5, timing={"gen": 1.0})
    data._writers = {"timing": "rollout"}
    other = DataProto(meta_info={"tokens": 6, "timing": {"gen": "fast"}})
    before = snapshot(data)

    with refuses(
        "union",
        "BP041 conflict  timing  ['gen']: mean is for numbers, arrays and tensors, and left has float 1.0, right has "
        f"str (left written by 'rollout'); {CONFLICT}",
    ):
        data.union(other)
    assert snapshot(data) == before

    assert data.union(other, on_conflict=on_conflict).meta_info == {"tokens": 11, "timing": timing}


def test_what_a_stage_rewrites_is_not_merged() -> None:
    data = log_probs().bind(Recomputed)
    data.meta_info["tokens"] = 5
    other = DataProto(meta_info={"tokens": 6})
    other._rewrites = frozenset(["tokens"])

    assert data.union(other).meta_info == {"tokens": 6}


@law
@given(rollouts(), st.data())
def test_union_undoes_select_with_every_policy(data: DataProto, draw: st.DataObject) -> None:
    before = snapshot(data)
    keys = [draw.draw(st.lists(st.sampled_from(sorted(held)), unique=True)) for held in data.stores()[:3]]
    some = data.select(*keys)

    assert snapshot(data.union(some)) == before
    assert data.union(data.select()).meta_info == meta()


# --- rows that were computed anew -------------------------------------------------------------------------------------


def test_values_within_the_tolerance_are_equal_and_the_left_ones_stay() -> None:
    """Case T5."""
    kept = log_probs(turns=jagged([1.0], [2.0, 3.0], dtype=torch.float32), score=np.array([0.5, 1.0])).bind(Recomputed)
    tensors, columns = dict(kept.batch.items()), dict(kept.non_tensor_batch)
    near = 1 + 1e-6
    anew = DataProto.from_dict(
        {
            "old_log_probs": tensors["old_log_probs"] * near,
            "turns": torch.nested.nested_tensor_from_jagged(
                tensors["turns"].values() * near, tensors["turns"].offsets()
            ),
        },
        {"score": columns["score"] * near},
    )
    before = snapshot(anew)

    kept.union(anew)

    assert all(kept.batch[key] is value for key, value in tensors.items())
    assert all(kept.non_tensor_batch[key] is value for key, value in columns.items())
    assert snapshot(anew) == before


def test_values_beyond_the_tolerance_are_named_with_the_largest_deviation_and_the_first_row() -> None:
    data = log_probs(turns=jagged([1.0], [2.0, 3.0], dtype=torch.float32), score=[0.5, 1.0]).bind(Recomputed)
    far = data.batch["old_log_probs"].clone()
    far[0] *= 1 + 1e-5  # within
    far[1, 0] += 0.25
    other = DataProto.from_dict(
        {"old_log_probs": far, "turns": jagged([1.0], [2.0, 4.0], dtype=torch.float32)}, {"score": [0.5, 1.5]}
    )
    before = snapshot(data)

    with refuses(
        "union",
        "BP041 conflict  old_log_probs  left and right differ: 1 element differs by up to 0.25, first in row 1; "
        f"{CONFLICT}",
        "BP041 conflict  turns          left and right differ: 1 element differs by up to 1, first in row 1; "
        f"{CONFLICT}",
        f"BP041 conflict  score          left and right differ: [1]: 1.0 against 1.5; {CONFLICT}",
    ):
        data.union(other)
    assert snapshot(data) == before

    assert data.union(other, on_conflict="left").batch["old_log_probs"][1, 0] == -3.0
    assert data.union(other, on_conflict="right").batch["old_log_probs"] is far


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "NaN on one side"),
        (0.0, "by up to inf"),
    ],
)
def test_infinity_is_near_to_nothing_else(value: float, text: str) -> None:
    data, other = log_probs().bind(Recomputed), log_probs()
    assert data.union(log_probs()) is data
    other.batch["old_log_probs"][1, 1] = value

    with refuses(
        "union",
        f"BP041 conflict  old_log_probs  left and right differ: 1 element differs {text}, first in row 1; {CONFLICT}",
    ):
        data.union(other)


def test_other_kinds_are_never_close() -> None:
    data = log_probs().bind(Recomputed)

    with refuses(
        "union", f"BP041 conflict  old_log_probs  left and right differ: f32[2, 2] against bf16[2, 2]; {CONFLICT}"
    ):
        data.union(DataProto.from_dict({"old_log_probs": data.batch["old_log_probs"].bfloat16()}))
    with refuses(
        "union", f"BP041 conflict  ids  the sides differ: 1 element differs by up to 1, first in row 0; {CONFLICT}"
    ):
        log_probs(ids=torch.tensor([[10**9, 1]] * 2)).bind(Recomputed).union(
            DataProto.from_dict({"ids": torch.tensor([[10**9 + 1, 1], [10**9, 1]])})
        )


def test_a_policy_for_meta_says_nothing_of_rows() -> None:
    class Either(BatchSchema):
        temperature: Annotated[Meta[float] | Float32[Tensor, "batch"], Merge("mean")]

    data = DataProto.from_dict({"temperature": torch.tensor([1.0, 1.0])}).bind(Either)

    with refuses(
        "union",
        f"BP041 conflict  temperature  the sides differ: 1 element differs by up to 1, first in row 1; {CONFLICT}",
    ):
        data.union(DataProto.from_dict({"temperature": torch.tensor([1.0, 2.0])}))


def test_concat_does_not_merge_rows() -> None:
    data = log_probs().bind(Recomputed)

    assert plain(DataProto.concat(data.chunk(2))) == plain(data)


# --- both sides -------------------------------------------------------------------------------------------------------


def test_the_policies_of_the_right_side_count_where_the_left_has_none() -> None:
    data = log_probs().bind(Recomputed)
    data.meta_info["tokens"] = 5

    joined = DataProto(meta_info={"tokens": 6}).union(data)

    assert joined.meta_info == {"tokens": 11}
    assert joined._bound is None


def test_a_union_checks_the_schema_of_the_left_side_with_what_moved() -> None:
    class Typed(BatchSchema):
        x: Int64[Tensor, "batch"] | NonTensor[int]

    class Strict(BatchSchema):
        x: NonTensor[int]

    other = DataProto.from_dict({"x": torch.tensor([1, 2])})
    other._rewrites = frozenset(["x"])

    moved = DataProto.from_dict({}, {"x": [1, 2]}).bind(Typed).union(other)
    assert moved.non_tensor_batch == {}
    with says(
        ContractError,
        "where a batch is bound to Strict",
        "BP003 place  x  tensor i64[2]; declared non-tensor, one per row",
    ):
        DataProto.from_dict({}, {"x": [1, 2]}).bind(Strict).union(other)


def test_other_pad_rows_are_other_rows() -> None:
    """Where no key tells rows apart, the marks do."""
    padded, _ = pad_dataproto_to_divisor(DataProto.from_dict({"x": torch.arange(3)}), 4)
    other = DataProto.from_dict({"y": torch.arange(4)})
    hint = "a union joins fields of the same rows; one side was reordered or selected; do the same to the other"

    other._marks = RowMarks(pads=np.array([True, False, False, False]))
    with refuses("union", f"BP016 rows  batch  row 0 is padding on the right and not on the left; {hint}"):
        padded.union(other)
    with refuses("union", f"BP016 rows  batch  row 0 is padding on the left and not on the right; {hint}"):
        other.union(padded)
    other._marks = RowMarks(pads=np.array([False, False, False, True]))
    assert padded.union(other).pad_mask.tolist() == [False, False, False, True]


def test_a_union_may_not_repeat_a_key() -> None:
    class Keyed(BatchSchema):
        x: Int64[Tensor, "batch"]
        uid: Annotated[NonTensor[str], Key()] | None = None

    data = DataProto.from_dict({"x": torch.arange(3)}).bind(Keyed)

    with says(
        ContractError,
        "where a batch is bound to Keyed",
        "BP023 keys  uid  'a' in rows 0, 2; one row for one key; where rows may be copies of one another, it is a "
        "Group()",
    ):
        data.union(DataProto.from_dict({}, {"uid": ["a", "b", "a"]}))

    assert data.non_tensor_batch == {}


def test_a_rollout_is_joined_with_what_its_workers_made_of_its_parts() -> None:
    data = rollout(4)
    results = [DataProto.from_dict({"values": part.batch["responses"] / 2}) for part in data.chunk(2)]

    data.union(DataProto.concat(results))

    assert data.batch["values"].tolist() == (data.batch["responses"] / 2).tolist()
    assert data.meta_info == meta()
