"""Union by declared keys: the same rows in the same order, or realigned on request, pad rows among them."""

from __future__ import annotations

import pickle
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor, unpad_dataproto
from batchpact.dataproto.binding import bound
from batchpact.dataproto.row_marks import RowMarks
from batchpact.schemas import BatchSchema, Key, NonTensor, Pad
from tests.dataproto.policies import rollout, rollouts, snapshot
from tests.dataproto.support import law, plain, refuses


class Keyed(BatchSchema):
    x: Annotated[Int64[Tensor, "batch"], Pad(0)]
    y: Float32[Tensor, "batch"] | None = None
    uid: Annotated[NonTensor[Any], Key()]


def keyed(*uids: Any) -> DataProto:
    return DataProto.from_dict({"x": torch.arange(len(uids))}, {"uid": list(uids)}).bind(Keyed)


def result(*uids: Any) -> DataProto:
    """What a worker made anew: rows in its own order, and nothing known of them but their keys."""
    return DataProto.from_dict({"y": torch.arange(len(uids)) / 2}, {"uid": list(uids)})


def rows(data: DataProto) -> list[tuple[Any, float]]:
    assert data.batch is not None
    return list(zip(data.non_tensor_batch["uid"], data.batch["y"].tolist(), strict=True))


ORDER = "the same rows in the same order; union(other, realign=True) puts the right side into the order of the left"
SAME = "a union joins fields of the same rows"

# --- realigned --------------------------------------------------------------------------------------------------------


def test_the_right_side_is_put_into_the_order_of_the_left() -> None:
    """Case R2: a result that was not permuted back."""
    data, other = keyed("a", "b", "c"), result("c", "a", "b")
    before = snapshot(other)

    data.union(other, realign=True)

    assert rows(data) == [("a", 0.5), ("b", 1.0), ("c", 0.0)]
    assert snapshot(other) == before


def test_rows_in_another_order_are_refused_with_the_way_out() -> None:
    data, other = keyed("a", "b", "c"), result("a", "c", "b")
    before = snapshot(data), snapshot(other)

    with refuses("union", f"BP023 keys  uid  row 1 is 'b' on the left and 'c' on the right; {ORDER}"):
        data.union(other)

    assert (snapshot(data), snapshot(other)) == before


@law
@given(rollouts(seed=1), st.data(), st.booleans())
def test_the_order_of_the_right_side_is_nothing_to_realign(data: DataProto, draw: st.DataObject, sent: bool) -> None:
    order = draw.draw(st.permutations(range(len(data))))
    other = data.select(["responses"], ["uid", "group"])
    there, back = data.select(["prompts"], ["uid"], ["free"]), data.select(["prompts"], ["uid"], ["free"])
    moved = other[order]
    there.bind(Few)
    back.bind(Few)

    back.union(pickle.loads(pickle.dumps(moved)) if sent else moved, realign=True)

    assert snapshot(back) == snapshot(there.union(other))
    assert snapshot(moved) == snapshot(other[order])


class Few(BatchSchema):
    uid: Annotated[NonTensor[str], Key()]


def test_pad_rows_are_matched_with_pad_rows() -> None:
    """A pad row has the key of the row that it copies, and not its value."""
    data, size = pad_dataproto_to_divisor(keyed("a", "b", "c"), 5)
    other = data.select([], ["uid"])
    other.union(DataProto.from_dict({"y": torch.tensor([0.0, 1.0, 2.0, -1.0, -2.0])}))
    other.reorder([3, 2, 4, 1, 0])

    data.union(other, realign=True)

    assert rows(data) == [("a", 0.0), ("b", 1.0), ("c", 2.0), ("a", -1.0), ("b", -2.0)]
    assert data.pad_mask.tolist() == [False] * 3 + [True] * 2
    assert rows(unpad_dataproto(data, size)) == [("a", 0.0), ("b", 1.0), ("c", 2.0)]


