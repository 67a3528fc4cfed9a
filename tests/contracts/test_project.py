"""`project`: who is handed fields that a stage does not declare, and what is said about it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from batchpact.contracts import ContractWarning, checking, stage
from batchpact.contracts.reporting import counted
from batchpact.dataproto import DataProto
from batchpact.schemas import MissingFieldError
from tests.contracts.stages import (
    RETURNS,
    WITHHELD,
    ComputeReturns,
    Container,
    every_store,
    in_every_container,
    refusal,
    scored,
    store_of,
)

pytestmark = pytest.mark.usefixtures("fresh_counts")


@in_every_container
@every_store
def test_record_hands_out_everything_and_warns_once(container: Container, store: str) -> None:
    name, held = WITHHELD[store]
    seen: list[Any] = []

    @stage(ComputeReturns, project="record")
    def recorded(data: Any) -> None:
        seen.append(store_of(data, store)[name])
        seen.append(name in store_of(data, store))

    batch = scored(container)
    with pytest.warns(ContractWarning) as caught:
        recorded(batch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorded(batch)

    assert [str(warning.message) for warning in caught] == [
        "1 problem in stage 'recorded'\n\n"
        f"  BP002 withheld  {name}  the caller's batch holds {held}; "
        f"the Reads of 'recorded' do not declare it; add {name} to them"
    ]
    assert seen[0] is not None
    assert seen[1::2] == [True, True]
    assert counted()["recorded", "BP002", name] >= 4, "every look is counted, and a TensorDict looks twice for []"
    assert set(counted()) == {("recorded", "BP002", name)}


def test_record_is_silent_about_what_is_declared_and_what_is_not_there() -> None:
    @stage(ComputeReturns, project="record")
    def recorded(data: DataProto) -> DataProto:
        assert "nobody_has_it" not in data.batch
        return DataProto.from_dict({"returns": data.batch["rewards"] * data.meta_info["gamma"]})

    result = recorded(scored())

    assert result.batch["returns"].tolist()[0] == [0.5, 1.0, 1.5]
    assert counted() == {}


@in_every_container
@every_store
def test_off_hands_out_everything_and_says_nothing(container: Container, store: str) -> None:
    seen: list[bool] = []

    @stage(ComputeReturns, project="off")
    def open_stage(data: Any) -> None:
        seen.append(WITHHELD[store][0] in store_of(data, store))

    open_stage(scored(container))

    assert seen == [True]
    assert counted() == {}


@in_every_container
@every_store
def test_level_off_withholds_nothing(container: Container, store: str) -> None:
    seen: list[bool] = []

    @stage(ComputeReturns)
    def unchecked(data: Any) -> None:
        seen.append(WITHHELD[store][0] in store_of(data, store))

    with checking("off"):
        unchecked(scored(container))

    assert seen == [True]


@in_every_container
@pytest.mark.parametrize("project", ["record", "off"])
def test_what_the_caller_had_before_is_no_write(container: Container, project: Any) -> None:
    """Handed everything, a stage that returns its input also returns what it never touched."""

    @stage(ComputeReturns, name="compute", project=project)
    def forgets(data: Any) -> Any:
        return data

    batch = scored(container)
    store_of(batch, "tensor")["returns"] = RETURNS

    assert refusal(lambda: forgets(batch), MissingFieldError) == (
        "1 problem where stage 'compute' returns its result\n\n"
        '  BP001 missing  returns  declared f32 "batch response"; no name in the result is close'
    )


@pytest.mark.parametrize(("project", "warned"), [("record", 1), ("off", 0)])
@in_every_container
@every_store
def test_a_function_of_reads_is_handed_everything_too(
    container: Container, store: str, project: Any, warned: int
) -> None:
    name = WITHHELD[store][0]
    seen: list[Any] = []

    @stage(project=project)
    def recorded(batch: ComputeReturns.Reads) -> None:
        seen.append(getattr(batch, name))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recorded(scored(container))

    assert seen[0] is not None
    assert len(caught) == warned
