"""verl's own functions of a batch keep to contracts: they read all that is declared, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

import numpy as np

from batchpact.contracts import checking, contract_of, use_config
from batchpact.contracts.configuration import of_config
from batchpact.dataproto import DataProto, column
from batchpact.schemas import ContractError
from batchpact.schemas.condition_specs import holds
from batchpact.schemas.equality import difference
from tests.findings import functions as fn
from tests.findings.test_estimators import DIE, LIVE

ROWS, PROMPT, RESPONSE = 8, 3, 6
CONFIGURATION = {"algorithm": {"rollout_correction": {"rollout_is": "token", "rollout_rs": "token_k1"}}}


def sampled(seed: int, **changes: Any) -> Any:
    """A batch of the whole vocabulary, in groups of two, with responses of several lengths."""
    from verl.protocol import DataProto as TheirDataProto

    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, RESPONSE + 1, (ROWS, 1), generator=generator)
    mask = (torch.arange(RESPONSE) < lengths).long()
    last = torch.nn.functional.one_hot(lengths.squeeze(1) - 1, RESPONSE).float()
    scores = torch.randn(ROWS, 1, generator=generator) * last

    def floats() -> torch.Tensor:
        return torch.rand(ROWS, RESPONSE, generator=generator)

    tensors = {
        "prompts": torch.ones(ROWS, PROMPT).long(),
        "responses": torch.ones(ROWS, RESPONSE).long(),
        "attention_mask": torch.cat([torch.ones(ROWS, PROMPT).long(), mask], dim=1),
        "response_mask": mask,
        "old_log_probs": -floats(),
        "ref_log_prob": -floats(),
        "rollout_log_probs": -floats(),
        "values": floats(),
        "token_level_scores": scores,
        "token_level_rewards": scores - 0.01 * mask,
        "advantages": floats() * mask,
        "returns": floats(),
        "sum_pi_squared": floats(),
        "rollout_is_weights": floats(),
        "entropys": floats(),
    }
    columns = {
        "uid": np.array([f"group {row // 2}" for row in range(ROWS)], dtype=object),
        "format_reward": np.array([float(row % 2) for row in range(ROWS)], dtype=object),
        "__num_turns__": np.array([1 + row % 3 for row in range(ROWS)], dtype=np.int32),
        "data_source": np.array(["math"] * ROWS, dtype=object),
    }
    meta = {"global_steps": 1, "global_token_num": (lengths.squeeze(1) + PROMPT).tolist()}
    return TheirDataProto.from_dict({**tensors, **changes}, non_tensors=columns, meta_info=meta)


def estimator(name: str) -> Callable[[Any], Any]:
    function = fn.estimate_gdpo if name == "gdpo" else fn.estimate
    return lambda data: function(data, name)


CASES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    **{name: (fn.estimate_gdpo if name == "gdpo" else fn.estimate, estimator(name)) for name in (*DIE, *LIVE)},
    "response mask": (fn.make_response_mask, fn.make_response_mask),
    "kl penalty": (fn.penalise, fn.penalise),
    "rollout correction": (fn.correct_rollout, fn.correct_rollout),
    "data metrics": (fn.data_metrics, lambda data: fn.data_metrics(data, use_critic=True)),
    "timing metrics": (fn.timing_metrics, fn.timing_metrics),
    "variance metrics": (fn.variance_metrics, fn.variance_metrics),
    "rollout metrics": (fn.rollout_metrics, fn.rollout_metrics),
    "throughput": (fn.throughput, fn.throughput),
    "bypass": (fn.bypass, fn.bypass),
}
every_function = pytest.mark.parametrize("name", CASES)
NOT_NEEDED = {
    ("reinforce_plus_plus", "uid"): "compute_advantage hands it to estimators that take anything",
    ("remax", "uid"): "the same",
}


def configuration(name: str) -> dict[str, Any]:
    known = name if name in (*DIE, *LIVE) else "gae"
    return {"algorithm": {**CONFIGURATION["algorithm"], "adv_estimator": known}}


def batch_for(name: str, seed: int = 0) -> Any:
    """The batch as the trainer has it there: what is written for one estimator, or by the function, is not in all."""
    batch = sampled(seed, **({"reward_baselines": torch.arange(8.0)} if name == "remax" else {}))
    if name == "rollout correction":
        batch.pop(["rollout_is_weights"])
    return batch


@every_function
@pytest.mark.parametrize("seed", range(3))
def test_it_reads_nothing_that_is_not_declared(name: str, seed: int) -> None:
    with use_config(configuration(name)), checking("values"):
        CASES[name][1](batch_for(name, seed))


def declared(name: str) -> list[str]:
    """The fields that the function reads in this configuration."""
    contract = contract_of(CASES[name][0])
    assert contract is not None
    look_up = partial(of_config, configuration(name))
    fields = contract.spec.reads.fields
    return [field.key for field in fields if field.when is None or holds(field.when, look_up)]


def without(name: str, left_out: str) -> Any:
    """What is declared, but for one field."""
    batch = batch_for(name)
    kept = [key for key in declared(name) if key != left_out]
    stores = batch.batch, batch.non_tensor_batch, batch.meta_info
    return batch.select(*([key for key in kept if key in store] for store in stores))


def answer(name: str, batch: Any) -> dict[str, Any]:
    """What the function writes, with nothing checked."""
    contract = contract_of(CASES[name][0])
    assert contract is not None
    with use_config(configuration(name)), checking("off"):
        result = CASES[name][1](batch)
    result = result[0] if isinstance(result, tuple) else result
    found = {**({} if result.batch is None else dict(result.batch.items())), **result.meta_info}
    return {field.key: found[field.key] for field in contract.spec.writes.fields if field.key in found}


@every_function
def test_it_needs_all_that_is_declared(name: str) -> None:
    """Without one of the declared fields, and with nothing that is not declared, verl's function fails or says else."""
    whole = answer(name, without(name, ""))
    assert whole
    needless = set()
    for field in declared(name):
        try:
            rest = answer(name, without(name, field))
        except (KeyError, TypeError, ValueError, AssertionError):
            continue
        if difference(rest, whole) is None:
            needless.add((name, field))

    assert needless == {pair for pair in NOT_NEEDED if pair[0] == name}


