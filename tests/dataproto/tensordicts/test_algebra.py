"""The laws that hold for every `TensorDict`, and that `DataProto` and the functions mean the same by an operation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict

from batchpact.dataproto import DataProto, pad_dataproto_to_divisor
from batchpact.dataproto import tensordicts as tu
from tests.dataproto.support import batches, law
from tests.dataproto.tensordicts.support import shown


def assert_same(result: TensorDict, expected: TensorDict) -> None:
    assert shown(result) == shown(expected)
    assert result.batch_size == expected.batch_size
    tu.assert_tensordict_eq(result, expected)


@law
@given(batches(), st.data())
def test_concat_undoes_chunk(batch: DataProto, data: st.DataObject) -> None:
    whole = batch.to_tensordict()
    chunks = data.draw(st.sampled_from([n for n in range(1, 7) if len(whole) % n == 0]))

    assert_same(tu.concat_tensordict(tu.chunk_tensordict(whole, chunks)), whole)


@law
@given(batches(), st.data())
def test_an_index_of_an_index_is_an_index(batch: DataProto, data: st.DataObject) -> None:
    whole = batch.to_tensordict()
    indices = st.lists(st.integers(-len(whole), len(whole) - 1), max_size=6) if len(whole) else st.just([])
    first = data.draw(indices)
    second = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=6)) if first else []

    assert_same(
        tu.index_select_tensor_dict(tu.index_select_tensor_dict(whole, first), second),
        tu.index_select_tensor_dict(whole, [first[row] for row in second]),
    )


@law
@given(batches(), st.integers(1, 9))
def test_unpad_undoes_pad(batch: DataProto, divisor: int) -> None:
    whole = batch.to_tensordict()

    padded, pad_size = tu.pad_to_divisor(whole, divisor)

    assert len(padded) % divisor == 0
    assert_same(tu.unpad(padded, pad_size), whole)


@law
@given(batches(), st.data())
def test_union_undoes_popping(batch: DataProto, data: st.DataObject) -> None:
    whole, kept = batch.to_tensordict(), batch.to_tensordict()
    keys = data.draw(st.sets(st.sampled_from(sorted(whole.keys())))) if len(whole.keys()) else set()

    popped = tu.pop_keys(kept, keys)
    popped.batch_size = kept.batch_size  # meta alone has none

    assert_same(tu.union_tensor_dict(kept, popped), whole)


@law
@given(batches())
def test_what_is_written_out_sent_or_made_again_is_the_same(batch: DataProto) -> None:
    whole = batch.to_tensordict()

    assert_same(tu.contiguous(whole), whole)
    assert_same(pickle.loads(pickle.dumps(whole)), whole)
    if batch.stores().tensors or batch.non_tensor_batch:
        assert_same(tu.get_tensordict(whole), whole)


@law
@given(batches(), st.data())
def test_a_dataproto_gives_the_same_rows(batch: DataProto, data: st.DataObject) -> None:
    whole, rows = batch.to_tensordict(), len(batch)
    index = data.draw(st.lists(st.integers(-rows, rows - 1), max_size=6)) if rows else []
    divisor = data.draw(st.integers(1, 7))

    assert_same(tu.index_select_tensor_dict(whole, index), batch[index].to_tensordict())
    assert_same(tu.pad_to_divisor(whole, divisor)[0], pad_dataproto_to_divisor(batch, divisor)[0].to_tensordict())
    assert_same(
        tu.concat_tensordict([whole, tu.index_select_tensor_dict(whole, index)]),
        DataProto.concat([batch, batch[index]]).to_tensordict(),
    )


@pytest.mark.parametrize("rows", [1, 3])
def test_mini_batches_come_in_the_order_of_a_dataproto(rows: int) -> None:
    batch = DataProto.from_dict({"x": torch.arange(6)}, {"u": np.arange(6)}, {"k": 1})
    options = {"seed": 4, "dataloader_kwargs": {"shuffle": True}}

    ours = list(tu.make_iterator(batch.to_tensordict(), rows, 2, **options))  # type: ignore[arg-type]
    theirs = list(batch.make_iterator(rows, 2, **options))  # type: ignore[arg-type]

    for one, other in zip(ours, theirs, strict=True):
        assert_same(one, other.to_tensordict())