def test_keys_in_one_order_and_pad_rows_in_another_are_not_the_same_rows() -> None:
    data, other = keyed("a", "b"), result("a", "b", "a")
    data = pad_dataproto_to_divisor(data, 3)[0]
    other._marks = RowMarks(pads=np.array([True, False, False]))

    with refuses("union", f"BP023 keys  uid  row 0 is 'a' on the left and 'a' (padding) on the right; {ORDER}"):
        data.union(other)

    assert rows(data.union(other, realign=True)) == [("a", 1.0), ("b", 0.5), ("a", 0.0)]


def test_other_pad_rows_are_other_rows() -> None:
    data, other = keyed("a", "b", "c"), result("a", "b", "c", "b")
    data = pad_dataproto_to_divisor(data, 4)[0]
    other._marks = RowMarks(pads=np.array([False, False, False, True]))

    with refuses("union", f"BP023 keys  uid  'a' (padding) only on the left, 'b' (padding) only on the right; {SAME}"):
        data.union(other, realign=True)


def test_copies_of_which_nobody_knows_which_is_padding_are_not_guessed() -> None:
    """The worker made its result anew, without marks: which of the two rows of 'a' is the real one?"""
    data = pad_dataproto_to_divisor(keyed("a", "b"), 3)[0]

    with refuses(
        "union",
        "BP023 keys  uid  'a' in several rows, in another order on each side; one row for one key, or two sides that "
        "know their pad rows",
    ):
        data.union(result("a", "a", "b"), realign=True)

    assert rows(data.union(result("a", "b", "a"))) == [("a", 0.0), ("b", 0.5), ("a", 1.0)]


def test_origins_move_with_their_rows() -> None:
    data, other = keyed("a", "b"), result("b", "a")
    data._marks, other._marks = RowMarks(origin=np.array([0, 1])), RowMarks(origin=np.array([1, 0]))

    assert rows(data.union(other, realign=True)) == [("a", 0.5), ("b", 0.0)]

    data, other = keyed("a", "b"), result("b", "a")
    data._marks, other._marks = RowMarks(origin=np.array([0, 1])), RowMarks(origin=np.array([0, 1]))
    with refuses(
        "union",
        "BP016 rows  batch  row 0 is input row 0 on the left and input row 1 on the right; a union joins fields of the "
        "same rows; one side was reordered or selected; do the same to the other",
    ):
        data.union(other, realign=True)


# --- keys -------------------------------------------------------------------------------------------------------------


def test_keys_that_only_one_side_has_are_shown() -> None:
    data = keyed("a", "b", "c", "d", "e")

    with refuses(
        "union",
        f"BP023 keys  uid  'a', 'b', 'd' and 1 more only on the left, 'x' and 'x' (again) only on the right; {SAME}",
    ):
        data.union(result("x", "x", "x", "x", "c"), realign=True)
    with refuses("union", f"BP023 keys  uid  'e' only on the left, 'a' (again) only on the right; {SAME}"):
        data.union(result("a", "b", "c", "d", "a"))


