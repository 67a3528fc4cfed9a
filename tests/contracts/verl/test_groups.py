"""`contract_dispatch` on verl's own `RayWorkerGroup`: two data-parallel groups of two ranks, on a CPU."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]
pytest.importorskip("verl")

from batchpact.contracts import Event, observe, use_config
from batchpact.dataproto import DataProto
from batchpact.dataproto.carriers import carrier_of
from batchpact.schemas import ContractError, DeclarationError
from batchpact.schemas.equality import difference
from batchpact.schemas.errors import BatchError, UndeclaredReadError
from batchpact.schemas.stores import Stores
from tests.contracts.verl.schemas import BATCHES, ours, rewards, tensor_dict, verls
from tests.contracts.verl.workers import AsyncCritic, Critic

in_every_kind = pytest.mark.parametrize("batch_of", BATCHES.values(), ids=BATCHES.keys())


@pytest.fixture(scope="module")
def made(group_of: Callable[..., Any]) -> Any:
    return group_of(Critic, 4)


@pytest.fixture
def critics(made: Any) -> Iterator[Any]:
    yield made
    made.told()


def stores_of(batch: Any) -> Stores:
    carrier = carrier_of(batch)
    assert carrier is not None
    return carrier.stores(batch)


def values(rows: int, scale: float = 1.0) -> torch.Tensor:
    return rewards(rows) * 0.5 * scale


@in_every_kind
def test_declared_reads_go_to_the_groups_of_the_mesh_and_writes_come_back(critics: Any, batch_of: Any) -> None:
    """Case W5: pixels and strings stay behind. Case D4: four rows for dp=2, tp=2 are cut by two, not by four."""
    batch = batch_of(4)
    before = copy.deepcopy(batch)

    with use_config({"use_bonus": False}):
        result = critics.compute_values(batch)

    told = critics.told()
    assert [seen[0]["names"] for seen in told] == [[["rewards"], ["uid"], ["gamma", "scale"]]] * 4
    assert [seen[0]["rows"] for seen in told] == [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]
    assert {seen[0]["kind"] for seen in told} == {
        "TensorDict" if isinstance(batch, type(tensor_dict(1))) else "DataProto"
    }
    assert type(result) is type(batch)
    assert stores_of(result).names() == ["values"]
    assert torch.equal(stores_of(result).tensors["values"], values(4))
    assert difference(stores_of(batch), stores_of(before)) is None


def test_without_a_contract_everything_is_shipped(critics: Any) -> None:
    """What verl does on its own, for comparison."""
    critics.without_contract(verls(4))

    assert critics.told()[0][0]["names"] == [
        ["bonus", "pixels", "rewards"],
        ["images", "uid"],
        ["gamma", "global_steps"],
    ]


def test_verls_own_union_joins_the_result(critics: Any) -> None:
    batch = verls(4)

    batch.union(critics.compute_values(batch))

    assert torch.equal(batch.batch["values"], values(4))


def test_our_batch_knows_who_wrote_a_field(critics: Any) -> None:
    assert critics.compute_values(ours(4)).history() == {"values": "written by 'compute_values'"}


def test_without_a_mesh_every_worker_is_a_data_parallel_group(critics: Any) -> None:
    result = critics.on_every_worker(verls(4))

    assert [seen[0]["rows"] for seen in critics.told()] == [[1.0], [2.0], [3.0], [4.0]]
    assert torch.equal(result.batch["values"], values(4))


@in_every_kind
def test_conditions_are_answered_by_the_configuration_in_use(critics: Any, batch_of: Any) -> None:
    with use_config({"use_bonus": True, "algorithm": {"scale": 3.0}}):
        result = critics.compute_values(batch_of(4))

    told = critics.told()[0][0]
    assert (told["names"][0], told["scale"]) == (["bonus", "rewards"], 3.0)
    assert torch.equal(stores_of(result).tensors["values"], values(4, 3.0))


@pytest.mark.parametrize("kwargs", [{"scale": 4.0}, {}], ids=["given", "default"])
def test_an_argument_is_passed_by_keyword_to_a_method_that_takes_it(critics: Any, kwargs: Any) -> None:
    batch = verls(4)
    result = critics.takes_its_argument(batch, times=2, **kwargs)

    told = critics.told()
    scale = kwargs.get("scale", 1.0)
    assert [(seen[0]["scale"], seen[0]["times"]) for seen in told] == [(scale, 2)] * 4
    assert told[0][0]["names"][2] == ["gamma"]
    assert torch.equal(result.batch["values"], values(4, scale * 2))
    assert "scale" not in batch.meta_info


def test_an_argument_may_be_passed_by_position_and_the_batch_by_keyword(critics: Any) -> None:
    assert torch.equal(critics.takes_its_argument(verls(4), 2.0).batch["values"], values(4, 2.0))
    assert torch.equal(critics.compute_values(data=verls(4), scale=2.0).batch["values"], values(4, 2.0))


# --- rows ---


@in_every_kind
def test_a_pad_safe_stage_gets_neutral_rows_that_are_gone_afterwards(critics: Any, batch_of: Any) -> None:
    result = critics.neutral(batch_of(5))

    assert [seen[0]["rows"] for seen in critics.told()][::2] == [[1.0, 2.0, 3.0], [4.0, 5.0, 0.0]]
    assert torch.equal(stores_of(result).tensors["doubled"], rewards(5) * 2)


def test_rows_that_cannot_be_shared_are_told_with_the_ways_out(critics: Any) -> None:
    """Case S1."""
    with pytest.raises(BatchError) as caught:
        critics.compute_values(verls(5))

    assert str(caught.value) == (
        "1 problem in contract_dispatch.compute_values; nothing was changed\n\n"
        "  BP043 split  batch  5 rows for 2 data-parallel groups leave 1 over; verl gives each group as many rows; "
        "leave 1 out, pad 1 with pad_dataproto_to_divisor(batch, 2), or declare pad_safe = True on ComputeValues"
    )
    assert critics.told() == [[]] * 4


def test_verls_auto_padding_cuts_unevenly(critics: Any) -> None:
    batch = verls(5)
    batch.meta_info["_verl_auto_padding"] = True

    result = critics.compute_values(batch)

    assert [seen[0]["rows"] for seen in critics.told()][::2] == [[1.0, 2.0, 3.0], [4.0, 5.0]]
    assert torch.equal(result.batch["values"], values(5))


def test_a_batch_without_rows_is_refused(critics: Any) -> None:
    with pytest.raises(BatchError, match="a batch without rows and 2 data-parallel groups; a row for each group"):
        critics.compute_values(verls(4)[:0])


def test_a_group_of_rows_is_not_cut(critics: Any) -> None:
    assert torch.equal(critics.advantage(verls(4)).batch["advantages"], rewards(4))
    with pytest.raises(BatchError, match="'u1' in row 2 and in row 3, which go to two data-parallel groups"):
        critics.advantage(verls(6))


def test_new_rows_come_back_as_they_are(critics: Any) -> None:
    result = critics.generate(verls(2))

    assert torch.equal(result.batch["responses"], rewards(2).repeat_interleave(2, dim=0))


# --- results ---


@in_every_kind
def test_a_method_may_return_its_input(critics: Any, batch_of: Any) -> None:
    result = critics.returns_its_input(batch_of(4))

    assert stores_of(result).names() == ["values"]
    assert torch.equal(stores_of(result).tensors["values"], values(4))


def test_meta_is_collected_as_verl_does(critics: Any) -> None:
    batch = ours(4).union(DataProto.from_dict({"values": values(4)})).to_verl()

    result = critics.losses(batch)

    assert torch.equal(result.batch["values"], values(4) + 1)
    assert result.meta_info == {"metrics": {"loss": [0.5, 0.5]}}


def test_a_method_without_output_returns_none(critics: Any) -> None:
    assert critics.no_output(verls(4)) is None
    assert len(critics.told()[3]) == 1


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("writes_more", r"BP004 unasked  norms  returned tensor f32\[4\]; its Writes do not declare it"),
        ("too_wide", r'BP012 shape  values  f32\[4, 9\], declared "batch response"; response=3 in what the stage'),
        ("changes_its_input", "BP031 changed  rewards  returned with another value"),
    ],
)
@in_every_kind
def test_a_wrong_result_is_refused(critics: Any, batch_of: Any, method: str, text: str) -> None:
    with pytest.raises(ContractError, match=text):
        getattr(critics, method)(batch_of(4))


def test_a_wrong_batch_is_refused_before_anything_is_sent(critics: Any) -> None:
    batch = verls(4)
    batch.batch["rewards"] = batch.batch["rewards"].double()
    del batch.meta_info["gamma"]

    with pytest.raises(ContractError) as caught:
        critics.compute_values(batch)

    assert str(caught.value) == (
        "2 problems where stage 'compute_values' reads its batch\n\n"
        "  BP005 dtype    rewards  f64, declared f32; cast it where it is made: x.to(torch.float32)\n"
        "  BP001 missing  gamma    declared meta float; no name in the batch is close"
    )
    assert critics.told() == [[]] * 4


def test_a_call_without_a_batch_is_refused(critics: Any) -> None:
    with pytest.raises(
        ContractError, match="BP036 call  batch  called with int 3; verl's DataProto or DataProtoFuture"
    ):
        critics.compute_values(3)


def test_a_call_that_fails_leaves_nothing_behind(critics: Any) -> None:
    batch = verls(4)
    known = weakref.ref(batch)

    with pytest.raises(RuntimeError, match="not today"):
        critics.raises(batch)

    del batch
    gc.collect()
    assert known() is None
    assert torch.equal(critics.compute_values(verls(4)).batch["values"], values(4))


def test_an_event_says_what_was_shipped(critics: Any) -> None:
    events: list[Event] = []
    with observe(events.append):
        critics.compute_values(verls(4))

    assert [(event.stage, sorted(event.shipped), event.fields_written) for event in events] == [
        ("compute_values", ["bonus", "gamma", "rewards", "scale", "uid"], 1)
    ]
    assert events[0].shipped["rewards"] == 4 * 3 * 4


# --- futures ---


@in_every_kind
def test_a_future_is_checked_when_somebody_gets_it(critics: Any, batch_of: Any) -> None:
    future = critics.later(batch_of(4))
    wrong = critics.wrong_later(batch_of(4))

    assert torch.equal(stores_of(future.get()).tensors["values"], values(4))
    assert type(future.get()) is type(batch_of(4))
    with pytest.raises(ContractError, match="BP005 dtype  values  f64"):
        wrong.get()


def test_calls_that_overlap_keep_their_own_rows(critics: Any) -> None:
    four, two = critics.later(verls(4)), critics.later(verls(2))
    padded, six = critics.neutral_later(verls(5)), critics.neutral_later(verls(6))

    assert torch.equal(two.get().batch["values"], values(2))
    assert torch.equal(six.get().batch["doubled"], rewards(6) * 2)
    assert torch.equal(padded.get().batch["doubled"], rewards(5) * 2)
    assert torch.equal(four.get().batch["values"], values(4))


def test_threads_keep_their_own_rows(critics: Any) -> None:
    sizes = [2, 4, 6, 8] * 3
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda rows: critics.compute_values(verls(rows)), sizes))

    assert all(torch.equal(result.batch["values"], values(rows)) for rows, result in zip(sizes, results, strict=True))


def test_a_future_does_not_hold_the_batch(critics: Any) -> None:
    batch = verls(4)
    known = weakref.ref(batch)

    future = critics.later(batch)

    del batch
    gc.collect()
    assert known() is None
    assert torch.equal(future.get().batch["values"], values(4))


def test_the_owner_of_a_batch_may_change_it_before_the_result_is_there(critics: Any) -> None:
    batch = verls(4)
    future = critics.later(batch)
    batch.batch["rewards"].add_(1.0)

    assert torch.equal(future.get().batch["values"], values(4))


def test_a_future_goes_to_the_next_method_without_the_controller(critics: Any) -> None:
    """The worker checks it and takes what the Reads declare."""
    result = critics.losses(critics.later(verls(4)))

    assert torch.equal(result.batch["values"], values(4) + 1)
    told = [seen[-1] for seen in critics.told()]
    assert [seen["values"] for seen in told][::2] == [[0.5, 1.0], [1.5, 2.0]]
    assert told[0]["names"] == [["values"], [], []]


def test_a_method_may_take_the_future_itself(critics: Any) -> None:
    result = critics.takes_a_future(critics.later(verls(4)))

    assert critics.told()[0][-1]["kind"] == "DataProtoFuture"
    assert torch.equal(result.batch["values"], values(4) + 1)


def test_a_wrong_future_is_refused_on_the_worker(critics: Any) -> None:
    with pytest.raises(ContractError, match="BP005 dtype  values  f64") as caught:
        critics.losses(critics.wrong_later(verls(4)))

    assert caught.value.cause.violations[0].where.stage == "compute_values"
    with pytest.raises(ContractError, match="BP001 missing  values") as caught:
        critics.losses(critics.neutral_later(verls(4)))
    assert caught.value.cause.violations[0].where.stage == "losses"


def test_a_future_of_a_padded_call_has_no_pad_rows_for_verls_own_methods(critics: Any) -> None:
    with pytest.raises(AssertionError, match="only support equal chunk"):
        critics.plain_losses(critics.neutral_later(verls(5)))
    result = critics.plain_losses(critics.neutral_later(verls(6)))

    assert torch.equal(result.batch["values"], rewards(6) * 2 + 1)


# --- stacked ---


@in_every_kind
@pytest.mark.parametrize("method", ["below_register", "above_register", "typed", "above_bridge"])
def test_a_stage_stacks_with_verls_decorators(critics: Any, batch_of: Any, method: str) -> None:
    result = getattr(critics, method)(batch_of(4), scale=2.0)

    assert stores_of(result).names() == ["values"]
    assert torch.equal(stores_of(result).tensors["values"], values(4, 2.0))
    assert "_batchpact_kept_back" not in str(critics.told())


@pytest.mark.parametrize("method", ["below_register", "above_register", "typed", "above_bridge"])
def test_a_stacked_stage_takes_a_future(critics: Any, method: str) -> None:
    import ray
    from verl.protocol import DataProtoFuture

    future = DataProtoFuture.concat([ray.put(verls(2)), ray.put(verls(2))])

    result = getattr(critics, method)(future)

    assert torch.equal(result.batch["values"], values(4)[[0, 1, 0, 1]])


@in_every_kind
def test_a_stage_on_a_worker_knows_what_stayed_behind(critics: Any, batch_of: Any) -> None:
    with pytest.raises(UndeclaredReadError) as caught:
        critics.peeks(batch_of(4))

    assert str(caught.value.cause) == (
        "1 problem in stage 'peeks', which looked for a field it does not declare\n\n"
        "  BP002 withheld  pixels  the caller's batch holds tensor f32[4, 5]; "
        "the Reads of 'peeks' do not declare it; add pixels to them"
    )


def test_a_stage_with_another_contract_is_refused(critics: Any) -> None:
    with pytest.raises(DeclarationError, match=r"Critic\.of_two_contracts is a @stage with another contract"):
        critics.of_two_contracts(verls(4))


def test_coroutine_functions_run_as_verl_allows_them(group_of: Callable[..., Any]) -> None:
    workers = group_of(AsyncCritic, 2)

    for method in ("compute_values", "below_register", "above_register"):
        result = getattr(workers, method)(verls(2), scale=2.0)
        assert torch.equal(result.batch["values"], values(2, 2.0))


@pytest.mark.parametrize("way", ["create_colocated_worker_cls", "create_colocated_worker_cls_fused"])
def test_colocated_workers_keep_the_contract_of_each_method(cluster: None, way: str) -> None:
    import ray
    from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup, base

    both = getattr(base, way)({"critic": RayClassWithInitArgs(cls=ray.remote(Critic))})
    pool = RayResourcePool([2], use_gpu=False)
    workers = RayWorkerGroup(resource_pool=pool, ray_cls_with_init=both, device_name="cpu").spawn({"critic"})["critic"]

    assert torch.equal(workers.below_register(verls(4), scale=2.0).batch["values"], values(4, 2.0))
    assert torch.equal(workers.takes_its_argument(verls(4)).batch["values"], values(4))
    with pytest.raises(UndeclaredReadError, match="the caller's batch holds tensor"):
        workers.peeks(verls(4))
