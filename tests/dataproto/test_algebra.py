"""The laws that hold for every batch: what is cut, put in another order, repeated or sent comes back as it was."""

from __future__ import annotations

import pickle

import numpy as np
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from batchpact.dataproto import DataProto, difference
from tests.dataproto.support import batches, law, plain


def assert_same(result: DataProto, expected: DataProto) -> None:
    assert plain(result) == plain(expected)
    assert result == expected


@law
@given(batches(), st.integers(1, 7))
def test_concat_undoes_chunk(batch: DataProto, parts: int) -> None:
    chunks = batch.chunk(parts, uneven=True)

    assert len(chunks) == parts
    assert_same(DataProto.concat(chunks), batch)


@law
@given(batches(), st.integers(1, 7))
def test_concat_undoes_split(batch: DataProto, size: int) -> None:
    parts = batch.split(size)

    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
    assert_same(DataProto.concat(parts), batch)


@law
@given(batches(), st.randoms(use_true_random=False))
def test_the_inverse_undoes_a_permutation(batch: DataProto, random: np.random.Generator) -> None:
    order = list(range(len(batch)))
    random.shuffle(order)
    inverse = np.argsort(np.array(order, dtype=np.int64))

    assert_same(batch[order][inverse], batch)

    moved = batch[:]
    moved.reorder(torch.tensor(order, dtype=torch.int64))
    moved.reorder(inverse)
    assert_same(moved, batch)


@law
@given(batches(), st.integers(1, 3), st.data())
def test_the_repeats_of_a_row_are_that_row(batch: DataProto, times: int, data: st.DataObject) -> None:
    copy = data.draw(st.integers(0, times - 1))
    rows = len(batch)

    assert_same(batch.repeat(times)[copy::times], batch)
    assert_same(batch.repeat(times, interleave=False)[copy * rows : (copy + 1) * rows], batch)


@law
@given(batches(least=1), st.data())
def test_an_index_takes_the_rows_it_names(batch: DataProto, data: st.DataObject) -> None:
    rows = len(batch)
    assume(rows)
    index = data.draw(st.lists(st.integers(-rows, rows - 1), max_size=6))

    taken = batch[index]

    assert len(taken) == len(index)
    for at, row in enumerate(index):
        assert plain(taken[at : at + 1]) == plain(batch[row : row + 1 or None])


@law
@given(batches(), st.slices(7))
def test_a_slice_takes_the_rows_that_it_takes_from_a_list(batch: DataProto, cut: slice) -> None:
    assert_same(batch[cut], batch[list(range(len(batch)))[cut]])


@law
@given(batches(), st.data())
def test_a_mask_is_the_index_of_its_true_rows(batch: DataProto, data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch)))
    expected = batch[[row for row, taken in enumerate(mask) if taken]]

    assert_same(batch[np.array(mask, dtype=bool)], expected)
    assert_same(batch[torch.tensor(mask, dtype=torch.bool)], expected)
    if mask:
        assert_same(batch[mask], expected)


@law
@given(batches(), st.data())
def test_union_undoes_select(batch: DataProto, data: st.DataObject) -> None:
    left, right = [], []
    for store in batch.stores()[:3]:
        names = sorted(store)
        some = data.draw(st.sets(st.sampled_from(names))) if names else set()
        both = data.draw(st.sets(st.sampled_from(names))) if names else set()
        left.append(sorted(some | both))
        right.append(sorted((set(names) - some) | both))

    joined = batch.select(*left).union(batch.select(*right))

    assert_same(joined, batch)


@law
@given(batches(), st.sampled_from([2, 5]))
def test_a_pickled_batch_arrives_equal_and_leaves_the_sender_as_it_was(batch: DataProto, protocol: int) -> None:
    before = plain(batch)
    stores = [dict(store) for store in batch.stores()[:3]]

    received = pickle.loads(pickle.dumps(batch, protocol=protocol))

    assert plain(received) == before == plain(batch)
    assert received == batch
    for store, held in zip(batch.stores()[:3], stores, strict=True):
        assert all(store[key] is held[key] for key in held)


@law
@given(batches())
def test_a_batch_equals_itself_and_its_copy_without_sharing_a_store(batch: DataProto) -> None:
    copy = batch[:]

    assert batch == batch  # NaN is in it
    assert copy == batch
    assert difference(copy.meta_info, batch.meta_info) is None
    assert copy.meta_info is not batch.meta_info
    assert copy.non_tensor_batch is not batch.non_tensor_batch
    assert copy.batch is None or copy.batch is not batch.batch
