"""The batch that a stage is handed: its declared fields, columns read-only, the arguments of the call; nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.row_marks import RowMarks
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import UndeclaredReadError, Violation
from tests.dataproto.support import plain, says, small

SUBJECT = "in stage 'score', which looked for a field it does not declare"
REWARD = (
    "BP002 withheld  reward  the caller's batch holds tensor f32[4]; the Reads of 'score' do not declare it; "
    "add reward to them"
)


def hand_out(
    data: DataProto,
    *,
    extra: dict[str, Any] | None = None,
    writable: Collection[str] = (),
    report: Callable[[Violation], None] | None = None,
) -> DataProto:
    """What a stage gets that declares `ids`, `uid`, `stop` and writes `values`."""
    declared = {"ids", "uid", "stop", "values", *(extra or {})}
    withheld = Withheld("score", declared, data.stores, report)
    keys = (None, None, None) if report else (("ids",), ("uid",), ("stop",))
    return data._hand_out(HandOut(*keys, extra or {}, writable, withheld))


def test_the_declared_fields_are_handed_out_and_no_others() -> None:
    data = small()

    assert plain(hand_out(data)) == plain(data.select(["ids"], ["uid"], ["stop"]))
    assert hand_out(data) == data.select(["ids"], ["uid"], ["stop"])
    assert len(hand_out(data)) == 4


def test_the_values_are_the_very_ones() -> None:
    data = small()
    assert data.batch is not None
    handed = hand_out(data)
    assert handed.batch is not None

    assert handed.batch["ids"] is data.batch["ids"]
    assert handed.meta_info["stop"] is data.meta_info["stop"]
    assert np.shares_memory(handed.non_tensor_batch["uid"], data.non_tensor_batch["uid"])


def test_a_store_is_made_when_somebody_looks() -> None:
    handed = hand_out(small())
    assert not {"batch", "non_tensor_batch", "meta_info"} & set(vars(handed))

    first = handed.batch
    assert handed.batch is first
    assert "meta_info" not in vars(handed)

    handed.meta_info = {"own": 1}
    assert handed.meta_info == {"own": 1}


def test_without_tensors_there_is_no_tensor_store() -> None:
    data = small().select([])
    data.batch = None

    assert hand_out(data).batch is None


def test_a_declared_field_that_is_absent_is_left_out() -> None:
    data = small()
    data.pop(["ids"], ["uid"], ["stop"])

    assert plain(hand_out(data)) == {}


def test_a_column_that_is_only_read_is_read_only() -> None:
    data = small()

    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
        hand_out(data).non_tensor_batch["uid"][0] = "z"

    data.non_tensor_batch["uid"][0] = "caller"
    assert hand_out(data).non_tensor_batch["uid"][0] == "caller"


def test_a_column_that_is_written_is_writable() -> None:
    data = small()

    hand_out(data, writable=["uid"]).non_tensor_batch["uid"][0] = "z"

    assert list(data.non_tensor_batch["uid"]) == ["z", "b", "c", "d"]


def test_arguments_stand_in_the_meta_for_the_call() -> None:
    data = small()
    handed = hand_out(data, extra={"kl_coef": 0.1, "stop": "over"})

    assert dict(handed.meta_info) == {"stop": "over", "kl_coef": 0.1}
    assert "kl_coef" not in data.meta_info
    assert data.meta_info["stop"] == ["x", "y", "z", "w"]


def test_what_the_stage_sets_does_not_reach_the_caller() -> None:
    data = small()
    handed = hand_out(data)
    assert handed.batch is not None

    handed.batch["values"] = torch.ones(4)
    handed.non_tensor_batch["scratch"] = np.ones(4)
    handed.meta_info["scratch_too"] = 1
    handed.pop(["ids"], ["uid"], ["stop"])

    assert plain(data) == plain(small())


# --- what is withheld -------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[DataProto], Any]] = {
    "batch[]": lambda data: data.batch["reward"],
    "batch.get": lambda data: data.batch.get("reward", None),
    "in batch.keys()": lambda data: "reward" in data.batch.keys(),
    "in non_tensor_batch": lambda data: "reward" in data.non_tensor_batch,
    "meta_info.get": lambda data: data.meta_info.get("reward"),
    "select": lambda data: data.select(["reward"]),
    "select of columns": lambda data: data.select([], ["reward"]),
    "pop": lambda data: data.pop(["reward"]),
    "rename": lambda data: data.rename("reward", "scores"),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_no_operation_gives_a_withheld_field(operation: Callable[[DataProto], Any]) -> None:
    handed = hand_out(small())

    with says(UndeclaredReadError, SUBJECT, REWARD):
        operation(handed)

    assert plain(handed) == plain(small().select(["ids"], ["uid"], ["stop"]))


DERIVED: dict[str, Callable[[DataProto], DataProto]] = {
    "slice": lambda data: data[1:3],
    "index": lambda data: data[[2, 0]],
    "select": lambda data: data.select(["ids"]),
    "pop": lambda data: data.pop(["ids"], ["uid"]),
    "repeat": lambda data: data.repeat(2),
    "chunk": lambda data: data.chunk(2)[1],
    "split": lambda data: data.split(3)[0],
    "concat": lambda data: DataProto.concat(data.chunk(2)),
    "reorder": lambda data: data.reorder([3, 2, 1, 0]) or data,  # type: ignore[func-returns-value]
    "to": lambda data: data.to("cpu"),
    "a part of a part": lambda data: data.chunk(2)[0][1:],
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED.keys())
@pytest.mark.parametrize(
    "store",
    [lambda data: data.batch, lambda data: data.non_tensor_batch, lambda data: data.meta_info],
    ids=["batch", "non_tensor_batch", "meta_info"],
)
def test_what_is_derived_inside_a_stage_knows_what_is_withheld(
    derive: Callable[[DataProto], DataProto], store: Callable[[DataProto], Any]
) -> None:
    held = store(derive(hand_out(small())))

    with says(UndeclaredReadError, SUBJECT, REWARD):
        held.get("reward", None)
    assert held.get("nowhere", None) is None


def test_a_row_knows_what_is_withheld() -> None:
    for item in (hand_out(small())[0], next(iter(hand_out(small())))):
        for held in (item.batch, item.non_tensor_batch, item.meta_info):
            with says(UndeclaredReadError, SUBJECT, REWARD):
                held.get("reward", None)
        assert item.batch["ids"].tolist() == [0, 1]


def test_the_caller_may_change_the_batch_and_the_names_that_are_withheld_follow() -> None:
    data = small()
    handed = hand_out(data)
    data.meta_info["late"] = 1

    with says(
        UndeclaredReadError,
        SUBJECT,
        "BP002 withheld  late  the caller's batch holds int in meta_info; the Reads of 'score' do not declare it; add "
        "late to them",
    ):
        handed.meta_info.get("late")


def test_pickling_leaves_the_rest_behind_and_gives_plain_containers() -> None:
    received = pickle.loads(pickle.dumps(hand_out(small())))

    assert plain(received) == plain(small().select(["ids"], ["uid"], ["stop"]))
    assert [type(received.batch), type(received.non_tensor_batch), type(received.meta_info)] == [TensorDict, dict, dict]
    assert received._handed is None
    assert received.batch.get("reward", None) is None


def test_pad_marks_are_handed_out() -> None:
    data = small()
    data._marks = RowMarks(pads=np.array([False, False, False, True]))

    assert hand_out(data)._marks.pads is data._marks.pads


# --- everything is handed out -----------------------------------------------------------------------------------------


def test_where_nothing_is_withheld_the_stores_are_ordinary_and_of_their_own() -> None:
    data = small()
    handed = data._hand_out(HandOut(None, None, None, {"kl_coef": 0.1}, (), None))

    assert plain(handed) == {**plain(data), "meta kl_coef": "0.1"}
    assert [type(handed.batch), type(handed.non_tensor_batch), type(handed.meta_info)] == [TensorDict, dict, dict]
    assert handed.batch is not data.batch


def test_a_report_names_what_was_touched_and_not_declared() -> None:
    seen: list[Violation] = []
    handed = hand_out(small(), report=seen.append)
    assert handed.batch is not None

    assert handed.batch["ids"].shape == (4, 2)
    assert handed.non_tensor_batch["uid"][0] == "a"
    handed.chunk(2)
    assert seen == []

    assert handed.batch["reward"][1].item() == -1.0
    assert handed.non_tensor_batch.get("score")[0] == 1.5
    assert handed[1:].meta_info["temperature"] == 0.7
    assert list(dict.fromkeys(violation.field for violation in seen)) == ["reward", "score", "temperature"]
