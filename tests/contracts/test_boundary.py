"""What a boundary asks of a batch before the stage runs, and the messages of what it refuses."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import contract_of, stage
from batchpact.dataproto import DataProto, column
from batchpact.dataproto.row_marks import RowMarks
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Binary,
    ContractError,
    From,
    Meta,
    NonTensor,
    StageSchema,
)
from tests.contracts.stages import (
    ComputeReturns,
    Container,
    in_every_container,
    ours,
    refusal,
    returns_of,
    rewards,
    scored,
    stores_of,
)


class InferActor(StageSchema):
    """Write the log-probabilities under a misspelt name."""

    class Reads(BatchSchema):
        response_mask: Int64[Tensor, "batch response"]

    class Writes(BatchSchema):
        old_log_prob: Float32[Tensor, "batch response"]


class KlInReward(StageSchema):
    """The stage of the design's section 3.1."""

    class Reads(BatchSchema):
        token_level_scores: Float32[Tensor, "batch response"]
        old_log_probs: Float32[Tensor, "batch response"]
        ref_log_prob: Float32[Tensor, "batch response"]
        response_mask: Annotated[Int64[Tensor, "batch response"], Binary()]
        uid: NonTensor[str]
        temperature: Meta[float]
        kl_coef: Annotated[Arg[float], From("algorithm.kl_ctrl.kl_coef")] = 0.001

    class Writes(BatchSchema):
        token_level_rewards: Float32[Tensor, "batch response"]


@stage
def infer_actor(batch: InferActor.Reads) -> InferActor.Writes:
    return InferActor.Writes(old_log_prob=-torch.rand(batch.response_mask.shape))


@stage
def kl_in_reward(batch: KlInReward.Reads) -> KlInReward.Writes:
    penalty = batch.kl_coef * (batch.old_log_probs - batch.ref_log_prob)
    return KlInReward.Writes(token_level_rewards=batch.token_level_scores - penalty)


def test_the_error_of_the_design() -> None:
    """Section 3.8, word by word, after a real stage has written the wrong name."""
    batch = DataProto.from_dict(
        {
            "token_level_scores": torch.randn(8, 512),
            "ref_log_prob": torch.randn(8, 511),
            "response_mask": torch.ones(8, 512, dtype=torch.int64),
        },
        {"uid": list("aabbccdd"), "temperature": [1.0] * 8},
    )
    batch.union(infer_actor(batch))

    assert "ContractError: " + refusal(lambda: kl_in_reward(batch)) == (
        "ContractError: 3 problems where stage 'kl_in_reward' reads its batch\n"
        "\n"
        "  BP001 missing  old_log_probs  declared f32 \"batch response\"; closest name in the batch: 'old_log_prob' "
        "(tensor f32[8, 512], written by 'infer_actor')\n"
        '  BP012 shape    ref_log_prob   f32[8, 511], declared "batch response"; '
        "response=512 in token_level_scores and response_mask\n"
        "  BP003 place    temperature    8 objects in non_tensor_batch; declared meta, one for the batch\n"
        "\n"
        "  dims  batch=8 (token_level_scores, ref_log_prob, response_mask)  "
        "response=512 (token_level_scores, response_mask) 511 (ref_log_prob)"
    )


def test_an_error_says_where_in_data_too() -> None:
    with pytest.raises(ContractError) as caught:
        kl_in_reward(scored())

    where = {violation.where for violation in caught.value.violations}
    assert [(place.stage, place.boundary) for place in where] == [("kl_in_reward", "reads")]


