"""Meta of a concat: equal where present, `metrics` collected once, and whatever a declared policy says."""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Merge, Meta
from batchpact.schemas.merging import collect
from tests.dataproto.support import refuses


def merged(*metas: dict[str, Any]) -> dict[str, Any]:
    return DataProto.concat([DataProto(meta_info=meta) for meta in metas]).meta_info


def test_keys_of_all_parts_are_kept() -> None:
    assert merged({"a": 1}, {"b": 2}, {"a": 1, "c": None}) == {"a": 1, "b": 2, "c": None}


@pytest.mark.parametrize("value", [float("nan"), [1, {"x": np.array([np.nan])}], torch.arange(3), "text", None])
def test_equal_values_are_one_value(value: Any) -> None:
    assert merged({"a": value}, {"a": deepcopy(value)})["a"] is value


def test_different_values_are_named_with_their_parts() -> None:
    with refuses(
        "concat",
        "BP041 conflict  step  part 0 and part 3 differ: 1 against 2; one value for the batch",
        "BP041 conflict  b     part 1 and part 2 differ: ['x'][1]: 2 against 3; one value for the batch",
    ):
        merged({"step": 1}, {"b": {"x": [1, 2]}}, {"b": {"x": [1, 3]}}, {"step": 2})


def test_a_conflict_of_meta_stands_beside_one_of_fields() -> None:
    with refuses(
        "concat",
        "BP042 parts     x  missing in part 1, present in part 0; every part has the same fields; the producer must "
        "write it for every part, or the field be left out of all",
        "BP041 conflict  k  part 0 and part 1 differ: 1 against 2; one value for the batch",
    ):
        DataProto.concat(
            [
                DataProto.from_dict({"x": torch.ones(1), "y": torch.ones(1)}, meta_info={"k": 1}),
                DataProto.from_dict({"y": torch.ones(1)}, meta_info={"k": 2}),
            ]
        )


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_metrics_of_the_parts_are_collected() -> None:
    parts = {"loss": 1.0, "lr": 0.1}, {"loss": 2.0, "lr": 0.1}

    assert merged(*({"metrics": part} for part in parts)) == {"metrics": {"loss": [1.0, 2.0], "lr": [0.1, 0.1]}}
    assert parts == ({"loss": 1.0, "lr": 0.1}, {"loss": 2.0, "lr": 0.1})


def test_collecting_twice_does_not_nest() -> None:
    once = merged({"metrics": {"loss": 1.0}}, {"metrics": {"loss": 2.0}})
    twice = merged(once, {"metrics": {"loss": 3.0}}, {"metrics": {"loss": [4.0, 5.0]}})

    assert twice == {"metrics": {"loss": [1.0, 2.0, 3.0, 4.0, 5.0]}}
    assert once == {"metrics": {"loss": [1.0, 2.0]}}


def test_a_metric_that_a_part_lacks_is_shorter() -> None:
    assert merged({"metrics": {"a": 1, "m": 2}}, {"metrics": {"a": 3}}, {}, {"metrics": None}) == {
        "metrics": {"a": [1, 3], "m": [2]}
    }


def test_metrics_of_one_part_are_collected_as_those_of_several_are() -> None:
    """Or the type would depend on the number of ranks."""
    assert merged({"metrics": {"loss": 1.0}}) == {"metrics": {"loss": [1.0]}}


def test_metrics_that_all_parts_hold_by_identity_are_carried() -> None:
    data = DataProto.from_dict({"x": torch.arange(4)}, meta_info={"metrics": {"loss": 1.0}})

    assert DataProto.concat(data.chunk(2)).meta_info["metrics"] is data.meta_info["metrics"]


def test_metrics_that_are_none_stay_so() -> None:
    assert merged({"metrics": None}) == {"metrics": None}
    assert merged({"metrics": None}, {}) == {"metrics": None}
    assert merged({"metrics": None}, {"metrics": None}) == {"metrics": None}


def test_lists_of_dicts_are_collected_entry_by_entry() -> None:
    """As verl's workers return them."""
    assert merged({"metrics": [{"a": 1}, {"a": 2}]}, {"metrics": [{"a": 3, "b": 4}]}) == {
        "metrics": {"a": [1, 2, 3], "b": [4]}
    }


def test_metrics_that_are_no_dicts_become_a_list() -> None:
    assert collect([1.0, {"a": 1}]) == [1.0, {"a": 1}]
    assert collect([{"a": 1}, 1.0]) == [{"a": 1}, 1.0]
    assert collect([[1.0], 2.0]) == [1.0, 2.0]


def test_empty_lists_stay_lists() -> None:
    assert merged({"metrics": []}, {"metrics": []}) == {"metrics": []}
    assert merged({"metrics": {}}, {"metrics": {}}) == {"metrics": {}}


# --- declared policies ------------------------------------------------------------------------------------------------


def test_every_meta_that_cannot_be_merged_is_named_and_nothing_is_changed() -> None:
    class Metas(BatchSchema):
        timing: Annotated[Meta[dict[str, float]], Merge.close(0.01)]
        tokens: Annotated[Meta[int], Merge("sum")]
        best: Annotated[Meta[Any], Merge("max")]

    metas: list[dict[str, Any]] = [
        {"timing": {"gen": 1.0}, "tokens": 5, "best": "a"},
        {"timing": {"gen": 1.5}, "tokens": 6, "best": 2.0},
    ]
    parts = [DataProto(meta_info=deepcopy(meta)).bind(Metas) for meta in metas]

    with refuses(
        "concat",
        "BP041 conflict  timing  part 0 and part 1 differ: ['gen']: 1.0 against 1.5; one value for the batch",
        "BP041 conflict  best    max is for numbers, arrays and tensors, and part 0 has str, part 1 has float 2.0; "
        "one value for the batch",
    ):
        DataProto.concat(parts)

    assert [part.meta_info for part in parts] == metas


def test_a_declared_policy_counts_before_the_default() -> None:
    class Metas(BatchSchema):
        metrics: Annotated[Meta[dict[str, float]], Merge("mean")]

    parts = [DataProto(meta_info={"metrics": {"loss": loss}}).bind(Metas) for loss in (1.0, 2.0)]

    assert DataProto.concat(parts).meta_info == {"metrics": {"loss": 1.5}}
