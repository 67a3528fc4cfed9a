"""Contracts on the real containers of verl 0.9.1: its `DataProto`, and the TensorDict of its newer trainer."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
verl = pytest.importorskip("verl.protocol")
tensordict_utils = pytest.importorskip("verl.utils.tensordict_utils")

from batchpact.contracts import ContractWarning, checking, stage
from batchpact.dataproto import DataProto, column
from batchpact.schemas import ContractError, UndeclaredReadError
from batchpact.schemas.equality import difference
from tests.contracts.small_pipeline import STAGES, pipeline
from tests.contracts.stages import (
    RETURNS,
    WITHHELD,
    ComputeReturns,
    every_store,
    ours,
    refusal,
    run,
    scored,
    store_of,
    stores_of,
    written,
)
from tests.contracts.test_undeclared_reads import LOOKS, every_look


def data_proto(tensors: Any, columns: Any, meta: Any) -> Any:
    non_tensors = {key: column(cells) for key, cells in columns.items()}
    return verl.DataProto.from_dict(tensors=tensors, non_tensors=non_tensors, meta_info=meta)


def tensor_dict(tensors: Any, columns: Any, meta: Any) -> Any:
    """As verl's newer trainer makes it: lists are one value per row, the rest is for the batch."""
    return tensordict_utils.get_tensordict({**tensors, **columns}, non_tensor_dict=meta)


in_both = pytest.mark.parametrize("container", [data_proto, tensor_dict], ids=["DataProto", "TensorDict"])


@in_both
@every_store
@every_look
def test_every_look_at_a_withheld_name_is_an_error(container: Any, store: str, look: Any) -> None:
    name, held = WITHHELD[store]

    @stage(ComputeReturns)
    def looking(data: Any) -> None:
        look(store_of(data, store), name)

    assert refusal(lambda: looking(scored(container)), UndeclaredReadError) == (
        "1 problem in stage 'looking', which looked for a field it does not declare\n\n"
        f"  BP002 withheld  {name}  the caller's batch holds {held}; "
        f"the Reads of 'looking' do not declare it; add {name} to them"
    )


@in_both
@every_store
def test_other_names_miss_as_usual(container: Any, store: str) -> None:
    seen: list[Any] = []

    def looking(data: Any) -> None:
        held = store_of(data, store)
        seen.extend(LOOKS[kind](held, "nobody_has_it") for kind in ("get", "pop with a default", "in", "in keys()"))

    run(looking, scored(container))

    assert seen == [None, None, False, False]


@in_both
@every_store
@pytest.mark.usefixtures("fresh_counts")
def test_record_hands_out_everything_and_warns(container: Any, store: str) -> None:
    name = WITHHELD[store][0]
    seen: list[bool] = []

    @stage(ComputeReturns, project="record")
    def recorded(data: Any) -> None:
        seen.append(name in store_of(data, store))

    with pytest.warns(ContractWarning, match=f"withheld  {name}  the caller's batch holds"):
        recorded(scored(container))

    assert seen == [True]


@in_both
def test_a_typed_stage_returns_verls_own_kind(container: Any) -> None:
    @stage
    def compute(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=RETURNS)

    batch = scored(container)
    result = compute(batch)

    assert type(result) is type(batch)
    assert stores_of(result).names() == ["returns"]
    assert torch.equal(stores_of(result).tensors["returns"], RETURNS)


def test_verls_own_union_joins_the_result() -> None:
    batch = scored(data_proto)

    batch.union(run(lambda data: written(returns=RETURNS), batch))

    assert torch.equal(batch.batch["returns"], RETURNS)


@in_both
def test_a_function_that_returns_its_input_updates_the_callers_own_batch(container: Any) -> None:
    def put(data: Any) -> Any:
        store_of(data, "tensor")["returns"] = RETURNS
        return data

    batch = scored(container)

    assert run(put, batch) is batch
    assert set(stores_of(batch).names()) == {*stores_of(scored(ours)).names(), "returns"}


@in_both
def test_the_callers_batch_is_as_it_was_when_the_result_is_refused(container: Any) -> None:
    def put(data: Any) -> Any:
        store_of(data, "tensor")["norms"] = torch.ones(4)
        return data

    batch = scored(container)
    with pytest.raises(ContractError, match="BP004 unasked  norms"):
        run(put, batch)

    assert difference(stores_of(batch), stores_of(scored(container))) is None


@in_both
def test_a_handed_out_batch_still_is_verls(container: Any) -> None:
    """Its own operations work on it: rows, chunks, union, concat."""

    def using(data: Any) -> Any:
        if isinstance(data, verl.DataProto):
            parts = data.chunk(2)
            whole = verl.DataProto.concat(parts)
            return verl.DataProto.from_dict(tensors={"returns": whole.batch["rewards"] + 1})
        parts = tensordict_utils.chunk_tensordict(data, 2)
        whole = tensordict_utils.concat_tensordict(parts)
        return tensordict_utils.get_tensordict({"returns": whole["rewards"] + 1})

    result = run(using, scored(container))

    assert torch.equal(stores_of(result).tensors["returns"], scored().batch["rewards"] + 1)


@in_both
@pytest.mark.parametrize("level", ["structure", "values", "off"])
def test_a_pipeline_gives_the_result_that_it_gives_on_ours(container: Any, level: Any) -> None:
    config = {"algorithm": {"keep": 2, "scale": 2.0}}

    with checking(level):
        theirs = pipeline(*STAGES).run(scored(container), config)
        expected = pipeline(*STAGES).run(scored(), config)

    assert type(theirs) is type(scored(container))
    assert difference(stores_of(theirs), stores_of(expected)) is None


def test_our_result_may_be_made_for_verls_batch() -> None:
    result = run(lambda data: written(returns=RETURNS), scored(data_proto))

    assert (type(result), type(written(returns=RETURNS))) == (verl.DataProto, DataProto)


@in_both
def test_a_stage_may_copy_what_it_was_handed(container: Any) -> None:
    """verl's own `deepcopy` of a DataProto consolidates the tensors and pickles them."""
    copies: list[Any] = []

    run(lambda data: copies.append(copy.deepcopy(data)), scored(container))

    assert torch.equal(stores_of(copies[0]).tensors["rewards"], scored().batch["rewards"])


def test_a_row_of_verls_batch_is_no_batch() -> None:
    """A DataProtoItem has the three stores, too."""
    item = scored(data_proto)[0]

    with pytest.raises(ContractError, match="BP036 call  batch  called with DataProtoItem"):
        run(lambda data: None, item)
