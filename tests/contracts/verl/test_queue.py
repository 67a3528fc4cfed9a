"""`contract_dispatch` with the metas of the real TransferQueue, on verl's own worker group and by verl's own bridge."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]
pytest.importorskip("verl")
tq = pytest.importorskip("transfer_queue")

from batchpact.contracts import use_config
from batchpact.schemas import ContractError
from batchpact.schemas.errors import BatchError, UndeclaredReadError
from tests.contracts.verl.schemas import rewards, tensor_dict
from tests.contracts.verl.workers import QueueCritic

COLUMNS = ["bonus", "images", "pixels", "rewards", "uid"]
STACKED = ["below_register", "above_register", "typed", "above_bridge"]
stacked = pytest.mark.parametrize("method", STACKED)


@pytest.fixture(scope="module")
def queue(cluster: None) -> Iterator[None]:
    tq.init()
    yield
    tq.close()


@pytest.fixture(scope="module")
def made(queue: None, group_of: Callable[..., Any]) -> Any:
    return group_of(QueueCritic, 4)


@pytest.fixture
def critics(made: Any) -> Iterator[Any]:
    yield made
    made.told()
    made.told_fetched()


@pytest.fixture
def put(queue: None, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Puts rows under keys of their own and gives the meta that the trainer would have of them."""
    partition = request.node.name
    keys: list[str] = []

    def put(rows: int, **other: Any) -> Any:
        keys[:] = [f"k{row}" for row in range(rows)]
        fields = tensor_dict(rows).select(*COLUMNS)
        fields.update(other)
        tq.kv_batch_put(keys=keys, partition_id=partition, fields=fields)
        info = {"temperature": 0.7, "no_lora_adapter": True}
        tags = [{"length": row} for row in range(rows)]
        return tq.KVBatchMeta(keys=list(keys), tags=tags, partition_id=partition, extra_info=info)

    yield put
    tq.kv_clear(keys=keys, partition_id=partition)


def fetched(meta: Any, *names: str) -> Any:
    return tq.kv_batch_get(keys=meta.keys, partition_id=meta.partition_id, select_fields=list(names))


def test_without_a_contract_every_column_is_fetched(critics: Any, put: Any) -> None:
    """What verl does on its own (design, section 7): nothing in it sets `KVBatchMeta.fields`."""
    critics.without_contract(put(4))

    assert critics.told_fetched() == [[COLUMNS]] * 4
    assert critics.told()[0][0]["names"] == [
        ["bonus", "pixels", "rewards"],
        ["images", "uid"],
        ["no_lora_adapter", "temperature"],
    ]


def test_only_declared_columns_are_fetched(critics: Any, put: Any) -> None:
    """Case M10: the list of columns is derived from the reads. Case W5: pixels and strings stay in the queue."""
    meta = put(4)
    before = copy.deepcopy(meta)

    with use_config({"use_bonus": False}):
        result = critics.infer(meta)

    assert critics.told_fetched() == [[["rewards", "uid"]]] * 4
    assert [seen[0]["names"] for seen in critics.told()] == [[["rewards"], ["uid"], ["entropy", "temperature"]]] * 4
    assert meta == before
    assert (result.keys, result.tags, result.fields) == (meta.keys, meta.tags, sorted([*COLUMNS, "values"]))
    assert result.extra_info == {}
    values = fetched(meta, "values")["values"]
    assert torch.equal(torch.stack(values.unbind()), rewards(4) * 2)


def test_a_column_with_a_condition_is_fetched_where_it_holds(critics: Any, put: Any) -> None:
    with use_config({"use_bonus": True}):
        critics.infer(put(4))

    assert critics.told_fetched() == [[["bonus", "rewards", "uid"]]] * 4


def test_rows_go_to_the_groups_of_the_mesh_unevenly(critics: Any, put: Any) -> None:
    """Case D4: dp=2, tp=2. The queue's own parts differ by a row, and nothing is padded."""
    meta = put(5)

    assert len(critics.infer(meta)) == 5
    assert [seen[0]["uid"] for seen in critics.told()][::2] == [["u0", "u0", "u1"], ["u1", "u2"]]


def test_only_the_first_rank_of_a_group_answers(critics: Any) -> None:
    """As verl sees by the name of its own collect function, which the contract keeps."""
    assert critics.need_collect("infer") == [True, False, True, False]
    assert critics.need_collect("infer_later") == [True, True, True, True]


