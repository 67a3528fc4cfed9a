"""Side by side with verl's own functions: the same results where verl's are sound, and a table of where they are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import tensordicts as ours
from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import TENSORS, jagged, jagged_on_2, law
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
            return [made, module.unpad(made, pad_size)]

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
    more, meta = draw(fields(rows=rows, prefix="more_"))
    again = [key for key in keys if not isinstance(batch.get(key), torch.Tensor)]  # their tensors: NaN, nested ones
    return lambda module, data: [
        module.union_tensor_dict(
            module.union_tensor_dict(data, module.get_tensordict(more, {f"more_{k}": v for k, v in meta.items()})),
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
        if not len(one) or not len(one.keys()):
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


# --- where they differ ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """An intended difference, which the test below holds both modules to.

    Attributes:
        function: the function.
        run: what is done with either module.
        theirs: what comes of it with verl's, in the words of `outcome`.
        ours: what comes of it with ours.
        why: why ours is another.
    """

    function: str
    run: Callable[[Any], Any]
    theirs: str
    ours: str
    why: str


NAN = torch.tensor([float("nan"), 1.0])


def parts(module: Any, meta: list[dict[str, Any]], **made: Any) -> list[TensorDict]:
    return [module.get_tensordict(made, each) for each in meta]


def left_behind(run: Callable[[TensorDict], Any]) -> list[str]:
    """The names that stand in a batch after something was refused."""
    batch = TensorDict({"x": torch.ones(2), "k": NonTensorData(data=1)}, batch_size=[2])
    with pytest.raises((AssertionError, LookupError, RuntimeError, ValueError)):
        run(batch)
    return sorted(batch.keys())


def written_into(derive: Callable[[Any, TensorDict], TensorDict]) -> Callable[[Any], Any]:
    """What the source of a batch holds when a cell of the batch is written."""

    def run(module: Any) -> Any:
        source = module.get_tensordict({"x": torch.ones(2), "u": ["a", "b"]})
        derive(module, source)["u"][0] = "z"
        return module.get(source, "u")

    return run


def fixed(module: Any, position_ids: torch.Tensor) -> Any:
    batch = tensors(2, position_ids=position_ids)
    module.maybe_fix_3d_position_ids(batch)
    found = batch["position_ids"]
    return found._ragged_idx, [size if isinstance(size, int) else "jagged" for size in found.shape]


FORGOTTEN = torch.nested.nested_tensor_from_jagged(torch.arange(10).reshape(2, 5), torch.tensor([0, 2, 5]))
ON_AXIS_1 = torch.nested.nested_tensor_from_jagged(torch.arange(6).reshape(3, 2), torch.tensor([0, 1, 3]))

DIFFERENCES = [
    Difference(
        "concat_tensordict",
        lambda m: m.get(m.concat_tensordict(parts(m, [{"t": 1}, {"t": 2}], x=torch.ones(1))), "t"),
        "[1, 2]",
        "BatchError",
        "one value for the batch became a column, or with tensordict 0.10 the value of the first part",
    ),
    Difference(
        "concat_tensordict",
        lambda m: m.get(
            m.concat_tensordict(parts(m, [{"metrics": {"l": 1}}, {"metrics": {"l": 2}}], x=torch.ones(1))), "metrics"
        ),
        "[{'l': 1}, {'l': 2}]",
        "{'l': [1, 2]}",
        "metrics are collected as in DataProto.concat, whatever their values; with tensordict 0.10 all but the first "
        "part's were lost",
    ),
    Difference(
        "concat_tensordict",
        lambda m: m.concat_tensordict([tensors(1, x=torch.ones(1)), tensors(1, x=torch.ones(1).long())])["x"].dtype,
        "torch.float32",
        "BatchError",
        "nothing is cast that nobody cast",
    ),
    Difference(
        "concat_tensordict_with_none_bsz",
        lambda m: m.get(m.concat_tensordict(parts(m, [{"t": 1}, {"t": 2}])), "t"),
        "1",
        "BatchError",
        "the values of all parts but the first were lost",
    ),
    Difference(
        "concat_tensordict_with_none_bsz",
        lambda m: m.get(m.concat_tensordict(parts(m, [{"metrics": {"l": 1}}, {"metrics": {"l": 2}}])), "metrics"),
        "{'l': 1}",
        "{'l': [1, 2]}",
        "the metrics of all ranks but the first were lost",
    ),
    Difference(
        "concat_tensordict_with_none_bsz",
        lambda m: [m.concat_tensordict_with_none_bsz([batch]) is batch for batch in parts(m, [{"t": 1}])],
        "[True]",
        "[False]",
        "a result is an own one",
    ),
    Difference(
        "concat_nested_tensors",
        lambda m: m.concat_nested_tensors([jagged_on_2([[1, 2], [3, 4]]), ON_AXIS_1])._ragged_idx,
        "RuntimeError",
        "BatchError",
        "parts that are ragged on different axes are named; where their sizes happen to fit, verl joins them",
    ),
    Difference(
        "concat_nested_tensors",
        lambda m: len(m.concat_nested_tensors([LAYOUTS["holes"].nested([2, 1])] * 2).unbind()),
        "AssertionError",
        "4",
        "tensors with holes, views and strided ones are joined, too",
    ),
    Difference(
        "chunk_tensordict",
        lambda m: type(m.chunk_tensordict(tensors(2, x=torch.ones(2)), 2)).__name__,
        "'tuple'",
        "'list'",
        "what its annotation says",
    ),
    Difference(
        "chunk_tensordict",
        lambda m: len(m.chunk_tensordict(m.get_tensordict({}, {"k": 1}), 2)),
        "IndexError",
        "2",
        "meta alone goes along with every part",
    ),
    Difference(
        "chunk_tensordict",
        lambda m: m.chunk_tensordict(tensors(0, x=jagged()), 2)[0].batch_size[0],
        "AssertionError",
        "0",
        "no row is a number of rows, in every layout",
    ),
    Difference(
        "chunk_tensordict",
        lambda m: m.chunk_tensordict(tensors(2, x=LAYOUTS["strided"].nested([1, 2])), 2)[0]["x"].layout,
        "torch.jagged",
        "torch.strided",
        "a field keeps its layout; so does index_select_tensor_dict",
    ),
    Difference(
        "chunk_tensordict",
        written_into(lambda m, batch: m.chunk_tensordict(batch, 2)[0]),
        "['z', 'b']",
        "['a', 'b']",
        "the cells of a part are its own",
    ),
    Difference(
        "index_select_tensor_dict",
        lambda m: m.index_select_tensor_dict(tensors(3, x=torch.arange(3)), [True, False, True])["x"].tolist(),
        "RuntimeError",
        "[0, 2]",
        "a mask, an array, a slice and no row are an index, too",
    ),
    Difference(
        "index_select_tensor_dict",
        lambda m: list(m.index_select_tensor_dict(m.get_tensordict({}, {"k": 1}), [0, 1]).batch_size),
        "[2]",
        "BatchError",
        "meta alone has no rows to choose",
    ),
    Difference(
        "index_select_tensor_dict",
        lambda m: m.index_select_tensor_dict(tensors(2, x=torch.ones(2)).to("cpu"), [0]).device,
        "None",
        "device(type='cpu')",
        "the device stays, here and in chunk_tensordict, get_keys, pop_keys and contiguous",
    ),
    Difference(
        "nested_tensor_from_tensor_list",
        lambda m: isinstance(m.nested_tensor_from_tensor_list([torch.ones(2, 1), torch.ones(2, 3)]).shape[1], int),
        "False",
        "True",
        "the shape says which axis is ragged: [2, 2, jagged], not [2, jagged, 4]",
    ),
    Difference(
        "nested_tensor_from_tensor_list",
        lambda m: m.nested_tensor_from_tensor_list([torch.ones(2, 1), torch.ones(2, 3).long()]).dtype,
        "torch.float32",
        "BatchError",
        "nothing is cast that nobody cast",
    ),
    Difference(
        "maybe_fix_3d_position_ids",
        lambda m: fixed(m, FORGOTTEN),
        "(2, [2, 'jagged', 5])",
        "(2, [2, 2, 'jagged'])",
        "the shape is right, too; the tensor is replaced in the TensorDict",
    ),
    Difference(
        "maybe_fix_3d_position_ids",
        lambda m: fixed(m, ON_AXIS_1.clone()),
        "(2, [2, 'jagged', 2])",
        "(1, [2, 'jagged', 2])",
        "what is ragged on axis 1 is left as it is; verl's cannot be read any more then",
    ),
    Difference(
        "get_tensordict",
        lambda m: m.get(m.get_tensordict({"x": np.array([[1, 2], [3, 4]], dtype=object)}), "x"),
        "[array([1, 2], dtype=object), array([3, 4], dtype=object)]",
        "[[1, 2], [3, 4]]",
        "numpy made a matrix of rows that are lists",
    ),
    Difference(
        "get_tensordict",
        lambda m: len(m.get_tensordict({"x": LAYOUTS["strided"].nested([1, 2])})),
        "AssertionError",
        "2",
        "nested tensors of every layout are taken",
    ),
    Difference(
        "get_tensordict",
        lambda m: sorted(m.get_tensordict(m.get_tensordict({"x": torch.ones(2)}, {"k": 1}), {"j": 1}).keys()),
        "AssertionError",
        "['j', 'k', 'x']",
        "a TensorDict with meta is taken for the dict that it is",
    ),
    Difference(
        "union_tensor_dict",
        lambda m: len(m.union_tensor_dict(tensors(2, x=jagged([1], [2])), tensors(2, x=jagged([1], [2]))).keys()),
        "RuntimeError",
        "1",
        "nested tensors are compared row by row",
    ),
    Difference(
        "union_tensor_dict",
        lambda m: len(m.union_tensor_dict(tensors(2, x=NAN), tensors(2, x=NAN.clone())).keys()),
        "AssertionError",
        "1",
        "NaN is NaN",
    ),
    Difference(
        "union_tensor_dict",
        lambda m: len(m.union_tensor_dict(tensors(2, x=torch.ones(2)), tensors(2, x=torch.ones(2).double())).keys()),
        "1",
        "BatchError",
        "another dtype is a conflict",
    ),
    Difference(
        "union_tensor_dict",
        lambda m: left_behind(lambda b: m.union_tensor_dict(b, tensors(2, y=torch.ones(2), x=torch.zeros(2)))),
        "['k', 'x', 'y']",
        "['k', 'x']",
        "all is compared before anything is joined",
    ),
    Difference(
        "union_tensor_dict",
        written_into(lambda m, batch: m.union_tensor_dict(tensors(2), batch)),
        "['z', 'b']",
        "['a', 'b']",
        "the cells of a side are its own",
    ),
    Difference(
        "assert_tensordict_eq",
        lambda m: m.assert_tensordict_eq(tensors(2, x=torch.ones(2, 1)), tensors(2, x=torch.ones(2, 3).long())),
        "None",
        "AssertionError",
        "shapes that broadcast and dtypes that promote are not equal; neither are batch sizes and ragged axes",
    ),
    Difference(
        "assert_tensordict_eq",
        lambda m: m.assert_tensordict_eq(tensors(2, x=NAN), tensors(2, x=NAN.clone())),
        "AssertionError",
        "None",
        "NaN is NaN; in meta, 1 is 1.0",
    ),
    Difference(
        "assert_tensordict_eq",
        lambda m: m.assert_tensordict_eq(*parts(m, [{"k": np.arange(2)}] * 2, u=[np.arange(2)])),
        "ValueError",
        "None",
        "arrays in cells and in meta are compared",
    ),
    Difference(
        "make_iterator",
        lambda m: list(m.make_iterator(tensors(0, x=torch.ones(0)), 2, 1, dataloader_kwargs={"shuffle": True})),
        "ValueError",
        "[]",
        "no row is a number of rows",
    ),
    Difference(
        "make_iterator",
        lambda m: len(list(m.make_iterator(tensors(2, x=torch.ones(2)), 1, -1))),
        "0",
        "BatchError",
        "fewer epochs than none mean nothing",
    ),
    Difference(
        "pad_to_divisor",
        lambda m: [m.pad_to_divisor(batch, 2)[0] is batch for batch in [tensors(2, x=torch.ones(2))]],
        "[True]",
        "[False]",
        "a result is an own one, here and in unpad; with tensordict 0.10 verl's pads no nested tensors",
    ),
    Difference(
        "unpad",
        lambda m: len(m.unpad(tensors(2, x=torch.ones(2)), 5)),
        "0",
        "BatchError",
        "there are not so many rows",
    ),
    Difference(
        "contiguous",
        lambda m: list(m.contiguous(TensorDict({"k": NonTensorData(data=1)}, batch_size=[3])).batch_size),
        "[]",
        "[3]",
        "the number of rows stays",
    ),
    Difference(
        "list_of_dict_to_tensordict",
        lambda m: sorted(m.list_of_dict_to_tensordict([{"a": 1}, {"a": 2, "b": 3}]).keys()),
        "['a']",
        "BatchError",
        "a field that row 0 does not have was lost; one that it alone has is a KeyError without a row",
    ),
    Difference(
        "list_of_dict_to_tensordict",
        lambda m: m.get(m.list_of_dict_to_tensordict([{"a": torch.ones(1)}, {"a": None}]), "a"),
        "[tensor([1.]), None]",
        "BatchError",
        "a tensor became an object in a column, which no device and no operation on tensors reaches",
    ),
    Difference(
        "list_of_dict_to_tensordict",
        lambda m: m.list_of_dict_to_tensordict([{"a": torch.ones(1)}, {"a": torch.ones(1).long()}])["a"].dtype,
        "torch.float32",
        "BatchError",
        "nothing is cast that nobody cast",
    ),
    Difference(
        "pop_keys",
        lambda m: left_behind(lambda batch: m.pop_keys(batch, ["x", "absent"])),
        "['k']",
        "['k', 'x']",
        "nothing is taken where a name is missing; all missing names are told, with the closest ones",
    ),
    Difference(
        "get",
        lambda m: len(m.get(tensors(2, x=TensorDict({"y": torch.ones(2)}, batch_size=[2])), "x")),
        "AssertionError",
        "2",
        "a TensorDict in a TensorDict is returned as it is; contiguous takes it, too",
    ),
    Difference(
        "assign_non_tensor",
        lambda m: left_behind(lambda batch: m.assign_non_tensor(batch, j=1, u=["a"])),
        "['j', 'k', 'x']",
        "['k', 'x']",
        "all is checked before anything is set",
    ),
    Difference(
        "assign_non_tensor_stack",
        lambda m: m.assign_non_tensor_stack(tensors(2, x=torch.ones(2)), "u", "ab"),
        "None",
        "BatchError",
        "a text is no list of rows, and a tensor is none either",
    ),
    Difference(
        "assign_non_tensor",
        written_into(lambda m, batch: m.assign_non_tensor(tensors(2), u=batch.get("u"))),
        "['z', 'b']",
        "['a', 'b']",
        "the cells of a stack that was given stay its own",
    ),
    Difference(
        "assign_non_tensor_data",
        lambda m: m.assign_non_tensor_data(tensors(2), "u", NonTensorStack("a", "b")),
        "AttributeError",
        "BatchError",
        "a column is no meta",
    ),
]
"""Beside these, what verl refuses with an AssertionError, a KeyError, or with what torch and tensordict raise, is a
`BatchError` here, or a `MissingFieldError`, which is a KeyError, too; it does not go away under `python -O`."""


def outcome(run: Callable[[Any], Any], module: Any) -> str:
    """What a call returns, or the kind of its error."""
    try:
        return repr(run(module))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("case", DIFFERENCES, ids=lambda case: case.function)
def test_the_modules_differ_where_the_table_says(case: Difference) -> None:
    assert (outcome(case.run, theirs), outcome(case.run, ours)) == (case.theirs, case.ours), case.why


WRONG: list[tuple[str, Callable[[Any], Any], str]] = [
    ("AssertionError", lambda m: m.get_tensordict({"x": torch.ones(2), "u": ["a"]}), "BatchError"),
    ("AssertionError", lambda m: m.get_tensordict({"x": [torch.ones(2)]}), "BatchError"),
    ("AssertionError", lambda m: m.get_tensordict({"x": torch.ones(2)}, {"x": 1}), "BatchError"),
    ("AssertionError", lambda m: m.concat_tensordict([]), "BatchError"),
    ("AssertionError", lambda m: m.chunk_tensordict(tensors(3, x=torch.ones(3)), 2), "BatchError"),
    ("AssertionError", lambda m: m.make_iterator(tensors(3, x=torch.ones(3)), 2, 1), "BatchError"),
    ("AssertionError", lambda m: m.union_tensor_dict(tensors(2), tensors(3)), "BatchError"),
    ("AssertionError", lambda m: m.nested_tensor_from_tensor_list([]), "BatchError"),
    ("AssertionError", lambda m: m.list_of_dict_to_tensordict([]), "BatchError"),
    ("AssertionError", lambda m: m.assign_non_tensor({}, k=1), "BatchError"),
    ("AssertionError", lambda m: m.index_select_tensor_dict(tensors(2), torch.ones(1, 1)), "BatchError"),
    ("IndexError", lambda m: m.index_select_tensor_dict(tensors(2, x=torch.ones(2)), [2]), "BatchError"),
    ("ZeroDivisionError", lambda m: m.pad_to_divisor(tensors(2), 0), "BatchError"),
    ("RuntimeError", lambda m: m.pop(tensors(2, x=torch.ones(2)).lock_(), "x"), "BatchError"),
    ("KeyError", lambda m: m.get_keys(tensors(2), ["absent"]), "MissingFieldError"),
    ("KeyError", lambda m: m.pop_keys(tensors(2), ["absent"]), "MissingFieldError"),
    ("KeyError", lambda m: m.list_of_dict_to_tensordict([{"a": 1}, {}]), "BatchError"),
]


@pytest.mark.parametrize(("their_error", "run", "our_error"), WRONG)
def test_both_refuse_what_is_wrong(their_error: str, run: Callable[[Any], Any], our_error: str) -> None:
    assert (outcome(run, theirs), outcome(run, ours)) == (their_error, our_error)
