"""Concat: what is compared, what becomes of meta, and that nothing is joined where anything differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, TensorDict

from batchpact.dataproto import DataProto
from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import jagged, jagged_on_2, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def test_every_kind_of_entry_is_put_one_below_the_other() -> None:
    first, second = small(), tu.index_select_tensor_dict(small(), [2, 0])

    joined = tu.concat_tensordict([first, second])

    assert joined.batch_size == (6,)
    assert shown(joined) == shown(tu.index_select_tensor_dict(small(), [0, 1, 2, 3, 2, 0]))
    assert joined["deep"].shape[1] == 2
    assert (shown(first), len(second)) == (shown(small()), 2)


def test_fields_with_and_without_a_ragged_axis_stand_beside_each_other() -> None:
    parts = [
        tensors(2, ids=jagged([1, 2], [3]), score=torch.tensor([0.5, 1.5]), pos=jagged_on_2([[1, 2]], [[3]])),
        tensors(1, ids=jagged([4, 5, 6]), score=torch.tensor([2.5]), pos=jagged_on_2([[4, 5, 6]])),
    ]

    joined = tu.concat_tensordict(parts)

    assert plain_tensor(joined["ids"]) == plain_tensor(jagged([1, 2], [3], [4, 5, 6]))
    assert plain_tensor(joined["pos"]) == plain_tensor(jagged_on_2([[1, 2]], [[3]], [[4, 5, 6]]))
    assert joined["score"].tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nested_tensors_of_every_layout_are_joined(layout: str) -> None:
    fields = [LAYOUTS[layout].nested(lengths) for lengths in ([2, 0], [1], [3, 3])]

    joined = tu.concat_tensordict([tensors(len(field.unbind()), x=field) for field in fields])

    assert [row.tolist() for row in joined["x"].unbind()] == [row.tolist() for x in fields for row in x.unbind()]


@pytest.mark.parametrize("cells", [["same", "same"], [[1], [1]], [{"a": 1}, {"a": 1}]], ids=repr)
def test_a_column_of_equal_cells_stays_a_column(cells: list[Any]) -> None:
    part = tu.get_tensordict({"x": torch.ones(2), "c": cells})

    assert shown(tu.concat_tensordict([part, part]))["c"] == ("column", repr(cells * 2))


def test_a_numeric_column_keeps_its_kind() -> None:
    part = tu.get_tensordict({"score": np.array([0.5, 1.5], dtype=np.float32)})

    joined = DataProto.from_tensordict(tu.concat_tensordict([part, part])).non_tensor_batch["score"]

    assert (joined.dtype, joined.tolist()) == (np.float32, [0.5, 1.5, 0.5, 1.5])


def test_a_column_whose_kind_one_part_has_forgotten_is_one_of_objects() -> None:
    """tensordict's own `to(device)` keeps the cells and forgets what they were."""
    part = tu.get_tensordict({"score": np.array([0.5, 1.5], dtype=np.float32)})

    joined = tu.concat_tensordict([part, part.to("cpu")])

    assert shown(joined) == {"score": ("column", repr([np.float32(0.5), np.float32(1.5)] * 2))}


def test_meta_is_one_value_and_metrics_are_collected() -> None:
    parts = [
        tu.get_tensordict({"x": torch.ones(1)}, {"t": 0.5, "eos": [1, 2], "metrics": {"loss": rank, "lr": 0.1}})
        for rank in range(2)
    ]

    joined = tu.concat_tensordict(parts)

    assert {key: tu.get(joined, key) for key in ("t", "eos", "metrics")} == {
        "t": 0.5,
        "eos": [1, 2],
        "metrics": {"loss": [0, 1], "lr": [0.1, 0.1]},
    }
    assert tu.get(parts[0], "metrics") == {"loss": 0, "lr": 0.1}


def test_meta_that_a_batch_was_cut_with_is_carried() -> None:
    whole = tu.get_tensordict({"x": torch.arange(2)}, {"metrics": {"loss": 0.5}})

    assert tu.get(tu.concat_tensordict(tu.chunk_tensordict(whole, 2)), "metrics") == {"loss": 0.5}


def test_meta_that_only_some_parts_have_is_kept() -> None:
    parts = [tu.get_tensordict({"x": torch.ones(1)}, meta) for meta in ({"a": 1}, {"b": 2})]

    assert shown(tu.concat_tensordict(parts)) == {
        "x": shown(tensors(2, x=torch.ones(2)))["x"],
        "a": ("meta", "1"),
        "b": ("meta", "2"),
    }


def test_a_part_of_meta_alone_gives_its_meta() -> None:
    joined = tu.concat_tensordict([with_meta(a=1), tensors(2, x=torch.arange(2)), with_meta(b=2)])

    assert joined.batch_size == (2,)
    assert set(joined.keys()) == {"x", "a", "b"}


def test_parts_without_fields_have_their_rows() -> None:
    empty = TensorDict({"k": NonTensorData(data=1)}, batch_size=[3])

    assert tu.concat_tensordict([empty, empty]).batch_size == (6,)
    assert tu.concat_tensordict([tensors(2, x=torch.ones(2)), empty]).batch_size == (2,)


def test_a_part_without_rows_adds_none() -> None:
    some = tu.get_tensordict({"x": torch.ones(2, 3), "j": jagged([1], [2]), "u": ["a", "b"]})

    joined = tu.concat_tensordict([some, tu.index_select_tensor_dict(some, []), some])

    assert joined.batch_size == (4,)
    assert tu.get(joined, "u") == ["a", "b", "a", "b"]


