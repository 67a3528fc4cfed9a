"""Where verl's functions and ours differ, both do what the table says; what is wrong, both refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from batchpact.dataproto import tensordicts as ours
from tests.dataproto.tensordicts.differences import DIFFERENCES, Difference
from tests.dataproto.tensordicts.support import tensors

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage"),
]

theirs = pytest.importorskip("verl.utils.tensordict_utils")


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
