"""Fields that only some rows have: filled in the sizes of their row, or named with the rows that lack them."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Fill, Jagged, Meta, NonTensor
from batchpact.schemas.axes import Size
from batchpact.schemas.row_check import row_contract
from batchpact.schemas.row_filling import fill_rows
from batchpact.schemas.text import listed_rows, sentence


class Filled(BatchSchema):
    ids: Int64[Tensor, "batch response"]
    log_probs: Annotated[Float32[Tensor, "batch response"], Fill(-1.0)] | None = None
    logits: Annotated[Float32[Tensor, "batch response vocabulary"], Fill(0.5)] | None = None
    turns: Annotated[Int64[Tensor, "batch turn"], Jagged("turn"), Fill(0)] | None = None
    tool: Annotated[NonTensor[str], Fill("none")] | None = None
    bare: Float32[Tensor, "batch"] | None = None
    either: Meta[float] | Annotated[Int64[Tensor, "batch"], Fill(0)] | None = None


def filled(*rows: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The values of each row, as plain ones, and what is said."""
    contract = row_contract(Filled)
    held = [contract.stores(row) for row in rows]
    sizes: list[dict[str, Size]] = [dict(contract.sizes(row, h) or {}) for row, h in zip(rows, held, strict=True)]
    before = [(dict(one.tensors), dict(one.columns)) for one in held]
    made, wrong = fill_rows(contract.places, Filled.__batchpact__.policies, held, sizes, listed_rows)
    assert [(dict(one.tensors), dict(one.columns)) for one in held] == before
    values = [
        {key: value.tolist() for store in (row.tensors, row.columns) for key, value in store.items()}  # type: ignore[attr-defined]
        for row in made
    ]
    return values, [f"{found.code} {found.field} {sentence(found)}" for found in wrong]


def ids(length: int) -> Tensor:
    return torch.arange(length)


def test_rows_with_the_same_fields_are_as_they_were() -> None:
    assert filled({"ids": ids(1)}, {"ids": ids(2)}) == ([{"ids": [0]}, {"ids": [0, 1]}], [])


@pytest.mark.parametrize("absent", [{}, {"log_probs": None, "tool": None}], ids=["left out", "None"])
@pytest.mark.parametrize("last", [False, True])
def test_a_filled_tensor_has_the_sizes_of_its_row(absent: dict[str, None], last: bool) -> None:
    """Cases M3 and M8: whichever row comes first."""
    rows = [{"ids": ids(1), **absent}, {"ids": ids(2), "log_probs": torch.zeros(2), "tool": "calculator"}]
    expected = [
        {"ids": [0], "log_probs": [-1.0], "tool": ["none"]},
        {"ids": [0, 1], "log_probs": [0.0, 0.0], "tool": ["calculator"]},
    ]
    order = [1, 0] if last else [0, 1]

    made, wrong = filled(*(rows[at] for at in order))

    assert ([made[at] for at in order], wrong) == (expected, [])


def test_a_size_that_the_row_does_not_know_is_that_of_another_row_and_a_ragged_length_is_none() -> None:
    made, _ = filled({"ids": ids(1), "logits": torch.zeros(1, 2), "turns": ids(3)}, {"ids": ids(2)})

    assert made[1] == {"ids": [0, 1], "logits": [[0.5, 0.5], [0.5, 0.5]], "turns": []}


def test_without_a_fill_the_rows_are_named() -> None:
    _, wrong = filled({"ids": ids(1)}, {"ids": ids(1), "bare": torch.tensor(1.0)}, {"ids": ids(1), "bare": None})

    assert wrong == [
        "BP042 bare not in rows 0, 2, present in row 1; every row has the same fields; write it in every row, or "
        "declare Fill(value) for those that have none"
    ]


def test_one_name_has_one_place() -> None:
    rows = ({"ids": ids(1), "either": 0.5}, {"ids": ids(1), "either": torch.tensor(1)})

    for order in (rows, rows[::-1]):
        at = order.index(rows[1])
        _, wrong = filled(*order)
        assert wrong == [f"BP045 either in batch of row {at} and in meta_info of row {1 - at}; one place for one name"]
