"""verl's estimators on samples of the vocabulary's contracts: those that are sound, and what is said of others."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import pytest

pytestmark = pytest.mark.peers
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")

from batchpact.contracts import stage
from batchpact.contracts.testing import check_stage
from batchpact.schemas import ContractError
from batchpact.schemas.rl.dense.advantages import ESTIMATORS


class Config(dict[str, Any]):
    """As much of verl's algorithm configuration as the estimators ask for."""

    gamma = 1.0


PARTS = ["format", "accuracy"]
CONFIG = Config(gdpo_reward_keys=PARTS)
SETTINGS = {"algorithm": {"gdpo_reward_keys": PARTS}}


def check(name: str, **asked: Any) -> None:
    function = core_algos.get_adv_estimator_fn(name)
    parameters = inspect.signature(function).parameters
    names = {"index": "uid"} if "index" in parameters else {}
    staged: Any = stage(ESTIMATORS[name], unpack=True, names=names, name=name)(function)
    check_stage(partial(staged, config=CONFIG) if "config" in parameters else staged, config=SETTINGS, **asked)


WHITENING = ["gae", "gdpo", "reinforce_plus_plus", "reinforce_plus_plus_baseline"]
"""They whiten over the batch, which raises where it has no valid token; the contracts allow a batch without rows."""
SOUND = [name for name in ESTIMATORS if name not in (*WHITENING, "grpo_passk")]


@pytest.mark.parametrize("name", SOUND)
def test_an_estimator_is_sound(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", WHITENING)
def test_what_whitens_is_sound_where_there_is_a_row(name: str) -> None:
    check(name, rows=(5, 1))
    with pytest.raises(ContractError) as error:
        check(name)

    (violation,) = error.value.violations
    assert violation.actual == "it raises ValueError: At least one element in the mask has to be 1."
    assert violation.hint == "with no row: draw(0, seed=0)"


def test_pass_at_k_is_sound_where_each_group_has_two_rows() -> None:
    """Its contract says nothing of the size of a group."""
    check("grpo_passk", rows=(4, 2))
    with pytest.raises(ContractError, match=r"Pass@k requires at least 2 samples per group\. Got 1 .*; with 5 rows: "):
        check("grpo_passk")
