"""Open columns inside verl: what travels, and what is known of a result; verl is not needed to say it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.contracts import stage
from batchpact.contracts.told_names import TOLD_NAMES
from batchpact.contracts.verl.batches import project
from batchpact.contracts.verl.methods import MethodContract
from batchpact.contracts.verl.returned import Check
from batchpact.schemas import BatchSchema, Columns, ContractError, Meta, StageSchema, meta, named_by
from tests.contracts.stages import stores_of
from tests.contracts.verl.schemas import PerToken, rewards, tensor_dict


class Scale(StageSchema):
    class Reads(BatchSchema):
        fields: Columns[PerToken] = named_by(meta("columns"))

    class Writes(BatchSchema):
        made: Meta[list[str]]
        scaled: Columns[PerToken] = named_by(meta("made"))


@stage(Scale)
def scale(data: Any) -> Any:
    """What runs on a worker."""
    values = {f"{name}_scaled": value * 2 for name, value in data.items() if isinstance(value, torch.Tensor)}
    made = TensorDict(values, batch_size=data.batch_size)
    from batchpact.dataproto import tensordicts

    tensordicts.assign_non_tensor_data(made, "made", [*values])
    return made


def batch() -> TensorDict:
    from batchpact.dataproto import tensordicts

    data = tensor_dict(4)
    tensordicts.assign_non_tensor_data(data, "columns", ["rewards"])
    return data


def test_the_named_columns_travel_and_a_stage_is_told_their_names() -> None:
    data = batch()
    plain = project(MethodContract(Scale), data, (None, data), {}, 2)
    told = project(MethodContract(Scale, is_stage=True), data, (None, data), {}, 2)

    assert stores_of(plain.data).names() == ["rewards"]
    assert stores_of(told.data).meta[TOLD_NAMES] == {"meta columns": ["rewards"]}
    result = scale(told.data)
    assert set(stores_of(result).tensors) == {"rewards_scaled"}


@pytest.mark.parametrize(
    "known",
    [lambda check: check, lambda check: check.for_later(), lambda check: pickle.loads(pickle.dumps(check))],
    ids=["now", "later", "elsewhere"],
)
def test_a_result_is_held_against_the_names_that_it_brings(known: Any) -> None:
    data = batch()
    contract = MethodContract(Scale, is_stage=True)
    sent = project(contract, data, (None, data), {}, 2)
    check = known(Check.of_call(contract, sent.answers, sent.passage, sent.pads))
    result = scale(sent.data)

    assert set(stores_of(check(result)).tensors) == {"rewards_scaled"}
    result["more"] = rewards(4)
    with pytest.raises(ContractError, match="BP004 unasked  more"):
        check(result)


def test_of_a_call_of_which_nothing_is_known_what_is_not_declared_are_the_columns() -> None:
    class Named(StageSchema):
        class Reads(BatchSchema):
            rewards: PerToken

        class Writes(BatchSchema):
            scaled: Columns[PerToken] = named_by(meta("columns"))

    check = Check(MethodContract(Named))

    assert set(stores_of(check(TensorDict({"a": rewards(4)}, batch_size=4))).tensors) == {"a"}
    with pytest.raises(ContractError, match="BP011 rank  a"):
        check(TensorDict({"a": torch.ones(4)}, batch_size=4))
