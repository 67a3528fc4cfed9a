"""One value of several, by each policy; and what is said where a policy does not apply."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from batchpact.schemas import Merge
from batchpact.schemas.merging import is_one_object, merge_values
from batchpact.schemas.reducing import Unmergeable
from tests.dataproto.support import jagged


def by_name(key: str) -> Merge:
    return {"time": Merge("mean"), "tokens": Merge("sum"), "lr": Merge()}.get(key, Merge("collect"))


def made(policy: Merge, *values: Any) -> Any:
    return merge_values([(f"part {at}", value) for at, value in enumerate(values)], policy)


POLICIES: dict[str, tuple[Merge, tuple[Any, ...], Any]] = {
    "equal": (Merge(), (3, 3), 3),
    "equal None": (Merge(), (None, None), None),
    "first": (Merge("first"), ("a", "b"), "a"),
    "first that there is": (Merge("first"), (None, "b", "c"), "b"),
    "sum": (Merge("sum"), (3, 4), 7),
    "sum of those that have one": (Merge("sum"), (3, None, 4), 7),
    "mean of those that have one": (Merge("mean"), (3, None, 4), 3.5),
    "max of those that have one": (Merge("max"), (None, 3, 4), 4),
    "sum of nothing": (Merge("sum"), (None, None), None),
    "sum of one": (Merge("sum"), (3,), 3),
    "sum of dicts": (Merge("sum"), ({"a": 1, "b": 1}, {"a": 2, "c": 5}), {"a": 3, "b": 1, "c": 5}),
    "mean of dicts in dicts": (
        Merge("mean"),
        ({"gen": {"s": 1.0, "n": 2}}, {"gen": {"s": 2.0}, "all": 4.0}),
        {"gen": {"s": 1.5, "n": 2.0}, "all": 4.0},
    ),
    "None in a dict": (Merge("max"), ({"a": None, "b": None}, {"a": 2, "b": None}), {"a": 2, "b": None}),
    "no key at all": (Merge("mean"), ({}, {}), {}),
    "collect": (Merge("collect"), ("a", "b"), ["a", "b"]),
    "collect once": (Merge("collect"), ([1, 2], 3), [1, 2, 3]),
    "collect tuples": (Merge("collect"), ((1, 2), (3,)), [(1, 2), (3,)]),
    "collect those that have one": (Merge("collect"), (None, 3), [3]),
    "collect truth values": (Merge("collect"), (True, True), [True, True]),
    "lists as a set": (Merge("set_union"), ([3, 1], [1, 2]), [3, 1, 2]),
    "tuples as a set": (Merge("set_union"), (("b",), ("a", "b")), ("b", "a")),
    "sets": (Merge("set_union"), ({1}, {1, 2}), {1, 2}),
    "frozen sets": (Merge("set_union"), (frozenset("a"), frozenset("b")), frozenset("ab")),
    "dicts of sets": (Merge("set_union"), ({"x": {1}}, {"x": {2}, "y": {3}}), {"x": {1, 2}, "y": {3}}),
    "by key": (
        Merge.by_key(by_name),
        ({"time": 1.0, "tokens": 5, "lr": 0.1, "loss": 1.0}, {"time": 2.0, "tokens": 6, "lr": 0.1, "loss": 2.0}),
        {"time": 1.5, "tokens": 11, "lr": 0.1, "loss": [1.0, 2.0]},
    ),
    "by key, where some have it": (Merge.by_key(by_name), (None, {"tokens": 5}, {"tokens": 6}), {"tokens": 11}),
    "close": (Merge.close(0.01), (1.0, 1.005), 1.0),
    "close integers": (Merge.close(0.01), (1000, 1001), 1000),
    "close to the first": (Merge.close(0.1), ({"t": [1.0, (2.0,)]}, {"t": [1.05, (1.9,)]}), {"t": [1.0, (2.0,)]}),
    "close NaN": (Merge.close(), ({"a": math.nan}, {"a": math.nan}), {"a": math.nan}),
    "close infinities": (Merge.close(), (math.inf, math.inf), math.inf),
    "close zeros": (Merge.close(), (0.0, 0), 0.0),
    "close numpy scalars": (Merge.close(0.01), (np.float32(1), np.float32(1.001)), np.float32(1)),
}


@pytest.mark.parametrize(("policy", "values", "result"), POLICIES.values(), ids=POLICIES.keys())
def test_a_policy_makes_one_value_and_leaves_the_inputs_alone(
    policy: Merge, values: tuple[Any, ...], result: Any
) -> None:
    before = deepcopy(values)

    value = made(policy, *values)

    assert repr(value) == repr(result)
    assert repr(values) == repr(before)


def test_a_dict_is_a_new_one_of_the_same_type() -> None:
    only = {"a": 1}

    assert made(Merge("sum"), only, None) is not only
    assert type(made(Merge("sum"), OrderedDict(a=1), OrderedDict(a=2))) is OrderedDict
    assert made(Merge("sum"), Counter(a=1), Counter(a=2, b=1)) == Counter(a=3, b=1)


REFUSED: dict[str, tuple[Merge, tuple[Any, ...], str]] = {
    "equal": (Merge(), (1, None), "part 0 and part 1 differ: int 1 against None"),
    "types": (Merge(), (1, True), "part 0 and part 1 differ: int 1 against bool True"),
    "far": (Merge.close(0.01), (1.0, 1.02), "part 0 and part 1 differ: 1.0 against 1.02"),
    "far from the first": (Merge.close(0.01), (1.0, 1.009, 0.98), "part 0 and part 2 differ: 1.0 against 0.98"),
    "zero is near to nothing": (Merge.close(0.5), (0.0, 1e-30), "part 0 and part 1 differ: 0.0 against 1e-30"),
    "infinity is near to nothing": (Merge.close(0.5), (math.inf, 1e30), "part 0 and part 1 differ: inf against 1e+30"),
    "NaN is near to nothing": (Merge.close(0.5), (1.0, math.nan), "part 0 and part 1 differ: 1.0 against nan"),
    "a truth value is no number": (Merge.close(1.0), (True, False), "part 0 and part 1 differ: True against False"),
    "a text is not close": (Merge.close(1.0), ("a", "b"), "part 0 and part 1 differ: 'a' against 'b'"),
    "far in a dict": (
        Merge.close(0.01),
        ({"t": [1.0, 2.0]}, {"t": [1.0, 2.5]}),
        "part 0 and part 1 differ: ['t'][1]: 2.0 against 2.5",
    ),
    "other keys": (Merge.close(), ({"a": 1.0}, {}), "part 0 and part 1 differ: the key 'a' is on one side only"),
    "no number": (
        Merge("mean"),
        ({"a": {"b": 1.0}}, {"a": {"b": "x"}}),
        "['a']['b']: mean is for numbers, arrays and tensors, and part 0 has float 1.0, part 1 has str",
    ),
    "a dict and a number": (
        Merge("sum"),
        ({"a": 1}, 1),
        "sum is for numbers, arrays and tensors, and part 0 has dict of 1, part 1 has int 1",
    ),
    "too large": (Merge("sum"), ({"n": np.int8(99)},) * 2, "['n']: the sum is too large for int8[]"),
    "by key of no dict": (
        Merge.by_key(by_name),
        ({"a": 1}, 2, 3),
        "by_key merges dicts, and part 0 has dict of 1, part 1 has int 2, part 2 has int 3",
    ),
    "by key, at a key": (
        Merge.by_key(by_name),
        ({"lr": 0.1}, {}, {"lr": 0.2}),
        "['lr']: part 0 and part 2 differ: 0.1 against 0.2",
    ),
    "a function that gives no policy": (
        Merge.by_key(lambda key: "mean"),  # type: ignore[arg-type, return-value]
        ({"a": 1}, {"a": 2}),
        "['a']: policy_of gives str, and no Merge",
    ),
    "sets of two kinds": (
        Merge("set_union"),
        ([1], {2}),
        "set_union joins lists or sets of one kind, and part 0 has list of 1, part 1 has set of 1",
    ),
    "no sets": (Merge("set_union"), ("ab", "cd"), "set_union joins lists or sets of one kind, and part 0 has str"),
    "elements": (
        Merge("set_union"),
        ([[1]], [[2]]),
        "set_union needs elements that can be told apart: unhashable type: 'list'",
    ),
}


@pytest.mark.parametrize(("policy", "values", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_policy_does_not_apply_to_is_refused(policy: Merge, values: tuple[Any, ...], text: str) -> None:
    with pytest.raises(Unmergeable) as caught:
        made(policy, *values)

    assert str(caught.value) == text


def test_tensors_and_arrays_may_be_close() -> None:
    one, near, far = (torch.tensor([1.0, math.nan, math.inf, 0.0, x]) for x in (100.0, 100.5, 102.0))

    assert made(Merge.close(0.01), one, near) is one
    assert made(Merge.close(0.01), {"a": one.numpy()}, {"a": near.numpy()})["a"][4] == 100.0
    for kind in (lambda x: x, lambda x: x.numpy(), lambda x: x.bfloat16()):
        with pytest.raises(Unmergeable, match="differ: 1 element differs by up to 2, first in row 4"):
            made(Merge.close(0.01), kind(one), kind(far))
    assert made(Merge.close(0.01), torch.tensor([1000]), torch.tensor([1001])).item() == 1000
    with pytest.raises(Unmergeable, match="differ: 1 element differs, first in row 0"):
        made(Merge.close(0.01), torch.tensor([True]), torch.tensor([False]))
    with pytest.raises(Unmergeable, match="other row lengths"):
        made(Merge.close(0.01), jagged([1], [2, 3]), jagged([1, 2], [3]))


@pytest.mark.parametrize(
    ("value", "one"),
    [
        *[({}, True), ([], True), (set(), True), (np.ones(1), True), (torch.ones(1), True)],
        *[(5, False), ("text", False), (None, False), ((1, 2), False), (frozenset("a"), False), (int, False)],
    ],
    ids=repr,
)
def test_the_identity_of_what_can_be_changed_says_something(value: object, one: bool) -> None:
    assert is_one_object([value, value]) is one
    assert not is_one_object([value])
    assert not is_one_object([value, copy(value), 0])
