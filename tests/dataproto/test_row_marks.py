"""What a batch carries unseen for each row: right through every operation, or given up where it no longer fits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.dataproto import (
    DataProto,
    collate_fn,
    fold_batch_dim,
    pad_dataproto_to_divisor,
    unfold_batch_dim,
    unpad_dataproto,
)
from batchpact.dataproto.row_marks import UNMARKED, RowMarks, join_marks, marked
from batchpact.dataproto.rows import Rows
from batchpact.schemas import BatchSchema, Fill, NonTensor
from tests.dataproto.policies import rollout
from tests.dataproto.support import law


class Scored(BatchSchema):
    x: Int64[Tensor, "batch"]
    acc: Annotated[Float32[Tensor, "batch"], Fill(0.0)] | None = None
    tool: Annotated[NonTensor[str], Fill("none")] | None = None


def scored() -> DataProto:
    """Four rows: `acc` is absent in the first two of them, `tool` in the last two."""
    one = DataProto.from_dict({"x": torch.tensor([0, 1])}, {"tool": ["a", "b"]}).bind(Scored)
    two = DataProto.from_dict({"x": torch.tensor([2, 3]), "acc": torch.tensor([0.5, 1.0])}).bind(Scored)
    return DataProto.concat([one, two])


def holds(data: DataProto) -> bool:
    """Whether each row, by its `x`, has exactly the fields that it had in `scored`."""
    assert data.batch is not None
    rows = data.batch["x"].tolist()
    return data.presence("acc").tolist() == [x > 1 for x in rows] and data.presence("tool").tolist() == [
        x < 2 for x in rows
    ]


# --- through every operation ------------------------------------------------------------------------------------------

KEPT: dict[str, Callable[[DataProto], DataProto]] = {
    "select": lambda d: d.select(),
    "slice": lambda d: d[1:3],
    "step": lambda d: d[::-2],
    "index": lambda d: d[[3, 0, 0]],
    "mask": lambda d: d[torch.tensor([True, False, True, False])],
    "select_idxs": lambda d: d.select_idxs([2, 1]),
    "repeat": lambda d: d.repeat(2),
    "repeat the whole": lambda d: d.repeat(2, interleave=False),
    "sample_level_repeat": lambda d: d.sample_level_repeat([0, 2, 1, 3]),
    "concat of chunks": lambda d: DataProto.concat(d.chunk(3, uneven=True)[::-1]),
    "concat with itself": lambda d: DataProto.concat([d, d[:1], d]),
    "concat with nothing": lambda d: DataProto.concat([DataProto(), d, d[:0]]),
    "pickling": lambda d: pickle.loads(pickle.dumps(d)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "padding": lambda d: pad_dataproto_to_divisor(d, 3)[0],
    "unpadding": lambda d: unpad_dataproto(*pad_dataproto_to_divisor(d, 3)),
    "union": lambda d: d.union(DataProto.from_dict({"y": torch.arange(4)}, meta_info={"k": 1})),
    "union into a new one": lambda d: DataProto.from_dict({"y": torch.arange(4)}).union(d),
    "union of equal fields": lambda d: d.union(d.select()),
    "pop and union": lambda d: d.union(d.pop(["acc"], ["tool"])),
    "fold": lambda d: unfold_batch_dim(fold_batch_dim(d, 2)),
    "column chunks": lambda d: d.union(DataProto.from_dict({"z": torch.zeros(4, 2)})).unfold_column_chunks(2, ["z"]),
}


@pytest.mark.parametrize("derive", KEPT.values(), ids=KEPT.keys())
def test_presence_goes_with_the_rows(derive: Callable[[DataProto], DataProto]) -> None:
    data = scored()

    derived = derive(data)

    assert holds(derived)
    assert len(derived)
    if len(data) == 4 and derived is not data:
        assert "acc" not in data.batch.keys() or holds(data)


@law
@given(st.data())
def test_presence_goes_through_any_chain_of_operations(draw: st.DataObject) -> None:
    data = scored()
    for _ in range(draw.draw(st.integers(1, 5))):
        rows = draw.draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=6))
        step: Callable[[DataProto], DataProto] = draw.draw(
            st.sampled_from(
                [
                    lambda d, r=rows: d[r],  # type: ignore[misc]
                    lambda d: d[1:] if len(d) > 1 else d,
                    lambda d: DataProto.concat([pickle.loads(pickle.dumps(part)) for part in d.chunk(2, uneven=True)]),
                    lambda d: DataProto.concat([d, scored()]),
                    lambda d: pad_dataproto_to_divisor(d, 4)[0],
                    lambda d: d.select(),
                ]
            )
        )
        data = step(data)
    data.reorder(list(range(len(data)))[::-1])

    assert holds(data)


def test_reorder_and_padding_in_place_keep_presence() -> None:
    data = scored()

    data.reorder([2, 0, 3, 1])
    data.padding(2, "first")

    assert holds(data)
    assert data.pad_mask.tolist() == [False] * 4 + [True] * 2


def test_a_renamed_field_is_as_absent_as_before() -> None:
    data = scored()

    data.rename(["acc", "x"], ["x", "acc"])

    assert data.presence("x").tolist() == [False, False, True, True]
    assert data.presence("acc").tolist() == [True] * 4


def test_a_column_that_is_cut_into_rows_stays_absent() -> None:
    class Cut(BatchSchema):
        x: Int64[Tensor, "batch"]
        z: Annotated[Float32[Tensor, "batch 2"], Fill(0.0)] | None = None

    one = DataProto.from_dict({"x": torch.tensor([0])}).bind(Cut)
    two = DataProto.from_dict({"x": torch.tensor([1]), "z": torch.ones(1, 2)}).bind(Cut)

    rows = DataProto.concat([one, two]).unfold_column_chunks(2, ["z"])

    assert rows.presence("z").tolist() == [False, False, True, True]


def test_a_group_has_a_field_where_all_of_its_rows_have() -> None:
    folded = fold_batch_dim(scored()[[0, 2, 2, 3]], 2)

    assert folded.presence("acc").tolist() == [False, True]
    assert unfold_batch_dim(folded).presence("acc").tolist() == [False, False, True, True]


# --- written anew -----------------------------------------------------------------------------------------------------


def written(**tensors: torch.Tensor) -> DataProto:
    made = DataProto.from_dict(tensors)
    made._rewrites = frozenset(tensors)
    return made


def test_what_a_union_replaces_is_there_in_every_row() -> None:
    acc = torch.ones(4)

    assert scored().union(written(acc=acc)).presence("acc").tolist() == [True] * 4
    assert scored().union(DataProto.from_dict({"acc": acc}), on_conflict="right").presence("acc").tolist() == [True] * 4
    assert scored().union(DataProto.from_dict({"acc": acc}), on_conflict="left").presence("acc").tolist() == [
        *[False, False],
        *[True, True],
    ]
    free = scored()
    free._bound = None
    moved = free.union(written(tool=torch.arange(4)))
    assert moved.presence("tool").tolist() == [True] * 4
    assert moved.presence("acc").tolist() == [False, False, True, True]


def test_absent_rows_of_the_side_that_counts_are_absent() -> None:
    """The left side has real values, equal to what the right side was filled with."""
    real = DataProto.from_dict({"acc": torch.tensor([0.0, 0.0, 0.5, 1.0])})

    assert real.union(scored()).presence("acc").tolist() == [True] * 4
    other = DataProto.from_dict({"acc": torch.ones(4)})
    assert other.union(scored(), on_conflict="right").presence("acc").tolist() == [False, False, True, True]


def test_what_is_taken_out_and_made_anew_is_there() -> None:
    data = scored()
    data.pop(["acc"])

    data.union(DataProto.from_dict({"acc": torch.ones(4)}))

    assert data.presence("acc").tolist() == [True] * 4
    assert data.presence("tool").tolist() == [True, True, False, False]


def test_a_direct_write_is_not_seen() -> None:
    """It replaces values of rows that are there, too, and nobody can tell which were meant."""
    data = scored()
    assert data.batch is not None

    data.batch["acc"] = torch.ones(4)

    assert data.presence("acc").tolist() == [False, False, True, True]


def test_other_containers_have_no_place_for_marks() -> None:
    data = pad_dataproto_to_divisor(scored(), 5)[0]

    for made in (
        DataProto.from_tensordict(data.to_tensordict()),
        DataProto.from_verl(data),
        collate_fn(list(data)),
    ):
        assert made.presence("acc").tolist() == [True] * 5
        assert made.pad_mask.tolist() == [False] * 5


# --- marks themselves -------------------------------------------------------------------------------------------------


def test_unmarked_batches_stay_unmarked() -> None:
    data = rollout(4)

    made: list[DataProto] = [data[:2], data[[0]], data.select(), DataProto.concat(data.chunk(2)), data]
    assert all(one._marks is UNMARKED for one in made)


def test_marks_of_parts_are_joined() -> None:
    yes, no = np.array([True]), np.array([False, False])
    one, two = RowMarks(np.array([4]), yes, {"a": yes}), RowMarks(np.array([7, 8]), None, {"b": ~no})

    joined = join_marks([(one, 1), (two, 2)])

    assert joined.origin is not None
    assert joined.pads is not None
    assert joined.origin.tolist() == [4, 7, 8]
    assert joined.pads.tolist() == [True, False, False]
    assert {key: mask.tolist() for key, mask in joined.absent.items()} == {
        "a": [True, False, False],
        "b": [False, True, True],
    }
    assert join_marks([(one, 1), (UNMARKED, 2)]).origin is None
    assert join_marks([(UNMARKED, 1), (UNMARKED, 2)]) is UNMARKED


def test_taken_marks_are_those_of_the_rows() -> None:
    marks = RowMarks(np.array([5, 6, 7]), np.array([True, False, False]), {"a": np.array([False, True, False])})

    taken = marks.take(Rows(index=np.array([1, 0, 1])))

    assert taken.origin is not None
    assert taken.pads is not None
    assert (taken.origin.tolist(), taken.pads.tolist()) == ([6, 5, 6], [False, True, False])
    assert taken.absent["a"].tolist() == [True, False, True]
    assert UNMARKED.take(Rows.span(0, 0)) == UNMARKED


def test_marks_of_some_fields_and_of_renamed_ones() -> None:
    mask: Any = np.array([True])
    marks = RowMarks(absent={"a": mask, "b": mask})

    assert set(marks.of_fields(["b", "c"]).absent) == {"b"}
    assert marks.renamed({"a": "b", "b": "a", "x": "y"}).absent == {"b": mask, "a": mask}
    assert UNMARKED.of_fields([]) is UNMARKED
    assert UNMARKED.renamed({"a": "b"}) is UNMARKED
    assert marked(None, 2).tolist() == [False, False]
    assert marked(mask, 1) is mask


def test_marks_of_rows_that_are_gone_are_forgotten() -> None:
    """A batch whose fields were popped joins other rows, which are not the rows that its marks were about."""
    data = pad_dataproto_to_divisor(scored(), 8)[0]
    data.pop(["x", "acc"], ["tool"])
    gone = pad_dataproto_to_divisor(scored(), 8)[0].select([], [])

    assert data.union(scored()).pad_mask.tolist() == [False] * 4
    assert holds(data)
    assert scored().union(gone).pad_mask.tolist() == [False] * 4
    assert DataProto.concat([gone, scored()]).pad_mask.tolist() == [False] * 4
