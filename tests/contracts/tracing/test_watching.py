"""The hook: it sees the calls of its thread, and leaves them as they are."""

from __future__ import annotations

import sys
import threading

import pytest
import torch

from batchpact.contracts.tracing.scope import Scope
from batchpact.contracts.tracing.watching import Watch
from batchpact.dataproto import DataProto
from tests.contracts.tracing import loops
from tests.contracts.tracing.loops import configured, prompts


def watched(work: object) -> Watch:
    """The calls of some work."""
    watch = Watch(Scope([loops]))
    watch.start()
    try:
        work()  # type: ignore[operator]
    finally:
        watch.stop()
    return watch


def test_a_call_with_what_it_did() -> None:
    generate, reward, advantage, whitened = watched(lambda: loops.step(configured(use_kl=True))).calls

    assert (generate.read, generate.written.names(), str(generate.rows)) == (
        ["prompts"],
        ["responses", "input_ids"],
        "repeat(2)",
    )
    assert (reward.looked, reward.read, reward.written.names()) == (
        ["rm_scores", "responses"],
        ["responses"],
        ["token_level_scores"],
    )
    assert (advantage.written.names(), advantage.drops) == (["advantages"], ("kl",))
    assert (whitened.unpacked, whitened.names, whitened.defaults) == (
        True,
        {"mask": "response_mask"},
        {"epsilon": 1e-8},
    )


def test_a_call_that_did_nothing_is_none() -> None:
    def idle() -> None:
        loops.configured(use_kl=True)
        loops.prompts()

    assert watched(idle).calls == []


def test_other_threads_are_not_seen() -> None:
    def elsewhere() -> None:
        other = threading.Thread(target=loops.generate, args=(prompts(), 2))
        other.start()
        other.join()

    assert watched(elsewhere).calls == []


def test_a_profiler_that_was_there_is_back_afterwards() -> None:
    def own(*_: object) -> None:
        return None

    sys.setprofile(own)
    try:
        watched(lambda: None)
        assert sys.getprofile() is own
    finally:
        sys.setprofile(None)


def test_where_another_profiler_took_the_hook_it_is_said() -> None:
    def elsewhere() -> None:
        loops.reward(DataProto.from_dict({"responses": torch.ones(2, 2)}))
        sys.setprofile(None)

    with pytest.warns(UserWarning, match="another profiler took the place of the trace"):
        assert [call.name for call in watched(elsewhere).calls] == ["reward"]


def test_a_trace_that_ends_within_a_call_gives_the_batch_back() -> None:
    watch = Watch(Scope([]))

    def stops(data: DataProto) -> DataProto:
        watch.stop()
        return data

    data = DataProto.from_dict({"x": torch.zeros(2)}, {}, {"step": 1})
    watch.start()
    stops(data)

    assert type(data.meta_info) is dict and data.meta_info == {"step": 1}