def test_one_part_gives_one_like_it() -> None:
    batch = small()

    joined = tu.concat_tensordict([batch])
    tu.assign_non_tensor(joined, step=0)

    assert shown(batch) == shown(small())


def test_the_device_stays() -> None:
    parts = [tensors(1, x=torch.ones(1)).to("cpu") for _ in range(2)]

    assert tu.concat_tensordict(parts).device == torch.device("cpu")


def part(**fields: Any) -> TensorDict:
    return tu.get_tensordict(fields)


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([], ["BP042 parts  parts  no parts; at least one"]),
        (
            [part(x=torch.ones(1), y=torch.ones(1)), part(x=torch.ones(1), u=["a"])],
            [
                "BP042 parts  y  missing in part 1, present in part 0; every part has the same fields; the producer "
                "must write it for every part, or the field be left out of all",
                "BP042 parts  u  missing in part 0, present in part 1; every part has the same fields; the producer "
                "must write it for every part, or the field be left out of all",
            ],
        ),
        (
            [part(x=jagged([1])), part(x=torch.ones(1, 2)), part(x=jagged_on_2([[1], [2]]))],
            [
                "BP042 parts  x  i64 jagged on axis 1, [] in part 0, f32 rows of [2] in part 1, i64 jagged on axis 2, "
                "[2] in part 2; one dtype, layout and row shape"
            ],
        ),
        (
            [tu.get_tensordict({"x": torch.ones(1)}, {"t": rank}) for rank in (1, 2)],
            ["BP041 conflict  t  part 0 and part 1 differ: 1 against 2; one value for the batch"],
        ),
        (
            [part(x=["a"]), part(x=torch.ones(1))],
            [
                "BP045 store  x  in non_tensor_batch of part 0 and in batch of part 1; one place for one name",
            ],
        ),
        (
            [part(x=torch.ones(1)), with_meta(x=1)],
            ["BP045 store  x  in batch and in meta_info; one place for one name"],
        ),
        (
            [part(x=torch.ones(1)), TensorDict({"x": torch.ones(1)}, batch_size=[])],
            ["BP045 store  batch  a TensorDict without a batch axis; batch_size has the rows first"],
        ),
        (
            [part(x=torch.ones(1)), {"x": torch.ones(1)}],
            ["BP045 store  batch  dict of 1; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one"],
        ),
    ],
    ids=["none", "fields", "kinds", "meta", "place", "place of meta", "no axis", "no TensorDict"],
)
def test_parts_that_differ_are_named(parts: Any, lines: list[str]) -> None:
    with refuses("concat_tensordict", *lines):
        tu.concat_tensordict(parts)


# --- concat without a batch axis --------------------------------------------------------------------------------------


@pytest.mark.parametrize("concat", [tu.concat_tensordict, tu.concat_tensordict_with_none_bsz])
def test_meta_alone_is_merged(concat: Any) -> None:
    parts = [with_meta(k=[1, 2], name="grpo"), with_meta(k=[1, 2], late=None)]

    joined = concat(parts)

    assert joined.batch_size == ()
    assert shown(joined) == {"k": ("meta", "[1, 2]"), "name": ("meta", "'grpo'"), "late": ("meta", "None")}
    tu.assign_non_tensor(joined, k=0)
    assert tu.get(parts[0], "k") == [1, 2]


@pytest.mark.parametrize("concat", [tu.concat_tensordict, tu.concat_tensordict_with_none_bsz])
def test_the_metrics_of_all_ranks_are_collected(concat: Any) -> None:
    """Case T1: the metrics of the other ranks are not lost."""
    joined = concat([with_meta(metrics={"loss": 0.5, "mfu": 1}), with_meta(metrics={"loss": 1.5})])

    assert tu.get(joined, "metrics") == {"loss": [0.5, 1.5], "mfu": [1]}


def test_tensors_and_columns_without_a_batch_axis_stand_for_the_whole() -> None:
    def one() -> TensorDict:
        return tu.assign_non_tensor(TensorDict({"w": torch.ones(2), "j": jagged([1], [])}, batch_size=[]), c=["a", []])

    assert shown(tu.concat_tensordict([one(), one()])) == shown(one())


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([], ["BP042 parts  parts  no parts; at least one"]),
        (
            [with_meta(k=1), TensorDict({}, batch_size=[3])],
            ["BP016 rows  batch  batch size [3] in part 1; no part has a batch axis; concat_tensordict joins rows"],
        ),
        (
            [with_meta(k=1, lr=[0.1]), with_meta(k=2, lr=[0.2])],
            [
                "BP041 conflict  k   part 0 and part 1 differ: 1 against 2; one value for the batch",
                "BP041 conflict  lr  part 0 and part 1 differ: [0]: 0.1 against 0.2; one value for the batch",
            ],
        ),
        (
            [TensorDict({"w": torch.ones(2)}, batch_size=[]), TensorDict({"w": torch.zeros(2)}, batch_size=[])],
            [
                "BP041 conflict  w  part 0 and part 1 differ: 2 elements differ by up to 1, first in row 0; one value "
                "for the batch"
            ],
        ),
    ],
    ids=["none", "rows", "meta", "tensors"],
)
def test_values_without_a_batch_axis_that_differ_are_named(parts: Any, lines: list[str]) -> None:
    with refuses("concat_tensordict_with_none_bsz", *lines):
        tu.concat_tensordict_with_none_bsz(parts)
