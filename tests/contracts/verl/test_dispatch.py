"""What `contract_dispatch` refuses when it is written down, and what verl gets of it; verl is not needed for either."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import pytest

from batchpact.contracts import contract_dispatch
from batchpact.schemas import BatchSchema, DeclarationError, Repeat, StageSchema
from tests.contracts.stages import refusal
from tests.contracts.verl.schemas import ComputeValues, PerToken


class Chooses(StageSchema):
    rows = "select"

    class Reads(BatchSchema):
        rewards: PerToken

    class Writes(BatchSchema):
        kept: PerToken


class Repeats(Chooses):
    rows = Repeat(4)


@pytest.mark.parametrize(("stage", "rows"), [(Chooses, "'select'"), (Repeats, "'repeat(4)'")])
def test_a_stage_whose_rows_need_an_origin_is_refused(stage: type[StageSchema], rows: str) -> None:
    assert refusal(lambda: contract_dispatch(stage), DeclarationError) == (
        "1 problem in contract_dispatch\n\n"
        f"  BP051 declared  {stage.__name__}  rows = {rows}, and verl's containers do not say which row came from "
        "where; rows = 'new' returns whole rows"
    )


@pytest.mark.parametrize("stage", [ComputeValues.Reads, "ComputeValues", None])
def test_anything_but_a_stage_schema_is_refused(stage: Any) -> None:
    with pytest.raises(DeclarationError, match=r"where a StageSchema belongs"):
        contract_dispatch(stage)


def test_verl_sees_the_mesh_of_a_collect_function_by_its_name() -> None:
    mode = contract_dispatch(ComputeValues, mesh_name="actor")

    collect = mode["collect_fn"]
    assert sorted(mode) == ["collect_fn", "dispatch_fn"]
    assert isinstance(collect, functools.partial)
    assert (collect.func.__name__, collect.args) == ("collect_lazy_compute_data_proto", ("actor",))
    assert not isinstance(contract_dispatch(ComputeValues)["collect_fn"], functools.partial)


def test_a_mode_goes_to_workers_with_the_class_that_it_stands_in() -> None:
    mode = pickle.loads(pickle.dumps(contract_dispatch(ComputeValues, mesh_name="actor")))

    assert mode["collect_fn"].args == ("actor",)
