"""The older trainer's own methods keep to the contracts of `schemas.rl.dense`, and its workers get what is declared."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

import numpy as np
from tensordict import TensorDict

from batchpact.contracts import checking, use_config
from batchpact.dataproto import DataProto
from tests.contracts.rl.drivers import (
    CONFIG,
    Driver,
    compare_final_outputs,
    expert_load,
    extract_reward,
    ppo_loss,
    value_loss,
)
from tests.schemas.rl.batches import PROMPT, dense, jagged, ragged


def batch() -> Any:
    """A whole batch of a step, as verl's own container, with a column that nobody declares."""
    from verl.protocol import DataProto as TheirDataProto

    made = dense()
    columns = {**made.columns, "acc": np.array([True, False, True, True], dtype=object), "noise": np.arange(4)}
    return TheirDataProto.from_dict(dict(made.tensors), columns, dict(made.meta))


def call(method: str, driver: Driver, **given: Any) -> Any:
    with use_config(CONFIG), checking("values"):
        return getattr(driver, method)(batch(), **given)


CUT = {"global_batch_size": 4, "mini_batch_size": 4, "dataloader_kwargs": {"shuffle": False}}
TEXTS = {"prompts", "responses", "input_ids", "attention_mask", "position_ids", "response_mask", "loss_mask"}


@pytest.mark.parametrize(
    ("method", "called", "written"),
    [
        ("compute_old_log_prob", "actor", {"old_log_probs", "entropys", "sum_pi_squared"}),
        ("compute_ref_log_prob", "reference", {"ref_log_prob"}),
        ("compute_values", "critic", {"values"}),
    ],
)
def test_a_forward_pass_is_handed_texts_and_writes_what_is_declared(
    method: str, called: str, written: set[str]
) -> None:
    driver = Driver()
    result = call(method, driver)
    result = result[0] if isinstance(result, tuple) else result
    handed = driver.workers.handed[called]

    assert set(result.batch.keys()) == written
    tensors = {key for key in handed.keys() if isinstance(handed.get(key), torch.Tensor)}
    assert tensors == TEXTS
    assert "noise" not in handed.keys()


def test_the_response_is_cut_out_of_what_the_worker_says_one_place_early() -> None:
    held = dense().tensors
    result, mfu = call("compute_old_log_prob", Driver())

    first = result.batch["old_log_probs"][0]
    assert first.tolist() == pytest.approx((-held["input_ids"][0, PROMPT - 1 : -1] / 100).tolist())
    assert mfu == 0.5


@pytest.mark.parametrize(
    ("in_actor", "method", "called"),
    [(False, "compute_ref_log_prob", "reference"), (True, "compute_ref_log_prob_in_actor", "actor")],
)
def test_with_lora_the_reference_is_the_actor_without_its_adapter(in_actor: bool, method: str, called: str) -> None:
    """The older trainer says so on a copy, and the batch of the next call does not hold it."""
    driver = Driver(ref_in_actor=in_actor)
    result = call(method, driver)

    handed = driver.workers.handed[called]
    assert list(driver.workers.handed) == [called]
    assert ("no_lora_adapter" in handed.keys()) is in_actor
    assert "no_lora_adapter" not in result.meta_info


@pytest.mark.parametrize(
    ("method", "called", "targets"),
    [
        ("update_actor", "update actor", {"old_log_probs", "advantages", "ref_log_prob"}),
        ("update_critic", "update critic", {"values", "returns"}),
    ],
)
def test_an_update_is_handed_its_targets(method: str, called: str, targets: set[str]) -> None:
    driver = Driver()
    result = call(method, driver, **CUT)
    handed = driver.workers.handed[called]

    tensors = {key for key in handed.keys() if isinstance(handed.get(key), torch.Tensor)}
    assert tensors == TEXTS | targets
    assert result.meta_info["metrics"][f"{called.split()[1]}/loss"] == [0.25]


def test_a_reward_model_scores_the_last_token_of_each_response() -> None:
    result = call("score_by_model", Driver())

    scores = dense().tensors["attention_mask"][:, PROMPT:].sum(dim=1) - 1
    assert result.batch["rm_scores"].argmax(dim=1).tolist() == scores.tolist()


def test_figures_of_a_reward_function_are_read_by_their_names() -> None:
    with use_config(CONFIG), checking("values"):
        result = extract_reward(DataProto.from_verl(batch()))

    assert torch.equal(result.batch["token_level_scores"], dense().tensors["rm_scores"])


def test_all_outputs_of_a_session_share_the_advantage_of_the_last() -> None:
    made = batch()
    made.non_tensor_batch["batch_keys"] = np.array(["a_0_0", "a_1_0", "b_0_0", "b_0_1"], dtype=object)
    with checking("values"):
        result = compare_final_outputs(made)

    advantages = result.batch["advantages"]
    assert advantages[2].max() == advantages[3].max()
    assert advantages[0].max() > 0 > advantages[1].min(), "the better of two answers, and the other"


def test_experts_are_counted_over_the_tokens_of_responses() -> None:
    made = batch()
    width = made.batch["input_ids"].shape
    made.batch["routed_experts"] = torch.zeros(*width, 1, 1, dtype=torch.int16)
    with checking("values"):
        result = expert_load(made)

    assert result.meta_info["metrics"]["rollout/moe/max_vio/layer_0"] == 3.0, "one of four has everything"


def said(name: str) -> dict[str, Any]:
    """What a model says of every token of a text."""
    return {name: ragged(-torch.rand(4, 8), dense().tensors["attention_mask"].bool())}


@pytest.mark.parametrize(("loss", "output"), [(ppo_loss, "log_probs"), (value_loss, "values")])
def test_a_loss_of_an_engine_reads_a_jagged_micro_batch_and_its_share_of_the_whole(loss: Any, output: str) -> None:
    tensors = {name: value for name, value in jagged().tensors.items() if name != "rollout_is_weights"}
    data = TensorDict({**tensors, "noise": torch.zeros(4)}, batch_size=4)
    with use_config(CONFIG), checking("values"):
        result, number = loss(data, said=said(output), dp_size=1, batch_num_tokens=17, global_batch_size=4)

    assert number.isfinite()
    assert result["metrics"]
    assert "dp_size" not in data.keys()