@in_every_container
def test_a_stage_reads_every_container(container: Container) -> None:
    seen: dict[str, Any] = {}

    @stage
    def reading(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        seen.update(uid=batch.uid.tolist(), gamma=batch.gamma, scale=batch.scale)
        return ComputeReturns.Writes(returns=returns_of(batch.rewards, batch.gamma))

    batch = scored(container)
    result = reading(batch)

    assert type(result) is type(batch)
    assert stores_of(result).names() == ["returns"]
    assert torch.equal(stores_of(result).tensors["returns"], returns_of(rewards(), 0.5))
    assert seen == {"uid": ["a", "a", "b", "b"], "gamma": 0.5, "scale": 1.0}


@in_every_container
def test_the_same_violation_reads_the_same_in_every_container(container: Container) -> None:
    @stage(ComputeReturns)
    def never_run(data: Any) -> None:
        raise AssertionError("the function must not run")

    batch = container(
        {"rewards": rewards().double(), "response_mask": torch.ones(4, 2, dtype=torch.int64)},
        {"gamma": [0.5] * 4},
        {},
    )

    assert refusal(lambda: never_run(batch)) == (
        "4 problems where stage 'never_run' reads its batch\n"
        "\n"
        "  BP005 dtype    rewards   f64, declared f32; cast it where it is made: x.to(torch.float32)\n"
        "  BP001 missing  uid       declared non-tensor str; no name in the batch is close\n"
        "  BP003 place    gamma     4 objects in non_tensor_batch; declared meta, one for the batch\n"
        "  BP013 dims     response  3 in rewards, 2 in response_mask; "
        "all must agree, and no size is in the majority\n"
        "\n"
        "  dims  batch=4 (rewards, response_mask)  response=3 (rewards) 2 (response_mask)"
    )


# --- shapes ----------------------------------------------------------------------------------------------------------


class Advantage(StageSchema):
    class Reads(BatchSchema):
        values: Float32[Tensor, "batch"]
        returns: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        advantages: Float32[Tensor, "batch"]


def test_a_column_vector_beside_a_vector_is_refused_before_it_broadcasts() -> None:
    """Case R4: values [B] minus returns [B, 1] would be [B, B]."""

    @stage(Advantage)
    def advantage(data: DataProto) -> DataProto:
        return DataProto.from_dict({"advantages": data.batch["values"] - data.batch["returns"]})

    batch = ours({"values": torch.arange(4.0), "returns": torch.arange(4.0)[:, None]}, {}, {})

    assert refusal(lambda: advantage(batch)) == (
        "1 problem where stage 'advantage' reads its batch\n\n"
        '  BP011 rank  returns  f32[4, 1], declared "batch"; '
        "2 axes where 1 is declared; nothing is squeezed or expanded\n\n"
        "  dims  batch=4 (values)"
    )


def test_a_stage_that_broadcasts_by_itself_is_refused_at_its_end() -> None:
    @stage
    def advantage(batch: Advantage.Reads) -> Advantage.Writes:
        return Advantage.Writes(advantages=batch.values - batch.returns[:, None])

    batch = ours({"values": torch.arange(4.0), "returns": torch.arange(4.0)}, {}, {})

    assert refusal(lambda: advantage(batch)) == (
        "1 problem where stage 'advantage' returns its result\n\n"
        '  BP011 rank  advantages  f32[4, 4], declared "batch"; '
        "2 axes where 1 is declared; nothing is squeezed or expanded"
    )


# --- rows and pads ---------------------------------------------------------------------------------------------------


def test_pad_rows_are_refused_where_the_stage_is_not_pad_safe() -> None:
    @stage(ComputeReturns)
    def padded(data: DataProto) -> None:
        return None

    batch = scored()
    batch._marks = RowMarks(pads=torch.tensor([False, False, False, True]).numpy())

    assert refusal(lambda: padded(batch)) == (
        "1 problem where stage 'padded' reads its batch\n\n"
        "  BP033 padded  batch  1 pad row of 4; the stage is not pad_safe"
    )


def test_a_pad_safe_stage_takes_pad_rows() -> None:
    class PadSafe(ComputeReturns):
        pad_safe = True

    seen: list[Any] = []

    @stage(PadSafe)
    def padded(data: DataProto) -> None:
        seen.append(data._marks.pads)

    batch = scored()
    batch._marks = RowMarks(pads=torch.tensor([False, False, False, True]).numpy())
    padded(batch)

    assert seen[0].tolist() == [False, False, False, True], "the stage is told which rows they are"


@in_every_container
def test_the_batch_is_as_it_was_when_reads_are_refused(container: Container) -> None:
    @stage(KlInReward)
    def refused(data: Any) -> None:
        raise AssertionError("the function must not run")

    batch = scored(container)
    names = stores_of(batch).names()
    with pytest.raises(ContractError):
        refused(batch)

    assert stores_of(batch).names() == names
    assert torch.equal(stores_of(batch).tensors["rewards"], rewards())


def test_a_batch_without_rows_passes() -> None:
    @stage
    def empty(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards.clone())

    batch = DataProto.from_dict(
        {"rewards": torch.empty(0, 3), "response_mask": torch.empty(0, 3, dtype=torch.int64)},
        {"uid": []},
        {"gamma": 1.0},
    )

    assert empty(batch).batch["returns"].shape == (0, 3)


def test_a_column_of_other_rows_is_blamed() -> None:
    @stage(ComputeReturns)
    def reading(data: DataProto) -> None:
        return None

    batch = scored()
    batch.non_tensor_batch["uid"] = column(["a", "b", "c"])

    assert refusal(lambda: reading(batch)) == (
        "1 problem where stage 'reading' reads its batch\n\n"
        "  BP012 shape  uid  3 objects, declared non-tensor str; batch=4 in rewards and response_mask\n\n"
        "  dims  batch=4 (rewards, response_mask) 3 (uid)  response=3 (rewards, response_mask)"
    )


def test_the_contract_hangs_on_the_function() -> None:
    contract = contract_of(kl_in_reward)

    assert contract is not None
    assert (contract.name, contract.spec.qualname) == ("kl_in_reward", "tests.contracts.test_boundary.kl_in_reward")
    assert contract.spec.description == "The stage of the design's section 3.1."
