"""Calls that nobody waits for, and what they give to the next group, on either backend."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from batchpact.contracts import StageFuture, WorkerError, WorkerGroup, checking, observe, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from batchpact.schemas.errors import MissingFieldError
from tests.contracts.workers.calls import batch_of
from tests.contracts.workers.critics import Critic

Groups = Callable[..., WorkerGroup]


def was_fetched(future: StageFuture) -> bool:
    """Whether the result came to the controller."""
    return future._outcome is not None


def test_a_future_gives_what_the_call_gives(groups: Groups) -> None:
    group, batch = groups(), batch_of(5)

    future = group.values.remote(batch, scale=3.0)

    assert future.get() == Critic().values(batch_of(5), scale=3.0)
    assert future.get() is future.get()
    assert batch == batch_of(5)


def test_two_calls_that_nobody_waited_for_give_each_its_own(groups: Groups) -> None:
    group, batch = groups(), batch_of(5)

    first, second = group.values.remote(batch, scale=2.0), group.generate.remote(batch)

    assert second.get() == Critic().generate(batch_of(5))
    assert first.get() == Critic().values(batch_of(5), scale=2.0)


def test_what_is_wrong_with_the_batch_is_raised_at_once_and_what_a_worker_does_by_get(groups: Groups) -> None:
    group = groups()
    with pytest.raises(MissingFieldError, match="where stage 'values' reads its batch"):
        group.values.remote(DataProto.from_dict({"rewards": torch.ones(2, 3)}))

    future = group.raises.remote(batch_of(5))

    for _ in range(2):
        with pytest.raises(WorkerError, match=r"^stage 'raises' on rank 1, rows \[3, 5\)"):
            future.get()


# --- passing on -----------------------------------------------------------------------------------------------------


def test_a_result_goes_to_the_next_group_without_the_controller(groups: Groups) -> None:
    batch = batch_of(5)
    alone = Critic().scale(Critic().score(batch_of(5)), factor=3.0)
    critics, scalers = groups(), groups(0.0)
    events: list[Any] = []

    scores = critics.score.remote(batch)
    with observe(events.append):
        scaled = scalers.scale.remote(scores, factor=3.0)
        made = scaled.get()

    assert made == alone
    assert made.last_writer("scaled") == "scale"
    assert not was_fetched(scores)
    assert [seen[-1] for seen in scalers.call_all("firsts")] == [[1.5, 2.5, 3.5], [4.5, 5.5]]
    assert [(event.stage, event.shipped) for event in events] == [("scale", {})]
    assert scores.get() == Critic().score(batch_of(5))
    assert batch == batch_of(5)


def test_a_result_goes_through_three_groups_and_fewer_rows_than_workers_are_no_matter(groups: Groups) -> None:
    one, two = groups(dp=4), groups(dp=4)

    scores = one.score.remote(batch_of(3))
    best = two.best.remote(scores)

    made = best.get()
    assert made == Critic().best(Critic().score(batch_of(3)))
    assert made.non_tensor_batch["tags"].tolist() == ["tag 2.5", "tag 3.5"]


def test_a_chosen_part_goes_on_without_the_controller_and_the_whole_is_put_together_at_the_end(groups: Groups) -> None:
    one, two = groups(), groups()
    alone = Critic().best(Critic().score(batch_of(6)))

    best = two.best.remote(one.score.remote(batch_of(6)))

    assert best.get() == alone


@pytest.mark.parametrize(
    ("first", "second", "settings"),
    [
        ("neutral", "halve", {"dp": 2}),  # total is a sum over the parts
        ("score", "scale", {"dp": 3}),  # other parts
        ("score", "values", {"dp": 2}),  # reads more than was written
    ],
)
def test_a_result_goes_through_the_controller_where_joining_it_makes_a_difference(
    groups: Groups, first: str, second: str, settings: dict[str, int]
) -> None:
    one, two = groups(), groups(**settings)
    future = getattr(one, first).remote(batch_of(5))

    try:
        made = getattr(two, second).remote(future).get()
    except ContractError as error:
        with pytest.raises(type(error)) as caught:
            getattr(Critic(), second)(getattr(Critic(), first)(batch_of(5)))
        assert str(caught.value) == str(error)
    else:
        assert made == getattr(Critic(), second)(getattr(Critic(), first)(batch_of(5)))
    assert was_fetched(future)


def test_rules_on_values_see_all_rows_so_such_a_result_is_fetched(groups: Groups) -> None:
    one, two = groups(), groups()
    future = one.score.remote(batch_of(5))

    with checking("values"):
        made = two.scale.remote(future).get()

    assert made == Critic().scale(Critic().score(batch_of(5)))
    assert was_fetched(future)


def test_the_configuration_in_use_goes_along(groups: Groups) -> None:
    group = groups()
    with use_config({"algorithm": {"scale": 4.0}}):
        future = group.values.remote(batch_of(5))

    assert torch.equal(future.get().batch["values"], Critic().values(batch_of(5), scale=4.0).batch["values"])


def test_the_stage_that_failed_is_named_and_not_the_one_that_waited_for_it(groups: Groups) -> None:
    one, two = groups(), groups()
    scaled = two.scale.remote(one.scores_or_raises.remote(batch_of(5)))

    with pytest.raises(WorkerError, match=r"^stage 'scores_or_raises' on rank 1, rows \[3, 5\)") as caught:
        scaled.get()

    assert caught.value.cause == "ValueError: no score"
    assert two.scale(one.score(batch_of(5))) == Critic().scale(Critic().score(batch_of(5)))


def test_a_stage_that_wrote_nothing_has_nothing_to_pass_on(groups: Groups) -> None:
    one, two = groups(), groups()

    with pytest.raises(ContractError, match=r"where stage 'scale' is called\n\n  BP036 .*called with None"):
        two.scale.remote(one.no_score.remote(batch_of(5))).get()


def test_a_call_that_waits_takes_a_future_too(groups: Groups) -> None:
    one, two = groups(), groups()

    made = two.scale(one.score.remote(batch_of(5)))

    assert made == Critic().scale(Critic().score(batch_of(5)))


def test_results_of_local_workers_and_of_actors_are_exchanged_through_the_controller(groups: Groups) -> None:
    here = WorkerGroup(Critic, dp=2)

    made = here.scale.remote(groups().score.remote(batch_of(5))).get()
    again = groups().scale.remote(here.score.remote(batch_of(5))).get()

    assert made == again == Critic().scale(Critic().score(batch_of(5)))


# --- coroutines -----------------------------------------------------------------------------------------------------


async def test_an_async_stage_is_awaited_and_the_event_loop_goes_on(groups: Groups) -> None:
    group, batch = groups(), batch_of(5)
    before = copy.deepcopy(batch)

    made = await group.ask(batch)

    assert made == await Critic().ask(batch_of(5))
    assert batch == before
    assert group.ask.remote(batch).get() == made


async def test_an_async_stage_that_raises_says_where(groups: Groups) -> None:
    with pytest.raises(WorkerError, match=r"^stage 'ask_in_vain' on rank 0, rows \[0, 3\)") as caught:
        await groups().ask_in_vain(batch_of(5))

    assert caught.value.cause == "TimeoutError: the judge is out"
    assert caught.value.others == (1,)


async def test_what_is_wrong_with_the_batch_of_an_async_stage_is_raised_when_it_is_awaited(groups: Groups) -> None:
    waiting = groups().ask(DataProto())

    with pytest.raises(MissingFieldError, match="where stage 'ask' reads its batch"):
        await waiting
