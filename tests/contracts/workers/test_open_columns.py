"""Open columns and workers: exactly the named columns travel, and what the workers name is joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Event, WorkerGroup, observe, stage
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.workers.passing import passes
from batchpact.dataproto import DataProto, column
from batchpact.schemas import (
    BatchSchema,
    Columns,
    ContractError,
    Fill,
    Merge,
    Meta,
    NonTensor,
    StageSchema,
    meta,
    named_by,
)


class Square(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]
        scores: Columns[NonTensor[float]] = named_by(meta("keys"))

    class Writes(BatchSchema):
        squared: Annotated[Meta[list[str]], Merge("set_union")]
        squares: Annotated[Columns[NonTensor[float]], Fill(0.0)] = named_by(meta("squared"), optional=True)


class Again(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        x: Float32[Tensor, "batch"]


class Scorer:
    @stage
    def square(self, batch: Square.Reads) -> Square.Writes:
        """The worker of the second part has a column more."""
        squares = {f"{name}_squared": column(cells**2) for name, cells in batch.scores.items()}
        if float(batch.x[0]) > 1:
            squares["more"] = column([7.0] * len(batch.x))
        return Square.Writes(squared=[*squares], squares=squares)

    @stage
    def looks(self, batch: Square.Reads) -> Square.Writes:
        return Square.Writes(squared=[], squares={"": batch.scores["other"]})

    @stage
    def again(self, batch: Again.Reads) -> Again.Writes:
        return Again.Writes(x=batch.x)


def batch() -> DataProto:
    cells = [1.0, 2.0, 3.0, 4.0]
    columns = {name: column(cells) for name in ("acc", "f1", "other")}
    return DataProto.from_dict({"x": torch.tensor([0.0, 1.0, 2.0, 3.0])}, columns, {"keys": ["acc"]})


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow])])
def group(request: pytest.FixtureRequest) -> Iterator[WorkerGroup]:
    if request.param == "ray":
        request.getfixturevalue("cluster")
    with WorkerGroup(Scorer, dp=2, backend=request.param) as made:
        yield made


def test_exactly_the_named_columns_are_shipped_and_what_workers_name_is_joined(group: Any) -> None:
    events: list[Event] = []
    with observe(events.append):
        made = group.square(batch())

    assert sorted(events[-1].shipped) == ["acc", "x"]
    assert sorted(made.meta_info["squared"]) == ["acc_squared", "more"]
    assert made.non_tensor_batch["acc_squared"].tolist() == [1.0, 4.0, 9.0, 16.0]
    assert made.non_tensor_batch["more"].tolist() == [0.0, 0.0, 7.0, 7.0]


def test_a_column_that_stayed_behind_is_told_so(group: Any) -> None:
    with pytest.raises(ContractError, match="BP002 withheld  other  the caller's batch holds 4 objects"):
        group.looks(batch())


def test_a_reads_goes_in_and_a_writes_comes_out() -> None:
    data = batch()
    cells = data.non_tensor_batch
    made = WorkerGroup(Scorer, dp=2).square(Square.Reads(x=data.batch["x"], scores={"acc": cells["acc"]}))  # type: ignore[index]

    assert sorted(made.squares) == ["acc_squared", "more"]


def test_what_is_to_be_named_goes_by_the_controller() -> None:
    square, again = (contract_of(stage) for stage in (Scorer.square, Scorer.again))
    assert square is not None
    assert again is not None

    assert passes(again, again)
    assert not passes(again, square)
    assert not passes(square, again)
    group = WorkerGroup(Scorer, dp=2)
    assert group.again.remote(group.again.remote(batch())).get().batch["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
