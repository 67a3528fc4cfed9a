"""A call of a stage with conditions: the fields that are off are neither read, nor handed out, nor written."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, ContractError, Meta, StageSchema, When, arg, config, meta, present

PerRow = Float32[Tensor, "batch"]
CRITIC = (config("adv_estimator") == "gae").named("use_critic")


class Advantage(StageSchema):
    class Reads(BatchSchema):
        rewards: PerRow
        values: Annotated[PerRow, When(CRITIC)]

    class Writes(BatchSchema):
        advantages: PerRow
        returns: Annotated[PerRow, When(CRITIC)]


@stage(Advantage)
def advantage(data: DataProto) -> DataProto:
    """Write whatever is there to write."""
    assert data.batch is not None
    rewards = data.batch["rewards"]
    values = data.batch.get("values", None)
    made = {"advantages": rewards if values is None else rewards - values}
    if values is not None:
        made["returns"] = rewards
    return DataProto.from_dict(made)


@stage
def typed_advantage(batch: Advantage.Reads) -> Advantage.Writes:
    return Advantage.Writes(advantages=batch.rewards - batch.values, returns=batch.rewards)


def batch(*names: str) -> DataProto:
    return DataProto.from_dict({name: torch.ones(2) for name in names})


def refusal(call: Any) -> str:
    with pytest.raises(ContractError) as caught:
        call()
    return str(caught.value)


def test_where_the_condition_holds_the_field_is_required_and_written() -> None:
    with use_config({"adv_estimator": "gae"}):
        made = advantage(batch("rewards", "values"))
        assert set(made.batch.keys()) == {"advantages", "returns"}
        assert 'BP001 missing  values  declared f32 "batch"' in refusal(lambda: advantage(batch("rewards")))
        assert typed_advantage(batch("rewards", "values")).batch["advantages"].tolist() == [0.0, 0.0]


def test_where_it_does_not_hold_the_field_is_withheld_and_must_not_be_written() -> None:
    with use_config({"adv_estimator": "grpo"}):
        assert set(advantage(batch("rewards")).batch.keys()) == {"advantages"}
        assert refusal(lambda: advantage(batch("rewards", "values"))).splitlines()[-1] == (
            "  BP002 withheld  values  the caller's batch holds tensor f32[2]; 'advantage' reads it where "
            "use_critic (adv_estimator == 'gae'), and that does not hold"
        )
        assert "BP002 withheld  values" in refusal(lambda: typed_advantage(batch("rewards", "values")))

        @stage(Advantage)
        def eager(data: DataProto) -> DataProto:
            return DataProto.from_dict({"advantages": torch.ones(2), "returns": torch.ones(2)})

        assert refusal(lambda: eager(batch("rewards"))).splitlines()[-1] == (
            "  BP004 unasked  returns  returned tensor f32[2]; it is written where use_critic "
            "(adv_estimator == 'gae'), and that does not hold"
        )


def test_without_a_configuration_the_field_is_optional() -> None:
    assert set(advantage(batch("rewards")).batch.keys()) == {"advantages"}
    assert set(advantage(batch("rewards", "values")).batch.keys()) == {"advantages", "returns"}


def test_what_is_written_wrongly_is_found_in_every_variant() -> None:
    @stage(Advantage)
    def wrong(data: DataProto) -> DataProto:
        return DataProto.from_dict({"advantages": torch.ones(2, 1)})

    for found in ({"adv_estimator": "grpo"}, {}):
        with use_config(found):
            assert "BP011 rank  advantages" in refusal(lambda: wrong(batch("rewards")))


class Entropy(StageSchema):
    class Reads(BatchSchema):
        rewards: PerRow
        calculate_entropy: Arg[bool] = False
        validation: Meta[bool] = False
        extra: Annotated[PerRow, When(present("bonus") & ~meta("validation"))]

    class Writes(BatchSchema):
        entropys: Annotated[PerRow, When(arg("calculate_entropy"))]


@stage(Entropy)
def entropy(data: DataProto, calculate_entropy: bool = False) -> DataProto:
    return DataProto.from_dict({"entropys": torch.ones(2)} if calculate_entropy else {})


def test_conditions_on_arguments_meta_and_presence_are_answered_by_the_call() -> None:
    assert entropy(batch("rewards"), calculate_entropy=True).batch is not None
    assert entropy(batch("rewards")).batch is None
    assert entropy(batch("rewards"), True).batch is not None
    assert "BP001 missing  extra" in refusal(lambda: entropy(batch("rewards", "bonus")))
    quiet = batch("rewards", "bonus")
    quiet.meta_info["validation"] = True
    assert entropy(quiet).batch is None


async def test_a_coroutine_function_has_the_same_variants() -> None:
    @stage(Advantage)
    async def later(data: DataProto) -> DataProto:
        return DataProto.from_dict({"advantages": torch.ones(2)})

    with use_config({"adv_estimator": "grpo"}):
        assert set((await later(batch("rewards"))).batch.keys()) == {"advantages"}
    with use_config({"adv_estimator": "gae"}), pytest.raises(ContractError, match="BP001 missing  values"):
        await later(batch("rewards"))
