"""A `TensorDict` without gaps in memory, in every layout."""

from __future__ import annotations

import pytest
import torch
from tensordict import NonTensorData, TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import jagged, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def test_tensors_without_gaps_are_not_copied_and_the_rest_is_an_own_one() -> None:
    batch = small()

    made = tu.contiguous(batch)

    assert made is not batch
    assert shown(made) == shown(small())
    assert made["ids"].data_ptr() == batch["ids"].data_ptr()
    tu.assign_non_tensor(made, step=0)
    assert tu.get(batch, "step") == 3


def test_a_tensor_with_gaps_is_written_out() -> None:
    matrix = torch.arange(12).reshape(4, 3)

    made = tu.contiguous(tensors(4, x=matrix[:, :2], y=TensorDict({"z": matrix.t()[:, :4].t()}, batch_size=[4])))

    assert made["x"].is_contiguous() and made["y", "z"].is_contiguous()
    assert made["x"].tolist() == matrix[:, :2].tolist()
    assert made["y", "z"].tolist() == matrix.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nested_tensors_of_every_layout_have_no_gaps_then(layout: str) -> None:
    field = LAYOUTS[layout].nested([2, 0, 3, 1])

    made = tu.contiguous(tensors(4, x=field))["x"]

    assert made.is_contiguous()
    assert plain_tensor(made) == plain_tensor(field)
    if made.layout is torch.jagged:
        assert made.lengths() is None
        assert made.values().is_contiguous()


def test_fields_that_share_their_offsets_share_them_then() -> None:
    flat = jagged([1], [2, 3])
    twin = torch.nested.nested_tensor_from_jagged(flat.values() * 2, flat.offsets())

    made = tu.contiguous(tensors(2, x=flat, y=twin))

    assert plain_tensor(made["x"] + made["y"]) == plain_tensor(jagged([3], [6, 9]))


def test_batch_size_and_device_stay() -> None:
    batch = TensorDict({"k": NonTensorData(data=1)}, batch_size=[3], device="cpu")

    assert tu.contiguous(batch).batch_size == (3,)
    assert tu.contiguous(batch).device == torch.device("cpu")
    assert tu.contiguous(with_meta(k=1)).batch_size == ()


def test_anything_else_has_no_gaps_to_close() -> None:
    with refuses(
        "contiguous",
        "BP045 store  batch  f32[1]; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one",
    ):
        tu.contiguous(torch.ones(1))  # type: ignore[arg-type]
