"""Side by side with verl's own DataProto: on dense batches with object columns every operation gives the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchpact.dataproto import DataProto, column
from tests.dataproto.support import COLUMNS, TENSORS, plain

pytestmark = pytest.mark.peers

DENSE = ("f32", "i64", "bool", "bf16")
OBJECTS = ("strings", "lists", "dicts", "arrays", "nones", "f32_column")

Step = Callable[[Any], list[Any]]


@pytest.fixture(scope="module")
def verl_proto() -> Any:
    pytest.importorskip("verl")
    from verl import DataProto as Theirs

    return Theirs


def fields(draw: st.DrawFn, rows: int, prefix: str = "") -> dict[str, Any]:
    """What both classes' `from_dict` is called with; there is a tensor, as verl needs one."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    dense = draw(st.sets(st.sampled_from(DENSE), min_size=1))
    cells = draw(st.sets(st.sampled_from(OBJECTS)))
    return {
        "tensors": {prefix + name: TENSORS[name](rng, rows) for name in DENSE if name in dense},
        "non_tensors": {prefix + name: COLUMNS[name](rng, rows) for name in OBJECTS if name in cells},
        "meta_info": {prefix + "list": list(range(rows)), prefix + "k": 0.5},
    }


@st.composite
def steps(draw: st.DrawFn, batch: DataProto) -> Step:
    """One operation with arguments that fit the batch, to be done on either class."""
    rows = len(batch)
    tensors, cells, meta = (list(store) for store in batch.stores()[:3])
    name = draw(
        st.sampled_from(["index", "slice", "chunk", "split", "repeat", "concat", "union", "reorder", "select", "pop"])
    )
    if name == "index":
        index = draw(st.lists(st.integers(-rows, rows - 1), min_size=1, max_size=6))
        mask = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
        item = draw(
            st.sampled_from([index, np.array(index), torch.tensor(index), mask, np.array(mask), torch.tensor(mask)])
        )
        return lambda data: [data[item], data.select_idxs(item)]
    if name == "slice":
        start, stop = draw(st.integers(-rows, rows)), draw(st.integers(-rows, rows))
        step = draw(st.integers(1, 3))
        return lambda data: [data[start:stop:step], data.slice(start, stop, step)]
    if name == "chunk":
        parts = draw(st.sampled_from([number for number in range(1, rows + 1) if rows % number == 0]))
        return lambda data: data.chunk(parts)  # type: ignore[no-any-return]
    if name == "split":
        size = draw(st.integers(1, rows + 1))
        return lambda data: data.split(size)  # type: ignore[no-any-return]
    if name == "repeat":
        times, interleave = draw(st.integers(1, 3)), draw(st.booleans())
        return lambda data: [data.repeat(repeat_times=times, interleave=interleave)]
    if name == "concat":
        return lambda data: [type(data).concat([data, data[:1], data])]
    if name == "union":
        more = fields(draw, rows, prefix=f"more{len(meta)}_")
        # These two hold NaN in tensors and inside dicts, which verl takes for a conflict.
        again = [[key for key in store if not key.endswith(("f32", "dicts"))] for store in (tensors, cells)]
        return lambda data: [data.union(type(data).from_dict(**more)).union(data.select(*again, deepcopy=True))]
    if name == "reorder":
        order = torch.tensor(draw(st.permutations(range(rows))))
        return lambda data: [data.reorder(order) or data]
    some = [
        draw(st.lists(st.sampled_from(store), unique=True)) if store else [] for store in (tensors[1:], cells, meta)
    ]
    if name == "select":
        return lambda data: [data.select([tensors[0], *some[0]], some[1], some[2])]
    return lambda data: [data, data.pop(*some)]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_chain_of_operations_gives_what_verl_gives(verl_proto: Any, data: st.DataObject) -> None:
    given_fields = data.draw(st.composite(fields)(rows=data.draw(st.integers(1, 6))))
    ours, theirs = DataProto.from_dict(**given_fields), verl_proto.from_dict(**given_fields)
    assert plain(ours) == plain(theirs)

    for _ in range(data.draw(st.integers(1, 3))):
        if not len(ours):
            break
        step = data.draw(steps(ours))
        results, expected = step(ours), step(theirs)
        assert [plain(one) for one in results] == [plain(one) for one in expected]
        at = data.draw(st.integers(0, len(results) - 1))
        ours, theirs = results[at], expected[at]
        if ours.batch is None:
            break


@pytest.mark.parametrize("row", [0, 1, -1])
def test_a_row_is_what_verl_gives(verl_proto: Any, row: int) -> None:
    given_fields = {
        "tensors": {"ids": torch.arange(6).reshape(3, 2)},
        "non_tensors": {"uid": column("abc"), "score": np.array([0.5, 1.5, 2.5])},
        "meta_info": {"three": [1, 2, 3]},
    }

    ours, theirs = DataProto.from_dict(**given_fields)[row], verl_proto.from_dict(**given_fields)[row]

    assert ours.batch.to_dict()["ids"].tolist() == theirs.batch.to_dict()["ids"].tolist()
    assert ours.non_tensor_batch == theirs.non_tensor_batch
    assert ours.meta_info == theirs.meta_info


def test_metrics_of_workers_are_collected_as_verl_does(verl_proto: Any) -> None:
    def joined(kind: Any) -> Any:
        parts = [
            kind.from_dict({"x": torch.full((1,), rank)}, meta_info={"step": 1, "metrics": {"loss": rank, "lr": 0.1}})
            for rank in range(3)
        ]
        return kind.concat(parts)

    assert plain(joined(DataProto)) == plain(joined(verl_proto))


def test_names_are_changed_as_verl_does(verl_proto: Any) -> None:
    """One at a time: verl hands several names on as one nested key."""
    given_fields = {"tensors": {"a": torch.arange(2), "b": torch.ones(2)}, "meta_info": {"k": 1}}

    ours, theirs = DataProto.from_dict(**given_fields), verl_proto.from_dict(**given_fields)

    assert plain(ours.rename("a", "c")) == plain(theirs.rename("a", "c"))
    assert plain(ours.rename(["b"], ["a"])) == plain(theirs.rename(["b"], ["a"]))
