"""What a bound schema says of its fields' policies, and when keys are looked at."""

from __future__ import annotations

import pickle
from typing import Annotated

import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.dataproto.binding import bound
from batchpact.schemas import BatchSchema, ContractError, Key
from batchpact.schemas.merging import DEFAULTS, merge_values
from tests.dataproto import policies
from tests.dataproto.support import says


class Bare(BatchSchema):
    x: Int64[Tensor, "batch"]


def test_a_bound_schema_says_the_policies_of_its_fields() -> None:
    made = bound(policies.Rollout, {})

    assert [field.key for field in made.keys] == ["uid"]
    assert {key: merge.how for key, merge in made.merges.items()} == {
        "tokens": "sum",
        "loss": "mean",
        "best": "max",
        "errors": "collect",
        "tags": "set_union",
        "timing": "close",
        "host": "first",
        "figures": "by_key",
    }
    assert set(made.counted) == {"metrics", "tokens", "loss", "errors", "tags", "figures"}
    assert set(bound(Bare, {}).counted) == {"metrics"}
    assert {key for key, declared in made.policies.items() if declared.fill} == set(policies.OPTIONAL)


def test_what_is_counted_is_what_changes_when_it_is_merged_with_itself() -> None:
    made = bound(policies.Rollout, {})
    every = {**DEFAULTS, **made.merges}

    for key, policy in every.items():
        value = policies.meta()[key]
        assert (repr(merge_values([(name, value) for name in "abc"], policy)) != repr(value)) is (key in made.counted)


def test_the_sizes_of_a_batch_are_known_as_far_as_they_go() -> None:
    made = bound(policies.Rollout, {"response": 4})
    stores = policies.rollout(2, prompt=1, response=3, optional=[]).stores()

    sizes = made.sizes(stores)

    assert {name: sizes[name] for name in ("batch", "prompt", "response")} == {"batch": 2, "prompt": 1, "response": 4}
    assert bound(policies.Rollout, {}).sizes(stores)["response"] == 3


def test_keys_are_checked_at_every_concat_on_the_cpu() -> None:
    class Numbered(BatchSchema):
        index: Annotated[Int64[Tensor, "batch"], Key()]

    parts = [DataProto.from_dict({"index": torch.tensor(rows)}).bind(Numbered) for rows in ([0, 1], [2, 0])]

    with says(
        ContractError,
        "where a batch is bound to Numbered",
        "BP023 keys  index  0 in rows 0, 3; one row for one key; where rows may be copies of one another, it is a "
        "Group()",
    ):
        DataProto.concat(parts)


def test_a_bound_batch_travels_with_policies_that_are_functions() -> None:
    data = policies.rollout(2)

    assert pickle.loads(pickle.dumps(data))._bound == data._bound
    assert pickle.loads(pickle.dumps(data)) == data