def test_a_result_goes_to_the_next_method(critics: Any, put: Any) -> None:
    meta = critics.infer(put(4))
    critics.told_fetched()

    result = critics.update(meta)

    assert critics.told_fetched() == [[["rewards", "values"]]] * 4
    assert result["metrics"] == {"rows": 2}


def test_a_batch_meta_is_selected_from_too(critics: Any, put: Any) -> None:
    from verl.utils.transferqueue_utils import kv_batch_meta2batch_meta

    meta = kv_batch_meta2batch_meta(put(4))

    result = critics.infer(meta)

    assert critics.told_fetched() == [[["bonus", "rewards", "uid"]]] * 4
    assert meta.field_names == COLUMNS
    assert len(result) == 4


def test_fields_that_the_caller_names_are_the_whole_batch(critics: Any, put: Any) -> None:
    meta = put(4)
    meta.fields = ["rewards", "pixels"]

    with pytest.raises(ContractError, match="BP001 missing  uid  declared non-tensor str"):
        critics.infer(meta)
    assert critics.told_fetched() == [[]] * 4


def test_a_missing_column_is_refused_before_anything_is_fetched(critics: Any, put: Any) -> None:
    meta = put(4)
    del meta.extra_info["temperature"]

    with pytest.raises(ContractError) as caught:
        critics.update(meta)
    assert str(caught.value) == (
        "1 problem where stage 'update' reads its batch\n\n"
        '  BP001 missing  values  declared f32 "batch response" jagged on response; no name in the batch is close'
    )
    with pytest.raises(ContractError, match="BP001 missing  temperature  declared meta float"):
        critics.infer(meta)
    assert critics.told_fetched() == [[]] * 4


def test_a_column_of_another_kind_is_refused_before_anything_is_fetched(critics: Any, put: Any) -> None:
    meta = put(4, rewards=rewards(4).double(), uid=torch.arange(4))

    with pytest.raises(ContractError, match=r"BP005 dtype  rewards  f64, declared f32[^\n]*\n  BP003 place  uid"):
        critics.infer(meta)
    assert critics.told_fetched() == [[]] * 4


def test_rows_that_are_no_longer_there_are_refused(critics: Any, put: Any) -> None:
    """Case D5: verl leaves out such keys in silence."""
    meta = put(4)
    tq.kv_clear(keys=["k1"], partition_id=meta.partition_id)

    with pytest.raises(BatchError, match=r"BP016 rows  keys  3 rows in partition .* for 4 keys; a row for each key"):
        critics.infer(meta)


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("writes_more", "BP004 unasked  norms  wrote it into TransferQueue; its Writes do not declare it"),
        ("writes_another", "BP001 missing  values  .* closest name in the result: 'value'"),
    ],
)
def test_a_wrong_result_is_refused(critics: Any, put: Any, method: str, text: str) -> None:
    with pytest.raises(ContractError, match=text):
        getattr(critics, method)(put(4))


def test_a_future_of_metas_can_be_waited_for_and_got(critics: Any, put: Any) -> None:
    import ray

    meta = put(4)
    future = critics.infer_later(meta)

    assert len(ray.get(future.futures)) == 4
    assert future.get().fields == sorted([*COLUMNS, "values"])


@stacked
def test_a_stage_stacks_with_verls_bridge(critics: Any, put: Any, method: str) -> None:
    meta = put(4)

    with use_config({"use_bonus": False}):
        result = getattr(critics, method)(meta, entropy=True)

    assert critics.told_fetched() == [[["rewards", "uid"]]] * 4
    assert result.fields == sorted([*COLUMNS, "values"])
    assert {seen[0]["entropy"] for seen in critics.told() if seen} <= {True}
    values = fetched(meta, "values")["values"]
    assert torch.equal(torch.stack(values.unbind()), rewards(4) * 2)


def test_a_stage_on_a_worker_knows_what_stayed_in_the_queue(critics: Any, put: Any) -> None:
    with pytest.raises(UndeclaredReadError) as caught:
        critics.peeks(put(4))

    assert str(caught.value.cause) == (
        "1 problem in stage 'peeks', which looked for a field it does not declare\n\n"
        "  BP002 withheld  pixels  the caller's batch holds a column of torch.float32 in TransferQueue; "
        "the Reads of 'peeks' do not declare it; add pixels to them"
    )
