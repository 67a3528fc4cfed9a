"""The check of what verl collected, with and without the call that it belongs to."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.contracts import Event, observe
from batchpact.contracts.kept_back import KEPT_BACK
from batchpact.contracts.verl.batches import project
from batchpact.contracts.verl.methods import MethodContract
from batchpact.contracts.verl.returned import Check
from batchpact.schemas import ContractError, StageSchema
from tests.contracts.stages import stores_of
from tests.contracts.verl.schemas import ComputeValues, Neutral, rewards, tensor_dict


def call(batch: Any, stage: type[StageSchema] = ComputeValues) -> Check:
    contract = MethodContract(stage)
    sent = project(contract, batch, (None, batch), {}, 2)
    return Check.of_call(contract, sent.answers, sent.passage, sent.pads)


def result(rows: int = 4, width: int = 3, **more: Any) -> TensorDict:
    return TensorDict({"values": torch.ones(rows, width), **more}, batch_size=[rows])


def later(check: Check) -> Check:
    return check.for_later()


def elsewhere(check: Check) -> Check:
    made: Check = pickle.loads(pickle.dumps(check))
    return made


wherever = pytest.mark.parametrize("known", [lambda check: check, later, elsewhere], ids=["now", "later", "elsewhere"])


@wherever
def test_a_result_is_held_against_the_dims_and_rows_of_the_reads(known: Any) -> None:
    check = known(call(tensor_dict(4)))

    assert stores_of(check(result())).names() == ["values"]
    with pytest.raises(ContractError, match=r"BP012 shape  values  f32\[4, 9\], declared \"batch response\""):
        check(result(width=9))
    with pytest.raises(ContractError, match=r"BP012 shape  values  f32\[6, 3\], declared \"batch response\""):
        check(result(rows=6))


@wherever
def test_pad_rows_are_removed(known: Any) -> None:
    check = known(call(tensor_dict(5), Neutral))

    made = check(TensorDict({"doubled": torch.arange(18.0).reshape(6, 3)}, batch_size=[6]))

    assert torch.equal(made["doubled"], torch.arange(15.0).reshape(5, 3))


@wherever
def test_what_comes_back_as_it_was_sent_is_left_out(known: Any) -> None:
    check = known(call(tensor_dict(4)))
    batch = tensor_dict(4)

    made = check(result(rewards=rewards(4), uid=batch.get("uid"), gamma=batch.get("gamma")))

    assert stores_of(made).names() == ["values"]


def test_what_comes_back_changed_is_refused_as_long_as_it_is_known() -> None:
    check = call(tensor_dict(4))
    changed = result(rewards=rewards(4) + 1)

    with pytest.raises(ContractError, match="BP031 changed  rewards"):
        check(changed)
    assert stores_of(check.for_later()(changed)).names() == ["values"]


def test_a_batch_that_its_owner_changes_meanwhile_is_nobodys_fault() -> None:
    batch = tensor_dict(4)
    check = call(batch)
    batch["rewards"].add_(1.0)

    assert stores_of(check(result())).names() == ["values"]


@wherever
def test_the_note_of_what_stayed_behind_is_no_result(known: Any) -> None:
    batch = tensor_dict(4)
    made = known(call(batch))(result().set_non_tensor(KEPT_BACK, {"tensor": {}}))

    assert stores_of(made).names() == ["values"]


def test_a_result_of_no_known_call_is_checked_as_far_as_its_dims_do_not_matter() -> None:
    """Where verl's two functions are called by hand, or in two threads."""
    check = Check(MethodContract(ComputeValues))

    assert stores_of(check(result(rows=7, width=9))).names() == ["values"]
    with pytest.raises(ContractError, match="BP004 unasked  norms"):
        check(result(norms=torch.ones(4)))
    with pytest.raises(ContractError, match="BP001 missing  values"):
        check(TensorDict({}, batch_size=[4]))


def test_an_event_is_told_once_the_result_is_there() -> None:
    events: list[Event] = []
    check = call(tensor_dict(4)).for_later()

    with observe(events.append):
        check(result())

    assert [(event.stage, event.fields_written) for event in events] == [("compute_values", 1)]


@wherever
def test_no_result_is_no_result(known: Any) -> None:
    assert known(call(tensor_dict(4)))(None) is None
    assert Check(MethodContract(ComputeValues))(None) is None
