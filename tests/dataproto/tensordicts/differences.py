"""Where our functions are meant to differ from verl's, as a table that `test_verl_differences.py` holds both to.

Beside these, what verl refuses with an AssertionError, a KeyError, or with what torch and tensordict raise, is a
`BatchError` here, or a `MissingFieldError`, which is a KeyError, too; it does not go away under `python -O`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, TensorDict

from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import jagged, jagged_on_2
from tests.dataproto.tensordicts.support import tensors


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
        derived = derive(module, source)  # in a name: a cell is written only as long as its batch is there
        derived["u"][0] = "z"
        return module.get(source, "u")

    return run


def fixed(module: Any, position_ids: torch.Tensor) -> Any:
    batch = tensors(2, position_ids=position_ids)
    module.maybe_fix_3d_position_ids(batch)
    found = batch["position_ids"]
    return found._ragged_idx, [size if isinstance(size, int) else "jagged" for size in found.shape]


FORGOTTEN = torch.nested.nested_tensor_from_jagged(torch.arange(10).reshape(2, 5), torch.tensor([0, 2, 5]))
ON_AXIS_1 = torch.nested.nested_tensor_from_jagged(torch.arange(6).reshape(3, 2), torch.tensor([0, 1, 3]))

SQUARE = torch.nested.nested_tensor_from_jagged(torch.arange(4).reshape(2, 2), torch.tensor([0, 2]))

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
        "nothing is cast that nobody cast; neither in concat_nested_tensors, nested_tensor_from_tensor_list and "
        "list_of_dict_to_tensordict, and union_tensor_dict takes another dtype for a conflict",
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
        "concat_nested_tensors",
        lambda m: m.concat_nested_tensors([jagged_on_2([[1, 2], [3, 4]]), SQUARE])._ragged_idx,
        "2",
        "BatchError",
        "parts that are ragged on different axes were joined where their sizes happen to fit",
    ),
    Difference(
        "concat_nested_tensors",
        lambda m: len(m.concat_nested_tensors([LAYOUTS["holes"].nested([2, 1])] * 2).unbind()),
        "AssertionError",
        "4",
        "tensors with holes, views and strided ones are joined, too, and get_tensordict takes them",
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
        "the cells of a part are its own, and so are those that union_tensor_dict and assign_non_tensor take over",
    ),
    Difference(
        "index_select_tensor_dict",
        lambda m: m.index_select_tensor_dict(tensors(3, x=torch.arange(3)), [True, False, True])["x"].tolist(),
        "RuntimeError",
        "[0, 2]",
        "a mask, an array, a slice and no row are an index, too; every function takes a batch without rows",
    ),
    Difference(
        "index_select_tensor_dict",
        lambda m: list(m.index_select_tensor_dict(m.get_tensordict({}, {"k": 1}), [0, 1]).batch_size),
        "[2]",
        "BatchError",
        "meta alone has no rows to choose; chunk_tensordict gives it to every part, where verl raises",
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
        "maybe_fix_3d_position_ids",
        lambda m: fixed(m, FORGOTTEN.clone()),
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
        lambda m: left_behind(lambda b: m.union_tensor_dict(b, tensors(2, y=torch.ones(2), x=torch.zeros(2)))),
        "['k', 'x', 'y']",
        "['k', 'x']",
        "all is compared before anything is joined",
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
        "NaN is NaN, here and in union_tensor_dict; arrays in cells and in meta are compared; 1 is 1.0",
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
]
