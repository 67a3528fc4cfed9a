"""What a sender kept back is known where the stage runs, in whatever container it came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from batchpact.contracts import stage
from batchpact.contracts.kept_back import KEPT_BACK, note_of, whole_of
from batchpact.dataproto.withheld import Elsewhere
from batchpact.schemas import UndeclaredReadError
from batchpact.schemas.stores import Stores
from tests.contracts.stages import ComputeReturns, in_every_container, refusal, rewards, store_of, stores_of

NOTE = {"tensor": {"pixels": "tensor f32[9, 9]"}, "non_tensor": {}, "meta": {}, "arg": {}}


def sent(container: Any, **more: Any) -> Any:
    """A batch that holds what `ComputeReturns` reads, with a note of what it does not."""
    meta = {"gamma": 0.5, KEPT_BACK: copy.deepcopy(NOTE), **more}
    mask = rewards().long() * 0 + 1
    return container({"rewards": rewards(), "response_mask": mask}, {"uid": list("aabb")}, meta)


def test_a_note_is_plain_data() -> None:
    kept = Stores({"pixels": Elsewhere("tensor f32[9, 9]")}, {}, {})

    assert note_of(kept) == NOTE


def test_where_nothing_came_along_nothing_is_known() -> None:
    assert whole_of(Stores({}, {}, {"gamma": 0.5})) is None
    assert whole_of(Stores({}, {}, {KEPT_BACK: "no note of ours"})) is None


@in_every_container
@pytest.mark.parametrize("typed", [False, True])
def test_an_undeclared_read_is_told_by_what_the_sender_holds(container: Any, typed: bool) -> None:
    @stage(ComputeReturns)
    def peeks(data: Any) -> None:
        store_of(data, "tensor").get("pixels", None)

    @stage
    def peeks_typed(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.pixels)  # type: ignore[attr-defined]

    called = peeks_typed if typed else peeks
    assert refusal(lambda: called(sent(container)), UndeclaredReadError).partition("BP002")[2] == (
        f" withheld  pixels  the caller's batch holds tensor f32[9, 9]; "
        f"the Reads of '{called.__name__}' do not declare it; add pixels to them"
    )


@in_every_container
def test_what_the_batch_itself_holds_and_is_not_declared_is_known_too(container: Any) -> None:
    @stage(ComputeReturns)
    def peeks(data: Any) -> None:
        _ = store_of(data, "meta")["global_steps"]

    assert "the caller's batch holds int in meta_info" in refusal(
        lambda: peeks(sent(container, global_steps=7)), UndeclaredReadError
    )


@in_every_container
def test_a_stage_is_not_handed_the_note(container: Any) -> None:
    seen: list[str] = []

    @stage(ComputeReturns)
    def looks(data: Any) -> None:
        seen.extend(stores_of(data).names())

    looks(sent(container))

    assert sorted(seen) == ["gamma", "response_mask", "rewards", "scale", "uid"]
