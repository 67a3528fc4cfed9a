"""Side by side with verl's own functions: the same results; where they are meant to differ says `differences.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import NonTensorData, TensorDict

from batchpact.dataproto import tensordicts as ours
from tests.dataproto.support import TENSORS, jagged, law
from tests.dataproto.tensordicts.support import shown, tensors

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage"),
]

theirs = pytest.importorskip("verl.utils.tensordict_utils")

CELLS: list[Any] = ["text", "", [], [0.5], [[1], []], {"acc": 1.0}, {}, None, 3, (1, 2), [{"role": "user"}]]
FIELDS = ("f32", "i64", "bool", "bf16", "jagged", "jagged_on_2")
"""Dense tensors, `[batch, jagged]` and `[batch, 3, jagged]`."""


@st.composite
def fields(draw: st.DrawFn, *, rows: int, prefix: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """What both `get_tensordict` are called with."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    names = draw(st.sets(st.sampled_from(FIELDS), min_size=1))
    made: dict[str, Any] = {prefix + name: TENSORS[name](rng, rows) for name in FIELDS if name in names}
    for name in draw(st.sets(st.sampled_from(["uid", "turns", "extra"]))):
        made[prefix + name] = draw(st.lists(st.sampled_from(CELLS), min_size=rows, max_size=rows))
    if draw(st.booleans()):
        made[prefix + "score"] = rng.normal(size=rows).astype(np.float32)
    return made, draw(st.dictionaries(st.sampled_from(["step", "name", "list"]), st.sampled_from(CELLS)))


Step = Callable[[Any, Any], list[Any]]


@st.composite
def steps(draw: st.DrawFn, batch: TensorDict) -> Step:
    """One operation with arguments that fit the batch, to be done with the functions of either module."""
    rows, keys = len(batch), sorted(batch.keys())
    some = draw(st.lists(st.sampled_from(keys), unique=True, min_size=1))
    name = draw(
        st.sampled_from(
            ["index", "chunk", "concat", "pad", "iterate", "get_keys", "pop_keys", "contiguous", "assign", "union"]
        )
    )
    if name == "index":
        index = draw(st.lists(st.integers(-rows, rows - 1), min_size=1, max_size=6))
        item = draw(st.sampled_from([index, torch.tensor(index), torch.tensor(index, dtype=torch.int32)]))
        return lambda module, data: [module.index_select_tensor_dict(data, item)]
    if name == "chunk":
        parts = draw(st.sampled_from([number for number in range(1, rows + 1) if rows % number == 0]))
        return lambda module, data: list(module.chunk_tensordict(data, parts))
    if name == "concat":
        return lambda module, data: [
            module.concat_tensordict([data, module.index_select_tensor_dict(data, [0]), module.contiguous(data)])
        ]
    if name == "pad":
        divisor = draw(st.integers(1, 7))

        def padded(module: Any, data: Any) -> list[Any]:
            made, pad_size = module.pad_to_divisor(data, divisor)
            assert len(made) == len(data) + pad_size
            # verl's own functions do not take the view that its unpad gives of what is ragged on axis 2.
            return [made, module.contiguous(module.unpad(made, pad_size))]

        return padded
    if name == "iterate":
        size = draw(st.sampled_from([number for number in range(1, rows + 1) if rows % number == 0]))
        options = {"seed": draw(st.integers(0, 99)), "dataloader_kwargs": {"shuffle": draw(st.booleans())}}
        return lambda module, data: list(module.make_iterator(data, size, 2, **options))
    if name == "get_keys":
        return lambda module, data: [module.get_keys(data, some), data]
    if name == "pop_keys":
        return lambda module, data: [module.pop_keys(data, some), data]
    if name == "contiguous":
        return lambda module, data: [module.contiguous(data)]
    if name == "assign":
        cells = draw(st.lists(st.sampled_from(CELLS), min_size=rows, max_size=rows))
        value = draw(st.sampled_from([cell for cell in CELLS if not isinstance(cell, list)]))
        return lambda module, data: [module.assign_non_tensor(data, late=value, cells=cells, name=NonTensorData(cells))]
    prefix = f"more_{len(keys)}_"
    more, meta = draw(fields(rows=rows, prefix=prefix))
    again = [key for key in keys if not isinstance(batch.get(key), torch.Tensor)]  # their tensors: NaN, nested ones
    return lambda module, data: [
        module.union_tensor_dict(
            module.union_tensor_dict(data, module.get_tensordict(more, {prefix + k: v for k, v in meta.items()})),
            data.select(*again),
        )
    ]