def test_fields_may_be_a_key_together() -> None:
    class Pair(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        turn: Annotated[Int64[Tensor, "batch"], Key()]

    def pairs(turns: list[int], uids: str, **tensors: Any) -> DataProto:
        return DataProto.from_dict({"turn": torch.tensor(turns), **tensors}, {"uid": list(uids)})

    data = pairs([0, 1, 0], "aab").bind(Pair)

    with refuses("union", f"BP023 keys  uid, turn  row 0 is ('a', 0) on the left and ('a', 1) on the right; {ORDER}"):
        data.union(pairs([1, 0, 0], "aab"))
    data.union(pairs([1, 0, 0], "aba", y=torch.tensor([1.0, 2.0, 3.0])), realign=True)
    assert data.batch["y"].tolist() == [3.0, 1.0, 2.0]
    assert data.union(pairs([0, 1, 0], "aab")[:0].select([], [])) is data


def test_keys_may_be_tensors_and_numeric_columns() -> None:
    class Numbered(BatchSchema):
        index: Annotated[Int64[Tensor, "batch"] | NonTensor[int], Key()]

    data = DataProto.from_dict({"index": torch.tensor([3, 1])}).bind(Numbered)
    other = DataProto.from_dict({"index": torch.tensor([1, 3]), "y": torch.tensor([0.1, 0.3])})
    data.union(other, realign=True)
    assert data.batch["y"].tolist() == [pytest.approx(0.3), pytest.approx(0.1)]

    numeric = DataProto.from_dict({}, {"index": np.array([3, 1])}).bind(Numbered)
    numeric.union(DataProto.from_dict({}, {"index": np.array([1, 3]), "z": ["one", "three"]}), realign=True)
    assert list(numeric.non_tensor_batch["z"]) == ["three", "one"]


@pytest.mark.parametrize("odd", [["a"], {"a": 1}], ids=repr)
def test_what_cannot_be_a_key_is_refused(odd: Any) -> None:
    other = result("a", "b")
    other.non_tensor_batch["uid"] = column([odd, odd])

    with refuses("union", f"BP023 keys  uid  unhashable type: '{type(odd).__name__}'; a key is a text or a number"):
        keyed("a", "b").union(other, realign=True)


def test_a_key_that_is_nan_is_equal_to_none() -> None:
    with refuses("union", f"BP023 keys  uid  nan only on the left, nan only on the right; {SAME}"):
        keyed(float("nan")).union(result(float("nan")))


# --- nothing to align by ----------------------------------------------------------------------------------------------


def test_without_the_key_rows_are_joined_as_they_stand() -> None:
    data = keyed("a", "b")

    data.union(DataProto.from_dict({"y": torch.tensor([1.0, 2.0])}))

    assert rows(data) == [("a", 1.0), ("b", 2.0)]


def test_who_asks_for_the_order_needs_the_key_on_both_sides() -> None:
    """To join by position what somebody wants matched would be a guess."""
    data = keyed("a", "b")
    bare = DataProto.from_dict({"y": torch.ones(2)})

    with refuses("union", "BP023 keys  uid  not on the right; a key on both sides"):
        data.union(bare, realign=True)
    with refuses("union", "BP023 keys  uid  not on the left; a key on both sides"):
        bare.union(data, realign=True)
    with refuses(
        "union",
        "BP023 keys  realign  nothing says which row is which; a declared key; bind a schema in which a field is a "
        "Key()",
    ):
        bare.union(bare, realign=True)


def test_a_side_without_rows_has_nothing_to_realign() -> None:
    assert keyed("a").union(DataProto(meta_info={"k": 1}), realign=True).meta_info == {"k": 1}
    assert plain(DataProto().union(keyed("a"), realign=True)) == plain(keyed("a"))
    assert len(keyed().union(result(), realign=True)) == 0


def test_the_schema_of_the_right_side_counts_where_the_left_has_none() -> None:
    other = keyed("b", "a")
    data = DataProto.from_dict({"y": torch.tensor([1.0, 2.0])}, {"uid": ["a", "b"]})

    with refuses("union", f"BP023 keys  uid  row 0 is 'a' on the left and 'b' on the right; {ORDER}"):
        data.union(other)
    assert data.union(other, realign=True).batch["x"].tolist() == [1, 0]


def test_a_group_is_no_key() -> None:
    data = rollout(4)
    other = DataProto.from_dict({"more": torch.arange(4)}, {"group": ["g0", "g0", "g1", "g1"]})

    assert data.union(other).batch["more"].tolist() == [0, 1, 2, 3]


def test_the_very_same_key_is_not_read() -> None:
    """On the meta device there is nothing to read; on a GPU reading would synchronise."""

    class Numbered(BatchSchema):
        index: Annotated[Int64[Tensor, "batch"], Key()]

    data = DataProto.from_dict({"index": torch.ones(2, dtype=torch.int64, device="meta")})
    data._bound = bound(Numbered, {})

    assert data.union(data.select(), realign=True) is data
    assert len(DataProto.concat(data.chunk(2))) == 2
