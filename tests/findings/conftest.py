"""The queue of verl's newer trainer, replaced by a dict."""

from __future__ import annotations

import pytest

from tests.findings.queue import DictQueue


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> DictQueue:
    made = DictQueue()
    from verl.trainer.ppo import padding_utils
    from verl.trainer.ppo.v1 import trainer_base

    monkeypatch.setattr(trainer_base, "tq", made)
    monkeypatch.setattr(padding_utils, "tq", made)
    return made
