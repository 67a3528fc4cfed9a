"""A group of workers: who is called with which rows, plain methods, other containers, and its end."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
import torch

from batchpact.contracts import (
    ContractWarning,
    Event,
    Pipeline,
    WorkerGroup,
    checking,
    contract_of,
    observe,
    this_worker,
)
from batchpact.dataproto import DataProto, pad_dataproto_to_divisor
from batchpact.schemas import ContractError, DeclarationError
from batchpact.schemas.errors import SettingError
from tests.contracts.stages import Container, in_every_container, stores_of
from tests.contracts.workers.calls import batch_of, rewards
from tests.contracts.workers.critics import Critic, Neutral, Values


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        (4, [[[1.0, 2.0]], [[3.0, 4.0]]]),
        (5, [[[1.0, 2.0, 3.0]], [[4.0, 5.0]]]),
        (1, [[[1.0]], []]),
        (0, [[[]], []]),
    ],
)
def test_rows_go_to_data_parallel_groups_in_their_order(rows: int, seen: list[list[list[float]]]) -> None:
    group = WorkerGroup(Critic, dp=2)

    group.values(batch_of(rows))

    assert group.call_all("firsts") == seen


def test_rows_are_shared_by_data_parallel_size_and_not_by_world_size() -> None:
    """Case D4."""
    group = WorkerGroup(Critic, dp=2, ranks_per_dp=2)

    group.values(batch_of(4))

    assert group.world_size == 4
    assert group.call_all("firsts") == [[[1.0, 2.0]], [[1.0, 2.0]], [[3.0, 4.0]], [[3.0, 4.0]]]


def test_a_pad_safe_stage_gets_equal_parts_with_neutral_rows() -> None:
    """Cases S2, S3 and S4."""
    group, batch = WorkerGroup(Critic, dp=4), batch_of(3)

    made = group.neutral(batch)

    assert batch == batch_of(3)
    assert len(batch.union(made)) == 3

    assert group.call_all("firsts") == [[[1.0]], [[2.0]], [[3.0]], [[0.0]]]
    assert made.meta_info == {"total": 6.0}
    assert torch.equal(made.batch["doubled"], rewards(3) * 2)


def test_pad_rows_of_the_caller_stay_and_only_the_own_ones_are_removed() -> None:
    batch, _ = pad_dataproto_to_divisor(batch_of(3).bind(Neutral.Reads), 5)

    made = WorkerGroup(Critic, dp=4).neutral(batch)

    assert len(made) == 5
    assert batch.pad_mask.tolist() == [False, False, False, True, True]
    assert torch.equal(batch.union(made).batch["doubled"][:3], rewards(3) * 2)


def test_pad_rows_are_refused_where_the_stage_is_not_pad_safe() -> None:
    batch, _ = pad_dataproto_to_divisor(batch_of(3), 4)

    with pytest.raises(ContractError, match=r"BP033 padded  batch  1 pad row of 4; the stage is not pad_safe"):
        WorkerGroup(Critic, dp=2).values(batch)


def test_rows_are_put_into_another_order_inside_a_part() -> None:
    batch = batch_of(5)

    made = WorkerGroup(Critic, dp=2).turn(batch)

    assert made.batch["rewards"][:, 0].tolist() == made.batch["kept"].tolist() == [3.0, 2.0, 1.0, 5.0, 4.0]
    assert made.non_tensor_batch["images"].tolist() == [{"pixels": [row]} for row in (2, 1, 0, 4, 3)]
    assert batch == batch_of(5)


@in_every_container
def test_every_container_gets_its_own_kind_back(container: Container) -> None:
    def batch() -> object:
        return container({"rewards": rewards(5)}, {"uid": list("abcde")}, {"gamma": 0.5})

    made = WorkerGroup(Critic, dp=2).values(batch())

    assert type(made) is type(batch())
    alone = stores_of(Critic().values(batch()))
    assert torch.equal(stores_of(made).tensors["values"], alone.tensors["values"])
    assert list(stores_of(made).columns["names"]) == list(alone.columns["names"])
    assert stores_of(made).meta == alone.meta


def test_a_reads_gives_a_writes() -> None:
    reads = Values.Reads(rewards=rewards(3), uid=batch_of(3).non_tensor_batch["uid"], gamma=0.5, scale=2.0)

    made = WorkerGroup(Critic, dp=2).values(reads)

    assert type(made) is Values.Writes
    assert torch.equal(made.values, Critic().values(reads).values)
    assert made.rows == 3


def test_only_declared_fields_travel_and_an_observer_sees_their_bytes() -> None:
    """Case W5: an undeclared cell that cannot even be copied does no harm."""
    batch = batch_of(4)
    batch.non_tensor_batch["images"][0] = threading.Lock()
    events: list[Event] = []

    with observe(events.append):
        WorkerGroup(Critic, dp=2).generate(batch)

    assert [(event.stage, event.shipped) for event in events] == [("generate", {"rewards": 4 * 3 * 4})]


def test_arguments_and_pad_rows_count_among_what_is_shipped() -> None:
    events: list[Event] = []

    with observe(events.append):
        WorkerGroup(Critic, dp=2).values(batch_of(3), scale=2.0)
        WorkerGroup(Critic, dp=2).neutral(batch_of(3))

    assert [sorted(event.shipped) for event in events] == [["gamma", "rewards", "scale", "uid"], ["rewards"]]
    assert events[1].shipped == {"rewards": 4 * 3 * 4}


def test_rows_that_nothing_travels_of_are_made_by_one_worker() -> None:
    batch = batch_of(3)
    batch.meta_info["size"] = 3
    group = WorkerGroup(Critic, dp=2)

    assert group.from_meta(batch) == Critic().from_meta(batch)
    batch.meta_info["size"] = 2
    with pytest.raises(ContractError, match="BP012 shape  batch  2 rows, declared 3 rows"):
        group.from_meta(batch)


def test_a_stage_that_is_handed_everything_gets_everything() -> None:
    events: list[Event] = []

    with observe(events.append):
        made = WorkerGroup(Critic, dp=2).open_handed(batch_of(3))

    assert made == Critic().open_handed(batch_of(3))
    assert set(events[0].shipped) == set(batch_of(3).stores().names())


@pytest.mark.usefixtures("fresh_counts")
def test_an_undeclared_read_is_recorded_on_a_worker_too() -> None:
    with pytest.warns(ContractWarning, match="BP002 withheld  unused  the caller's batch holds"):
        made = WorkerGroup(Critic, dp=1).recorded(batch_of(3))

    assert torch.equal(made.batch["responses"], torch.ones(3, 5))


def test_a_plain_call_ships_nothing() -> None:
    events: list[Event] = []

    with observe(events.append):
        Critic().generate(batch_of(2))

    assert events[0].shipped == {}


def test_level_off_checks_nothing_but_the_rows_that_it_has_to_join() -> None:
    with checking("off"):
        group = WorkerGroup(Critic, dp=2)
        assert group.values(batch_of(5)) == Critic().values(batch_of(5))
        with pytest.raises(ContractError, match=r", on rank 0\n\n  BP012 shape  batch  2 rows, declared 3 rows"):
            group.loses_a_row(batch_of(5))


def test_plain_methods_are_called_on_all_or_on_the_first() -> None:
    group = WorkerGroup(Critic, 2.0, dp=3)

    assert group.call_all("shows", factor=2.0) == [4.0, 4.0, 4.0]
    assert group.call_rank_zero("shows", 3.0) == 6.0


def test_a_plain_method_is_no_attribute() -> None:
    group = WorkerGroup(Critic, dp=1)

    with pytest.raises(AttributeError, match=r"^shows is no stage of Critic; call_all\('shows'\) calls a plain method"):
        _ = group.shows
    with pytest.raises(AttributeError, match=r"^other is no stage of Critic$"):
        _ = group.other


def test_a_stage_below_another_decorator_is_refused() -> None:
    text = "a decorator stands above @stage, and workers would not run it: put @stage on top"
    with pytest.raises(DeclarationError, match=text):
        _ = WorkerGroup(Critic, dp=1).decorated


def test_of_a_tuple_the_batches_are_joined_and_the_rest_is_listed_by_part() -> None:
    made, firsts, counts = WorkerGroup(Critic, dp=2).in_a_tuple(batch_of(5))

    assert made == Critic().score(batch_of(5))
    assert (firsts, counts) == ([1.0, 4.0], [3, 2])


def test_a_tuple_without_a_batch_keeps_its_rest() -> None:
    assert WorkerGroup(Critic, dp=2).nothing_in_a_tuple(batch_of(5)) == (None, [3, 2])


def test_something_else_than_a_batch_is_refused() -> None:
    with pytest.raises(ContractError, match=r"BP036 .*called with int"):
        WorkerGroup(Critic, dp=1).values(3)


@pytest.mark.parametrize("settings", [{"dp": 0}, {"dp": True}, {"dp": 1, "ranks_per_dp": 0}, {"dp": 1, "backend": "x"}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(SettingError, match="BP052"):
        WorkerGroup(Critic, **settings)  # type: ignore[arg-type]


def test_a_stage_of_a_group_is_a_stage_for_pipelines() -> None:
    group = WorkerGroup(Critic, dp=2)

    made = Pipeline(
        "p", stages=[group.values], inputs=Values.Reads, outputs=("values", "names", "rows", "highest")
    ).run(batch_of(3), {})

    assert contract_of(group.values) is contract_of(Critic.values)
    assert torch.equal(made.batch["values"], Critic().values(batch_of(3)).batch["values"])


def test_the_end_of_a_block_ends_the_workers() -> None:
    with WorkerGroup(Critic, dp=2) as group:
        values = group.values
        instance = weakref.ref(group._place._workers[0]._made)  # type: ignore[union-attr]

    gc.collect()
    assert instance() is None
    for call in (lambda: group.generate(batch_of(2)), lambda: group.call_all("shows"), lambda: values(batch_of(2))):
        with pytest.raises(RuntimeError, match=r"^this WorkerGroup was shut down$"):
            call()
    group.shutdown()


def test_a_result_shares_nothing_with_a_worker() -> None:
    batch = DataProto.from_dict({"rewards": rewards(2)})
    group = WorkerGroup(Critic, dp=1)

    first = group.generate(batch)
    first.batch["responses"].zero_()

    assert group.generate(batch).batch["responses"].tolist() == [[1.0, -1.0], [2.0, 2.0]]


def test_values_are_checked_once_and_on_all_rows() -> None:
    batch = DataProto.from_dict({"scores": torch.tensor([1.0, 2.0, float("inf")])}, {"uid": list("abc")})

    with checking("values"), pytest.raises(ContractError) as caught:
        WorkerGroup(Critic, dp=3).advantage(batch)

    with checking("values"), pytest.raises(ContractError) as alone:
        Critic().advantage(batch)
    assert str(caught.value) == str(alone.value)
    assert "BP021" in str(caught.value)


class Where:
    """Knows who it is from the start."""

    def __init__(self) -> None:
        self.made_as = this_worker()

    def asked(self) -> bool:
        return this_worker() == self.made_as

    def which(self) -> tuple[int, ...]:
        return tuple(this_worker())


def test_a_worker_knows_which_one_it_is() -> None:
    group = WorkerGroup(Where, dp=2, ranks_per_dp=2)

    assert group.call_all("which") == [(0, 4, 0, 2), (1, 4, 0, 2), (2, 4, 1, 2), (3, 4, 1, 2)]
    assert group.call_all("asked") == [True] * 4
    with pytest.raises(RuntimeError, match=r"^this_worker\(\) is asked outside a WorkerGroup"):
        this_worker()


class Keeper:
    def __init__(self, kept: list[int]) -> None:
        self.kept = kept

    def add(self) -> list[int]:
        self.kept.append(1)
        return self.kept


def test_every_worker_gets_arguments_of_its_own_as_an_actor_does() -> None:
    given: list[int] = []

    group = WorkerGroup(Keeper, given, dp=2)

    assert group.call_all("add") == [[1], [1]]
    assert given == []
