"""Rows made equally long, one by one; `test_concat_lengths.py` and `test_collating.py` have whole batches."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Jagged, Pad
from batchpact.schemas.axes import Lengths
from batchpact.schemas.describe import describe
from batchpact.schemas.lengthening import Pieces, lengthen, longest_of
from batchpact.schemas.row_check import row_contract
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import listed_rows

ROWS = Pieces(0, listed_rows, describe)


class Padded(BatchSchema):
    heads: Annotated[Int64[Tensor, "batch head"], Pad(9, "left")]
    turns: Annotated[Int64[Tensor, "batch head turn"], Jagged("turn"), Pad(0)]


def test_a_row_gets_longer_beside_the_axis_on_which_its_batch_is_ragged() -> None:
    rows = [
        Stores({"heads": torch.ones(h, dtype=torch.int64), "turns": torch.ones(h, t, dtype=torch.int64)}, {}, {})
        for h, t in ((1, 3), (2, 1))
    ]
    sizes = [{"head": 1, "turn": 3}, {"head": 2, "turn": 1}]

    made, wrong = lengthen(row_contract(Padded).places, Padded.__batchpact__.policies, rows, sizes, {"head": 2}, ROWS)

    assert wrong == []
    assert [row.tensors["heads"].tolist() for row in made] == [[9, 1], [1, 1]]  # type: ignore[attr-defined]
    assert [row.tensors["turns"].tolist() for row in made] == [  # type: ignore[attr-defined]
        [[1, 1, 1], [0, 0, 0]],
        [[1], [1]],
    ]
    assert made[1].tensors["turns"] is rows[1].tensors["turns"]
    assert tuple(rows[0].tensors["heads"].shape) == (1,)  # type: ignore[attr-defined]


def test_a_field_without_a_pad_is_named_with_the_rows_of_each_shape() -> None:
    rows = [Stores({"heads": torch.ones(h, dtype=torch.int64)}, {}, {}) for h in (1, 2, 1)]
    sizes = [{"head": 1}, {"head": 2}, {"head": 1}]

    made, wrong = lengthen(row_contract(Padded).places, {}, rows, sizes, longest_of(sizes), ROWS)

    assert [(found.code, found.field, found.actual, found.hint) for found in wrong] == [
        (
            "BP042",
            "heads",
            "i64[1] in rows 0, 2, i64[2] in row 1",
            "nothing says how to fill up head: declare Pad(value, side)",
        )
    ]
    assert [row.tensors["heads"] for row in made] == [row.tensors["heads"] for row in rows]


def test_the_longest_of_a_dim_leaves_ragged_lengths_alone() -> None:
    ragged = Lengths(torch.tensor([0, 1]))

    assert longest_of([{"a": 1, "b": 5, "c": ragged}, {"a": 2, "c": ragged}, {}]) == {"a": 2, "b": 5}
