"""Rows that lack optional fields, collated under a schema: filled as declared, in any order of the rows (M3)."""

from __future__ import annotations

from typing import Annotated

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.dataproto import DataProto, DataProtoItem, collate_fn
from batchpact.schemas import BatchSchema, ContractError, Fill, NonTensor
from tests.dataproto.support import function_refuses, says


class Scored(BatchSchema):
    ids: Int64[Tensor, "batch response"]
    acc: NonTensor[float]
    score: Annotated[NonTensor[float], Fill(0.0)] | None = None
    bonus: Annotated[Float32[Tensor, "batch"], Fill(-1.0)] | None = None
    pred: NonTensor[str] | None = None


def row(number: int, **more: object) -> DataProtoItem:
    """A row with an own number, an `acc` and more cells; `bonus` is a tensor."""
    tensors = {"ids": torch.tensor([[number, number]])}
    if "bonus" in more:
        tensors["bonus"] = torch.tensor([more.pop("bonus")])
    made = DataProto.from_dict(tensors, {"acc": [number / 2], **{key: [value] for key, value in more.items()}})
    item: DataProtoItem = made[0]
    return item


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_row_without_an_optional_field_is_filled_and_known_as_absent(order: tuple[int, ...]) -> None:
    rows = [row(0, score=1.5, bonus=2.0), row(1), row(2, score=0.5)]

    made = collate_fn([rows[at] for at in order], schema=Scored)

    assert made.batch is not None
    assert made.batch["ids"][:, 0].tolist() == list(order)
    assert made.non_tensor_batch["score"].tolist() == [[1.5, 0.0, 0.5][at] for at in order]
    assert made.batch["bonus"].tolist() == [[2.0, -1.0, -1.0][at] for at in order]
    assert made.presence("score").tolist() == [[True, False, True][at] for at in order]
    assert made.presence("bonus").tolist() == [[True, False, False][at] for at in order]
    assert made.presence("acc").tolist() == [True, True, True]


def test_a_field_that_no_row_has_stays_away() -> None:
    assert list(collate_fn([row(0), row(1)], schema=Scored).non_tensor_batch) == ["acc"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_optional_field_without_a_fill_is_an_error_with_its_rows(order: tuple[int, ...]) -> None:
    """In both orders; by the keys of row 0 it would be lost, or a KeyError."""
    rows = [row(0, score=1.0, pred="A"), row(1, score=1.0)]

    with function_refuses(
        "collate_fn",
        f"BP042 parts  pred  not in non_tensor_batch of row {order.index(1)}; every row has the same fields",
    ):
        collate_fn([rows[at] for at in order], schema=Scored)


def test_the_result_keeps_to_the_schema() -> None:
    rows = [row(0, acc="high"), row(1)]

    with says(
        ContractError,
        "where a batch is bound to Scored",
        "BP006 type  acc  row 0: str, Input should be a valid number, declared float per row",
    ):
        collate_fn(rows, schema=Scored)
