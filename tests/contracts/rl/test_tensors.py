"""verl's functions of plain tensors keep to contracts: they say what they say alone, and use what is declared."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

import numpy as np

from batchpact.contracts import checking, contract_of, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas.equality import difference
from tests.contracts.rl.tensors import CASES, Case

ROWS, PROMPT, RESPONSE = 8, 3, 6
CONFIGURATION = {
    "algorithm": {
        "gdpo_reward_keys": ["format_reward", "accuracy_reward"],
        "gamma": 0.9,
        "lam": 0.95,
        "norm_adv_by_std_in_grpo": True,
        "rollout_correction": {"rollout_is": "token"},
    }
}
every_function = pytest.mark.parametrize("name", CASES)


def sampled() -> DataProto:
    """A batch of the whole vocabulary, in groups of four, with responses of several lengths."""
    generator = torch.Generator().manual_seed(3)
    lengths = torch.tensor([6, 3, 5, 2, 4, 6, 3, 5])[:, None]
    mask = (torch.arange(RESPONSE) < lengths).long()
    last = torch.nn.functional.one_hot(lengths.squeeze(1) - 1, RESPONSE).float()
    scores = torch.randn(ROWS, 1, generator=generator) * last

    def floats(*more: int) -> torch.Tensor:
        return torch.rand(ROWS, RESPONSE, *more, generator=generator)

    tensors = {
        "prompts": torch.ones(ROWS, PROMPT).long(),
        "responses": torch.randint(0, 2, (ROWS, RESPONSE), generator=generator),
        "others": torch.randint(0, 2, (ROWS, RESPONSE), generator=generator),
        "attention_mask": torch.cat([torch.ones(ROWS, PROMPT).long(), mask], dim=1),
        "response_mask": mask,
        "counts": mask.bool(),
        **{name: -floats() for name in ("old_log_probs", "ref_log_prob", "rollout_log_probs", "log_prob")},
        "values": floats(),
        "vpreds": floats(),
        "token_level_scores": scores,
        "token_level_rewards": scores - 0.01 * mask,
        "reward_baselines": torch.rand(ROWS, generator=generator),
        "advantages": (floats() - 0.5) * mask,
        "returns": floats(),
        "sum_pi_squared": floats(),
        "rollout_is_weights": floats(),
        "raw": 2 * floats(),
        "log_ratio": floats() - 0.5,
        "statistic": floats(),
        "per_sequence": torch.rand(ROWS, generator=generator),
        "entropys": floats(),
        "logits": floats(7),
        "routed_experts": torch.randint(0, 4, (ROWS, PROMPT + RESPONSE, 2, 2), generator=generator).to(torch.int16),
    }

    def column(*cells: Any) -> np.ndarray[Any, Any]:
        return np.array(cells, dtype=object)

    columns = {
        "uid": column(*"aaaabbbb"),
        "format_reward": column(0.0, 1.0, 0.5, 1.0, 0.0, 0.3, 0.0, 1.0),
        "accuracy_reward": column(1.0, 0.0, 0.0, 1.0, 0.2, 1.0, 1.0, 0.0),
        "spec_num_draft_tokens": column(*range(4, 12)),
        "spec_num_accepted_tokens": column(1, 2, 3, 4, 5, 3, 2, 1),
        "spec_num_verify_steps": column(2, 1, 2, 3, 1, 4, 2, 1),
    }
    return DataProto.from_dict(tensors, columns)


def read_by(case: Case) -> list[str]:
    """The fields of the batch that a function is given."""
    contract = contract_of(case.under_contract)
    assert contract is not None
    fields = contract.spec.reads.fields
    return [field.key for field in fields if field.places[0].placement != "arg"]


def under_contract(case: Case, batch: DataProto) -> list[Any]:
    """What the function says as a stage, at level `values`, in the order in which it says it."""
    contract = contract_of(case.under_contract)
    assert contract is not None
    torch.manual_seed(0)  # for losses that draw tokens
    with use_config(CONFIGURATION), checking("values"):
        result = case.under_contract(batch, **case.given)
    stores = result.batch, result.non_tensor_batch, result.meta_info
    found = {key: store[key] for store in stores if store is not None for key in store.keys()}
    return [found[field.key] for field in contract.spec.writes.fields if field.key in found]


def alone(case: Case, batch: DataProto) -> list[Any]:
    """What the function says where it is called with tensors and arguments as verl calls it."""
    parameters = inspect.signature(case.function).parameters
    values: dict[str, Any] = {"gamma": 0.9, "lam": 0.95, "norm_adv_by_std_in_grpo": True}
    held = {**dict(batch.batch.items()), **batch.non_tensor_batch, **values, **case.given}
    held |= {"batch": batch.batch, "non_tensor_batch": batch.non_tensor_batch}
    named = {name: case.names.get(name, name) for name in parameters}
    torch.manual_seed(0)
    result = case.function(**{name: held[field] for name, field in named.items() if field in held})
    return list(result) if isinstance(result, tuple) else [result]


@every_function
def test_it_says_under_contract_what_it_says_alone(name: str) -> None:
    case = CASES[name]

    assert len(under_contract(case, sampled())) == len(alone(case, sampled()))
    for ours, theirs in zip(under_contract(case, sampled()), alone(case, sampled()), strict=True):
        assert same(ours, theirs)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two results are the same; a batch of verl's by its tensors."""
    if hasattr(theirs, "non_tensor_batch"):
        return same(dict(ours.batch.items()), dict(theirs.batch.items()))
    return difference(ours, theirs) is None


@every_function
def test_it_uses_all_that_is_declared(name: str) -> None:
    """With other rows of one field, one of them lost, it says something else."""
    case = CASES[name]
    whole = under_contract(case, sampled())
    unused = set()
    for field in read_by(case):
        batch = sampled()
        store = batch.batch if field in batch.batch.keys() else batch.non_tensor_batch
        order = [1, 1, *range(3, ROWS), 2]
        store[field] = store[field][order]
        if all(same(ours, before) for ours, before in zip(under_contract(case, batch), whole, strict=True)):
            unused.add(field)

    assert unused == set(case.not_used)
