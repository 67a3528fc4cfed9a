"""What becomes of violations that are not raised, and the events of calls."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import ContractWarning, Event, checking, observe, save_counts, stage
from batchpact.contracts.baseline import Key, read_baseline, write_baseline
from batchpact.contracts.reporting import counted, reset_counts
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, ContractError, MissingFieldError, SettingError, StageSchema
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    ours,
    refusal,
    run,
    scored,
    stores_of,
    tensor_dict,
    written,
)

pytestmark = pytest.mark.usefixtures("fresh_counts")


@stage(ComputeReturns)
def compute(data: DataProto) -> DataProto:
    return written(returns=RETURNS, norms=torch.ones(4))


def without_uid() -> DataProto:
    batch = scored()
    batch.non_tensor_batch.pop("uid")
    return batch


# --- action ----------------------------------------------------------------------------------------------------------


def test_warn_says_everything_once_and_counts_the_rest() -> None:
    with pytest.warns(ContractWarning) as caught, checking(action="warn"):
        for _ in range(3):
            compute(without_uid())

    assert [str(warning.message) for warning in caught] == [
        "1 problem where stage 'compute' reads its batch\n\n"
        "  BP001 missing  uid  declared non-tensor str; no name in the batch is close",
        "1 problem where stage 'compute' returns its result\n\n"
        "  BP004 unasked  norms  returned tensor f32[4]; its Writes do not declare it; "
        "declare it, leave it out of the result, or set extra='allow' on Writes",
    ]
    assert counted() == {("compute", "BP001", "uid"): 3, ("compute", "BP004", "norms"): 3}
    assert {warning.filename for warning in caught} == {__file__}  # where the stage was called


def test_what_a_baseline_knows_is_counted_and_neither_raised_nor_warned_about(tmp_path: Path) -> None:
    file = str(tmp_path / "known.json")
    with pytest.warns(ContractWarning), checking(action="warn"):
        compute(without_uid())
    save_counts(file)
    reset_counts()

    with checking(baseline=file):
        for _ in range(2):
            compute(without_uid())

    assert read_baseline(file) == {Key("compute", "BP001", "uid"), Key("compute", "BP004", "norms")}
    assert counted() == {("compute", "BP001", "uid"): 2, ("compute", "BP004", "norms"): 2}


def test_what_a_baseline_does_not_know_is_raised(tmp_path: Path) -> None:
    file = str(tmp_path / "known.json")
    write_baseline(file, [Key("compute", "BP004", "norms", "tensor"), Key("another", "BP001", "uid")])

    with checking(baseline=file):
        compute(scored())
        assert "BP001 missing  uid  " in refusal(lambda: compute(without_uid()), MissingFieldError)
        with checking(baseline=""):
            assert "BP004 unasked  norms  " in refusal(lambda: compute(scored()))


def test_what_a_baseline_knows_is_told_in_events(tmp_path: Path) -> None:
    file = str(tmp_path / "known.json")
    write_baseline(file, [Key("compute", "BP004", "norms")])
    events: list[Event] = []

    with checking(baseline=file), observe(events.append):
        compute(scored())

    assert [violation.code for violation in events[0].violations] == ["BP004"]


def test_a_baseline_that_is_none_is_said_where_it_is_set(tmp_path: Path) -> None:
    with pytest.raises(SettingError), checking(baseline=str(tmp_path / "nothing")):
        pass


def test_warn_speaks_up_for_another_stage_and_another_field() -> None:
    other = stage(ComputeReturns, name="other")(lambda data: None)
    also_without_gamma = without_uid()
    also_without_gamma.meta_info.pop("gamma")

    with pytest.warns(ContractWarning) as caught, checking(action="warn"):
        compute(without_uid())
        other(without_uid())
        other(also_without_gamma)

    texts = [str(warning.message) for warning in caught if "reads" in str(warning.message)]
    assert [(text.split("'")[1], "  uid  " in text, "  gamma  " in text) for text in texts] == [
        ("compute", True, False),
        ("other", True, False),
        ("other", False, True),
    ]


def test_warn_gives_the_result_all_the_same() -> None:
    with pytest.warns(ContractWarning), checking(action="warn"):
        result = compute(scored())

    assert stores_of(result).names() == ["returns"], "what must not be there is left out"


@in_every_container
def test_warn_gives_a_result_of_other_rows_all_the_same(container: Container) -> None:
    with pytest.warns(ContractWarning, match="BP012 shape  returns"), checking(action="warn"):
        result = run(lambda data: written(returns=RETURNS[:2]), scored(container))

    assert stores_of(result).tensors["returns"].shape == (2, 3)


def test_only_the_first_rank_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    with warnings.catch_warnings(), checking(action="warn"):
        warnings.simplefilter("error")
        compute(scored())

    assert counted() == {("compute", "BP004", "norms"): 1}, "counted it is on every rank"


def test_counts_can_be_reset() -> None:
    with pytest.warns(ContractWarning) as caught, checking(action="warn"):
        compute(scored())
        reset_counts()
        compute(scored())

    assert len(caught) == 2


def test_a_result_that_is_no_batch_is_an_error_under_every_action() -> None:
    with pytest.raises(ContractError, match="BP035 result"), checking(action="warn", severity={"BP035": "ignore"}):
        run(lambda data: 5)


# --- severity --------------------------------------------------------------------------------------------------------


def test_ignore_drops_a_code() -> None:
    with checking(severity={"BP004": "ignore"}):
        result = compute(scored())

    assert stores_of(result).names() == ["returns"]
    assert counted() == {}


def test_warning_does_not_raise() -> None:
    with pytest.warns(ContractWarning, match="BP004 unasked  norms"), checking(severity={"BP004": "warning"}):
        compute(scored())


def test_an_error_is_raised_without_what_is_only_a_warning() -> None:
    batch = without_uid()
    batch.meta_info["gamma"] = "half"

    with checking(severity={"BP001": "warning"}):
        assert refusal(lambda: compute(batch)) == (
            "1 problem where stage 'compute' reads its batch\n\n  BP006 type  gamma  str, declared meta float"
        )


# --- events ----------------------------------------------------------------------------------------------------------

READ = 4 * 3 * 4 + 4 * 3 * 8  # rewards f32 and response_mask i64; the column and the meta field have no tensor bytes
WRITTEN = 4 * 3 * 4


def events_of(*calls: Any, level: Any = None) -> list[Event]:
    events: list[Event] = []
    with observe(events.append), checking(level):
        for call in calls:
            call()
    return events


def figures(event: Event) -> tuple[object, ...]:
    return event.stage, event.step, event.fields_read, event.fields_written, event.bytes_read, event.bytes_written


def good(container: Container = ours) -> Any:
    return run(lambda data: written(returns=RETURNS), scored(container))


@pytest.mark.parametrize("level", ["structure", "values", "off"])
def test_every_call_is_an_event_with_exact_fields_and_bytes(level: Any) -> None:
    events = events_of(good, lambda: good(tensor_dict), lambda: run(lambda data: None), level=level)

    assert [figures(event) for event in events] == [
        ("compute", 7, 4, 1, READ, WRITTEN),
        ("compute", 7, 4, 1, READ, WRITTEN),
        ("compute", 7, 4, 0, READ, 0),
    ]
    assert all(0 < event.seconds_checking < event.seconds < 60 for event in events)
    assert [event.violations for event in events] == [(), (), ()]


def test_a_stage_without_arguments_is_an_event_at_level_off_too() -> None:
    """Such a call takes a short way where nobody observes it."""

    class Negate(StageSchema):
        class Reads(BatchSchema):
            values: Float32[Tensor, "batch response"]

        class Writes(BatchSchema):
            costs: Float32[Tensor, "batch response"]

    of_carriers = stage(Negate, name="short")(lambda data: written(costs=-data.batch["values"]))

    @stage(name="typed")
    def of_reads(batch: Negate.Reads) -> Negate.Writes:
        return Negate.Writes(costs=-batch.values)

    reads = Negate.Reads(values=RETURNS)
    events = events_of(lambda: of_carriers(scored()), lambda: of_reads(reads), level="off")

    assert [figures(event) for event in events] == [
        ("short", 7, 1, 1, WRITTEN, WRITTEN),
        ("typed", None, 1, 1, WRITTEN, WRITTEN),
    ]


def test_a_batch_without_a_step_has_none() -> None:
    batch = scored()
    batch.meta_info.pop("global_steps")

    assert events_of(lambda: run(lambda data: None, batch))[0].step is None


def test_an_event_holds_what_was_not_raised() -> None:
    with checking(severity={"BP004": "ignore", "BP001": "warning"}), pytest.warns(ContractWarning):
        event = events_of(lambda: compute(without_uid()))[0]

    assert [(found.code, found.field, found.severity, found.where.stage) for found in event.violations] == [
        ("BP001", "uid", "warning", "compute")
    ]


def test_a_call_that_raises_is_no_event() -> None:
    events: list[Event] = []
    with observe(events.append), pytest.raises(ContractError):
        compute(scored())

    assert events == []


def test_observers_are_nested_and_end_with_their_block() -> None:
    outer: list[Event] = []
    inner: list[Event] = []
    with observe(outer.append):
        good()
        with observe(inner.append):
            good()
    good()

    assert (len(outer), len(inner)) == (2, 1)
    assert outer[1] is inner[0]
