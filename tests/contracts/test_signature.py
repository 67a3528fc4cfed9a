"""A signature says which contract a function keeps to, and with what a stage can be called."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts.signature import (
    keyword_parameters,
    stage_signature,
    stated_contract,
    takes_reads,
    wrong_stage,
)
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, DeclarationError, StageSchema
from batchpact.schemas.stage import NoFields


class Scale(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        factor: Arg[float] = 2.0

    class Writes(BatchSchema):
        returns: Float32[Tensor, "batch response"]


class Shift(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]


def of_reads(batch: Scale.Reads, note: str = "", *, verbose: bool = False) -> tuple[Scale.Writes, int]:
    raise NotImplementedError


def of_carriers(data: DataProto, /, *args: Any, **kwargs: Any) -> DataProto:
    raise NotImplementedError


def without_result(batch: Shift.Reads) -> None: ...


def test_the_contract_is_the_reads_and_the_writes_with_the_stage_that_has_both() -> None:
    assert stated_contract(of_reads) == (Scale.Reads, Scale.Writes, Scale)
    assert stated_contract(without_result) == (Shift.Reads, NoFields, Shift)


def test_a_function_of_carriers_states_none() -> None:
    with pytest.raises(DeclarationError, match="no parameter annotated with a Reads"):
        stated_contract(of_carriers)


def test_under_a_named_contract_a_function_takes_its_reads_or_carriers() -> None:
    assert (takes_reads(of_reads, Scale), takes_reads(of_carriers, Scale)) == (True, False)
    with pytest.raises(DeclarationError, match=r"it takes Shift\.Reads"):
        takes_reads(without_result, Scale)


def test_parameters_that_can_be_passed_by_keyword_have_their_position_or_none() -> None:
    assert keyword_parameters(of_reads) == {"batch": 0, "note": 1, "verbose": None}
    assert keyword_parameters(of_carriers) == {}


def test_a_stage_can_be_called_with_the_arguments_of_its_contract() -> None:
    reads = Scale.__batchpact__.reads

    assert list(stage_signature(of_reads, reads).parameters) == ["batch", "note", "verbose", "factor"]
    assert stage_signature(of_reads, reads).parameters["factor"].default == 2.0
    assert stage_signature(of_carriers, reads) == inspect.signature(of_carriers), "it takes any keyword already"


def test_a_wrong_stage_is_named_without_the_functions_around_it() -> None:
    assert str(wrong_stage("make.<locals>.score", "why")) == (
        "1 problem in the stage make.score\n\n  BP051 declared  make.score  why"
    )