def test_rows_in_another_order_take_along_what_the_function_has_not_seen() -> None:
    """verl's own `_balance_batch`, on our container, which remembers where rows were; verl's forgets it."""
    batch = DataProto.from_verl(sampled(0))
    batch.non_tensor_batch["row"] = column(list(range(ROWS)))
    lengths = batch.batch["response_mask"].sum(1)

    result = fn.balance(batch)

    order = result.non_tensor_batch["row"].tolist()
    assert order != sorted(order) == list(range(ROWS))
    assert result.batch["response_mask"].sum(1).tolist() == lengths[order].tolist()
    with pytest.raises(ContractError, match="BP034 origin  batch  nothing says which input rows the result has"):
        fn.balance(sampled(0))


# --- wrong batches ----------------------------------------------------------------------------------------------------

ONES = torch.ones(ROWS, RESPONSE)
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "values of doubles": ("gae", {"values": ONES.double()}, "BP005 dtype"),
    "rewards for rows": ("grpo", {"token_level_rewards": torch.rand(ROWS, 1)}, "BP013 dims"),
    "a mask of floats": ("rloo", {"response_mask": ONES}, "BP005 dtype"),
    "rewards of halves": ("opo", {"token_level_rewards": ONES.half()}, "BP005 dtype"),
    "a mask that counts twice": ("gpg", {"response_mask": 2 * ONES.long()}, "BP021 values"),
    "a reward that is no number": ("reinforce_plus_plus", {"token_level_rewards": ONES * torch.nan}, "BP021 values"),
    "a penalty on rows": ("kl penalty", {"ref_log_prob": -torch.rand(ROWS, 1)}, "BP012 shape"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_verl_takes_in_silence_is_refused_at_the_boundary(wrong: str) -> None:
    name, changes, text = WRONG[wrong]
    batch = batch_for(name)
    batch.batch.update(changes)

    assert answer(name, batch)
    with use_config(configuration(name)), checking("values"), pytest.raises(ContractError, match=text):
        CASES[name][1](batch)
