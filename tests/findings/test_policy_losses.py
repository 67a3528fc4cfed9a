"""verl's own policy losses keep to one contract: which of its fields each of them looks at."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from batchpact.contracts import checking
from batchpact.schemas import ContractError
from tests.findings import functions as fn
from tests.findings.test_functions import sampled

LOSSES = [
    "bypass_mode",
    "cispo",
    "clip_cov",
    "dppo_kl",
    "dppo_tv",
    "dro",
    "geo_mean",
    "gpg",
    "gspo",
    "kl_cov",
    "sapo",
    "vanilla",
]
NOT_USED = {
    "bypass_mode": {"rollout_is_weights"},  # it takes weights of its own
    "gpg": {"old_log_probs"},  # no ratio of policies
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def micro_batch() -> Any:
    batch = sampled(0)
    batch.batch["log_prob"] = (batch.batch["old_log_probs"] - 0.3).detach().requires_grad_()
    return batch


def minimised(name: str, batch: Any) -> tuple[float, dict[str, Any]]:
    torch.manual_seed(0)  # for losses that draw tokens
    result, loss = fn.policy_loss(batch, loss_mode=name)
    return loss.item(), result.meta_info["metrics"]


def test_every_loss_that_is_registered_is_named_here() -> None:
    from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY

    assert sorted(POLICY_LOSS_REGISTRY) == LOSSES


@every_loss
def test_it_reads_what_is_declared_and_its_loss_has_a_graph(name: str) -> None:
    batch = micro_batch()

    with checking("values"):
        _, loss = fn.policy_loss(batch, loss_mode=name)
    loss.backward()

    assert batch.batch["log_prob"].grad is not None


@every_loss
def test_it_uses_all_that_is_declared(name: str) -> None:
    whole = minimised(name, micro_batch())
    unused = set()
    for field in ("old_log_probs", "log_prob", "advantages", "response_mask", "rollout_is_weights"):
        batch = micro_batch()
        batch.batch[field] = batch.batch[field].detach().roll(1, dims=0)
        if minimised(name, batch) == whole:
            unused.add(field)

    assert unused == NOT_USED.get(name, set())


@every_loss
def test_advantages_for_rows_are_refused(name: str) -> None:
    """`[B, 1]` beside `[B, T]` broadcasts, and is right only by chance."""
    batch = micro_batch()
    batch.batch["advantages"] = batch.batch["advantages"][:, :1]

    with pytest.raises(ContractError, match="BP012 shape  advantages"):
        fn.policy_loss(batch, loss_mode=name)
