"""Rows with open columns, before they are a batch: by names that a row brings along, or by what the row has."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, Columns, ContractError, Fill, Meta, NonTensor, config, meta, named_by
from batchpact.schemas.configuration import use_config


class Scored(BatchSchema):
    x: Float32[Tensor, "batch n"]
    keys: Meta[list[str]]
    scores: Columns[NonTensor[float]] = named_by(meta("keys"))


class Filled(BatchSchema):
    x: Float32[Tensor, "batch"]
    scores: Columns[NonTensor[float]] = named_by(config("keys"))


class Two(BatchSchema):
    scores: Columns[NonTensor[float]] = named_by(meta("keys"))
    more: Columns[Float32[Tensor, "batch"]] = named_by(meta("others"))


def row(**more: object) -> dict[str, Any]:
    return {"x": torch.ones(2), **more}


def said(call: Any) -> list[str]:
    with pytest.raises(ContractError) as caught:
        call()
    return str(caught.value).splitlines()[2:]


def test_a_row_is_checked_by_the_names_that_it_brings() -> None:
    Scored.check_row(row(keys=["acc"], acc=0.5))

    assert said(lambda: Scored.check_row(row(keys=["acc"], acc="a", f1=0.5))) == [
        "  BP006 type     acc  str, declared non-tensor float",
        "  BP004 unasked  f1   float 0.5; Scored does not declare it; declare it, or leave it out of the row",
    ]
    assert said(lambda: Scored.check_row(row(keys="acc", acc=0.5))) == [
        "  BP056 columns  scores  meta keys is str; a list of names; write ['acc']"
    ]


def test_without_names_what_a_row_has_beside_its_fields_is_a_column() -> None:
    Scored.check_row(row(acc=0.5))

    assert said(lambda: Scored.check_row(row(acc="a"))) == ["  BP006 type  acc  str, declared non-tensor float"]


def test_without_names_nobody_can_tell_two_kinds_apart() -> None:
    assert said(lambda: Two.check_row({"acc": 0.5})) == [
        "  BP056 columns  acc  no row says which columns are more and which scores; names in the rows"
    ]


def test_names_of_the_configuration_count_for_rows() -> None:
    with use_config({"keys": ["acc"]}):
        Filled.check_row({"x": torch.tensor(1.0), "acc": 0.5})
        assert said(lambda: Filled.check_row({"x": torch.tensor(1.0)}))[0].startswith("  BP001 missing  acc")


def test_rows_are_collated_with_their_columns_under_the_attribute() -> None:
    whole = Scored.collate([row(acc=0.5, f1=1.0), row(acc=1.5, f1=2.0)])

    assert {name: cells.tolist() for name, cells in whole.scores.items()} == {"acc": [0.5, 1.5], "f1": [1.0, 2.0]}


def test_a_row_that_lacks_a_column_is_named() -> None:
    declared = "declared non-tensor float, named by meta keys"
    assert said(lambda: Scored.collate([row(acc=0.5), row(f1=2.0)])) == [
        f"  BP001 missing  f1   {declared}; not in row 0; no name in the row is close",
        f"  BP001 missing  acc  {declared}; not in row 1; no name in the row is close",
    ]


def test_optional_columns_are_filled() -> None:
    class Made(BatchSchema):
        x: Float32[Tensor, "batch n"]
        scores: Annotated[Columns[NonTensor[float]], Fill(0.0)] = named_by(meta("keys"), optional=True)

    whole = Made.collate([row(acc=0.5), row(f1=2.0)])

    assert {name: cells.tolist() for name, cells in whole.scores.items()} == {"acc": [0.5, 0.0], "f1": [0.0, 2.0]}
