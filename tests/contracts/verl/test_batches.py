"""What travels of a batch, where verl is not needed to say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.contracts import checking, use_config
from batchpact.contracts.kept_back import KEPT_BACK
from batchpact.contracts.verl.batches import Projected, project
from batchpact.contracts.verl.methods import MethodContract
from batchpact.schemas.errors import BatchError
from batchpact.schemas.stores import Stores
from tests.contracts.stages import VerlLike, stores_of
from tests.contracts.verl.schemas import Advantage, ComputeValues, Neutral, fields, ours, rewards, tensor_dict


def verl_like(rows: int) -> VerlLike:
    data = ours(rows)
    return VerlLike(data.batch, dict(data.non_tensor_batch), dict(data.meta_info))


in_both = pytest.mark.parametrize("batch_of", [verl_like, tensor_dict])


def projected(batch: Any, contract: MethodContract | None = None, groups: int = 2, **kwargs: Any) -> Projected:
    return project(contract or MethodContract(ComputeValues), batch, (None, batch), kwargs, groups)


def names(data: Any) -> list[str]:
    return sorted(stores_of(data).names())


@in_both
def test_the_declared_reads_travel_with_the_arguments_in_the_meta(batch_of: Any) -> None:
    with use_config({"use_bonus": False, "algorithm": {"scale": 2.0}}):
        sent = projected(batch_of(4))

    assert type(sent.data) is type(batch_of(4))
    assert names(sent.data) == ["gamma", "rewards", "scale", "uid"]
    assert stores_of(sent.data).meta == {"gamma": 0.5, "scale": 2.0}
    assert sent.pads == 0


@in_both
def test_an_argument_that_the_method_takes_stays_out_of_the_meta(batch_of: Any) -> None:
    contract = MethodContract(ComputeValues, {"self": 0, "data": 1, "scale": 2})
    batch, kwargs = batch_of(4), {"scale": 2.0}

    sent = project(contract, batch, (None, batch), kwargs, 2)

    assert "scale" not in names(sent.data)
    assert kwargs == {"scale": 2.0}


@in_both
def test_a_method_that_is_a_stage_is_told_what_stayed_behind(batch_of: Any) -> None:
    contract = MethodContract(ComputeValues, is_stage=True)

    note = stores_of(projected(batch_of(4), contract).data).meta[KEPT_BACK]

    assert note == {
        "tensor": {"pixels": "tensor f32[4, 5]"},
        "non_tensor": {"images": "4 objects in non_tensor_batch"},
        "meta": {"global_steps": "int in meta_info"},
        "arg": {},
    }
    with checking("off"):
        assert KEPT_BACK not in names(projected(batch_of(4), contract).data)


def test_neutral_rows_are_added_at_the_end() -> None:
    sent = projected(tensor_dict(5), MethodContract(Neutral), groups=4)

    assert sent.pads == 3
    assert torch.equal(sent.data["rewards"], torch.cat([rewards(5), torch.zeros(3, 3)]))


def test_rows_that_cannot_be_shared_are_told_with_the_ways_out() -> None:
    """Case S1."""
    with pytest.raises(BatchError) as caught:
        projected(tensor_dict(100), groups=8)

    assert str(caught.value) == (
        "1 problem in contract_dispatch.compute_values; nothing was changed\n\n"
        "  BP043 split  batch  100 rows for 8 data-parallel groups leave 4 over; verl gives each group as many rows; "
        "leave 4 out, pad 4 with pad_dataproto_to_divisor(batch, 8), or declare pad_safe = True on ComputeValues"
    )


def test_fewer_rows_than_groups_cannot_be_left_out() -> None:
    with pytest.raises(BatchError, match=r"1 row for 4 data-parallel groups leave 1 over; .* rows; pad 3 with"):
        projected(tensor_dict(1), groups=4)


def test_a_group_of_rows_is_neither_cut_nor_padded() -> None:
    contract = MethodContract(Advantage)

    assert projected(tensor_dict(4), contract).pads == 0
    with pytest.raises(BatchError, match="'u1' in row 2 and in row 3"):
        projected(tensor_dict(6), contract)
    with pytest.raises(BatchError, match="5 rows for 2 data-parallel groups"):
        projected(tensor_dict(5), contract)


@in_both
def test_the_callers_batch_stays_as_it_is(batch_of: Any) -> None:
    batch = batch_of(4)
    before = Stores(*(dict(store) for store in stores_of(batch)[:3]))

    sent = projected(batch)
    stores_of(sent.data).columns["uid"][0] = "another"

    after = stores_of(batch)
    assert names(batch) == sorted(before.names())
    assert all(after.tensors[key] is value for key, value in before.tensors.items())
    assert after.meta == fields(4)[2]
    assert isinstance(after.columns["uid"], np.ndarray)
