"""Rows that become a batch in verl 0.9.1: the first row says which fields there are."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from batchpact.schemas import BatchSchema, ContractError, Fill, Group, Jagged, NonTensor
from tests.findings.queue import DictQueue
from tests.findings.trainer import PARTITION

# --- what reward functions say beside the score -----------------------------------------------------------------------

GSM8K, DAPO = "openai/gsm8k", "math_dapo"
SAYS = {GSM8K: "#### 2", DAPO: "Answer: 2"}


class Tokenizer:
    def __init__(self, text: str) -> None:
        self.text = text

    def decode(self, ids: Tensor, skip_special_tokens: bool) -> str:
        return self.text


async def scored(source: str) -> dict[str, Any]:
    """What verl's naive reward manager and its default reward functions say of a right answer."""
    import numpy as np
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.protocol import DataProto

    manager = NaiveRewardManager(None, Tokenizer(SAYS[source]), None)
    ground_truth = np.array([{"ground_truth": "2"}], dtype=object)
    columns = {"data_source": np.array([source], dtype=object), "reward_model": ground_truth}
    tokens = {"responses": torch.ones(1, 2).long(), "attention_mask": torch.ones(1, 4).long()}
    return await manager.run_single(DataProto.from_dict(tokens, non_tensors=columns))


def collected(sources: list[str]) -> Any:
    """The batch that verl's agent loop makes of one response to a question of each dataset."""
    from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopWorker, _InternalAgentLoopOutput

    def row(source: str) -> Any:
        result = asyncio.run(scored(source))
        ones = {"dtype": torch.int64}
        return _InternalAgentLoopOutput(
            prompt_ids=torch.ones(1, 2, **ones),
            response_ids=torch.ones(1, 2, **ones),
            input_ids=torch.ones(1, 4, **ones),
            position_ids=torch.ones(1, 4, **ones),
            response_mask=torch.ones(1, 2, **ones),
            attention_mask=torch.ones(1, 4, **ones),
            reward_score=result["reward_score"],
            metrics=AgentLoopMetrics(),
            extra_fields={"reward_extra_info": result["reward_extra_info"]},
        )

    worker = SimpleNamespace(reward_loop_worker_handles=[])
    return AgentLoopWorker._postprocess(worker, [row(source) for source in sources])


def test_what_the_first_row_does_not_say_is_lost() -> None:
    assert collected([DAPO]).meta_info["reward_extra_keys"] == ["score", "acc", "pred"]

    data = collected([GSM8K, DAPO])

    assert data.meta_info["reward_extra_keys"] == ["acc"]
    assert "pred" not in data.non_tensor_batch


def test_in_the_other_order_it_dies() -> None:
    with pytest.raises(KeyError, match="score"):
        collected([DAPO, GSM8K])


class Scored(BatchSchema):
    """What a reward function says of a response."""

    data_source: NonTensor[str]
    acc: NonTensor[float | bool]
    score: NonTensor[float] | None = None
    pred: Annotated[NonTensor[str] | None, Fill("")] = None


@pytest.mark.parametrize("sources", [[GSM8K, DAPO], [DAPO, GSM8K]])
def test_the_schema_says_which_fields_there_are(sources: list[str]) -> None:
    rows = [asyncio.run(scored(source))["reward_extra_info"] | {"data_source": source} for source in sources]

    with pytest.raises(ContractError) as caught:
        Scored.collate(rows)
    absent, present = sources.index(GSM8K), sources.index(DAPO)
    assert str(caught.value) == (
        "1 problem where 2 rows of Scored are collated\n\n"
        f"  BP042 parts  score  not in row {absent}, present in row {present}; every row has the same fields; "
        "write it in every row, or declare Fill(value) for those that have none"
    )

    batch = Scored.collate([row | {"score": float(row["acc"])} for row in rows])
    assert dict(zip(batch.data_source, batch.pred, strict=True)) == {GSM8K: "", DAPO: "2"}


# --- a session with several outputs, and a teacher --------------------------------------------------------------------


def session(outputs: int, queue: DictQueue, uid: str) -> None:
    """Put a session of the agent loop, of which a teacher has scored the last output, by verl's own method."""
    from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
    from verl.trainer.ppo.v1 import agent_loop_tq

    async def teacher(sequence_ids: list[int], **given: Any) -> tuple[Tensor, Tensor]:
        size = len(sequence_ids)
        return torch.ones(size, 1, dtype=torch.int64), -torch.ones(size, 1)

    worker = object.__new__(agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class)
    worker.processor, worker.reward_loop_worker_handles = None, None
    worker.distillation_enabled, worker.teacher_key = True, "data_source"
    worker.teacher_server_manager = SimpleNamespace(compute_teacher_logprobs_single=teacher)
    made = [
        AgentLoopOutput(
            prompt_ids=[1, 2], response_ids=[3] * (2 + at), response_mask=[1] * (2 + at), metrics=AgentLoopMetrics()
        )
        for at in range(outputs)
    ]
    asyncio.run(worker._agent_loop_postprocess(made, False, uid=uid, session_id=0, global_steps=1))


@pytest.fixture
def born(queue: DictQueue, monkeypatch: pytest.MonkeyPatch) -> DictQueue:
    from verl.trainer.ppo.v1 import agent_loop_tq

    async def async_kv_batch_put(**given: Any) -> Any:
        return queue.kv_batch_put(**given)

    monkeypatch.setattr(agent_loop_tq.tq, "async_kv_batch_put", async_kv_batch_put)
    return queue


def test_one_session_of_two_outputs_takes_the_teacher_from_all_rows(born: DictQueue) -> None:
    session(1, born, "a")
    assert {"teacher_ids", "teacher_logprobs"} <= set(born.columns(["a_0_0"]))

    session(2, born, "b")

    assert "teacher_logprobs" not in born.rows["b_0_1"]  # the one that the teacher has scored
    data = born.kv_batch_get(["a_0_0", "b_0_0", "b_0_1"], PARTITION)
    assert "teacher_logprobs" not in data.keys()


Tokens = Annotated[Int64[Tensor, "batch length"], Jagged("length")]


class Distilled(BatchSchema):
    """What a distillation loss needs of each row."""

    uid: Annotated[NonTensor[str], Group()]
    input_ids: Tokens
    teacher_ids: Annotated[Int64[Tensor, "batch length top"], Jagged("length")]
    teacher_logprobs: Annotated[Float32[Tensor, "batch length top"], Jagged("length")]


def declared(row: dict[str, Any]) -> dict[str, Any]:
    """What is declared of all that the agent loop puts."""
    return {key: value for key, value in row.items() if key in Distilled.model_fields}


def test_a_row_that_lacks_them_is_refused_where_it_is_born(born: DictQueue) -> None:
    session(1, born, "a")
    session(2, born, "b")

    Distilled.check_row(declared(born.rows["a_0_0"]))
    with pytest.raises(ContractError) as caught:
        Distilled.check_row(declared(born.rows["b_0_1"]))
    assert str(caught.value) == (
        "2 problems where a row of Distilled is checked (uid 'b')\n\n"
        '  BP001 missing  teacher_ids       declared i64 "length top"; no name in the row is close\n'
        '  BP001 missing  teacher_logprobs  declared f32 "length top"; no name in the row is close'
    )