def values(module: Any, data: TensorDict) -> dict[str, str]:
    """What the functions that look at one field say."""
    return {
        key: f"{module.get(data, key)!r} {type(module.get_non_tensor_data(data, key, None)).__name__}"
        for key in sorted(data.keys())
        if not isinstance(data.get(key), torch.Tensor)
    }


def assert_alike(one: TensorDict, other: TensorDict) -> None:
    assert shown(one) == shown(other)
    assert one.batch_size == other.batch_size
    assert values(ours, one) == values(theirs, other) == values(theirs, one) == values(ours, other)


@law
@given(st.data())
def test_a_chain_of_operations_gives_what_verl_gives(data: st.DataObject) -> None:
    made, meta = data.draw(fields(rows=data.draw(st.integers(1, 6))))
    one, other = ours.get_tensordict(made, meta), theirs.get_tensordict(made, meta)
    assert_alike(one, other)

    for _ in range(data.draw(st.integers(1, 3))):
        step = data.draw(steps(one))
        results, expected = step(ours, one), step(theirs, other)
        assert len(results) == len(expected)
        for result, wanted in zip(results, expected, strict=True):
            assert_alike(result, wanted)
        at = data.draw(st.integers(0, len(results) - 1))
        one, other = results[at], expected[at]
        # Meta alone is left: here it keeps its number of rows, with verl's `contiguous` it does not (`differences.py`).
        if not len(one) or all(isinstance(value, NonTensorData) for value in map(one.get, one.keys())):
            break


@law
@given(st.data())
def test_each_module_works_on_what_the_other_made(data: st.DataObject) -> None:
    made, meta = data.draw(fields(rows=data.draw(st.sampled_from([2, 4]))))
    one = ours.get_tensordict(made, meta)

    parts = theirs.chunk_tensordict(one, 2)
    assert_alike(
        ours.concat_tensordict([ours.index_select_tensor_dict(part, [0]) for part in parts]), one[:: len(one) // 2]
    )
    assert_alike(theirs.concat_tensordict([theirs.contiguous(part) for part in ours.chunk_tensordict(one, 2)]), one)


@law
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.sampled_from([(), (2,), (2, 3)]), st.data())
def test_rows_become_the_nested_tensors_that_verl_makes(
    lengths: list[int], before: tuple[int, ...], data: st.DataObject
) -> None:
    axis = data.draw(st.sampled_from([None, *range(1, len(before) + 2)]))
    place = len(before) if axis is None else axis - 1
    rows = [
        torch.arange(torch.Size([*before, length]).numel()).reshape(*before, length).movedim(-1, place)
        for length in lengths
    ]

    one, other = (module.nested_tensor_from_tensor_list(rows, axis) for module in (ours, theirs))

    assert shown(tensors(len(rows), x=one)) == shown(tensors(len(rows), x=other))
    twice = [module.concat_nested_tensors([nested, nested]) for module, nested in ((ours, one), (theirs, other))]
    assert shown(tensors(2 * len(rows), x=twice[0])) == shown(tensors(2 * len(rows), x=twice[1]))


@law
@given(st.integers(1, 4), st.data())
def test_rows_become_the_tensordict_that_verl_makes(rows: int, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    cells = data.draw(st.lists(st.sampled_from(CELLS), min_size=rows, max_size=rows))
    given_rows = [
        {"x": torch.full((2,), at), "flat": torch.arange(length), "deep": torch.ones(3, length), "cell": cell}
        for at, (length, cell) in enumerate(zip(lengths, cells, strict=True))
    ]

    assert_alike(ours.list_of_dict_to_tensordict(given_rows), theirs.list_of_dict_to_tensordict(given_rows))


@pytest.mark.parametrize("module", [ours, theirs], ids=["ours", "verl"])
def test_both_assert_what_is_equal_and_what_is_not(module: Any) -> None:
    def side(**changed: Any) -> TensorDict:
        made: dict[str, Any] = {"x": torch.arange(2), "flat": jagged([1], [2, 3]), "uid": ["a", [1]], **changed}
        return ours.get_tensordict({key: value for key, value in made.items() if value is not None}, {"k": 1})

    module.assert_tensordict_eq(side(), side())
    for changed in (
        {"x": torch.tensor([0, 2])},
        {"flat": jagged([1], [2, 4])},
        {"flat": jagged([1, 2], [3])},
        {"uid": ["a", [2]]},
        {"uid": None},
        {"late": [1, 2]},
        {"flat": torch.ones(2, 3)},
    ):
        with pytest.raises(AssertionError):
            module.assert_tensordict_eq(side(), side(**changed))
