"""What cannot be pickled is named, with the row and the path to it."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.dataproto import DataProto, unpicklable
from batchpact.schemas import BatchSchema
from batchpact.schemas.violations import Violation
from tests.dataproto.support import function_refuses, small


@dataclass
class Tool:
    """What a team may put into a cell."""

    name: str
    run: Any


def found(data: DataProto, **options: Any) -> list[tuple[str, str | None, str]]:
    return [(v.field, v.placement, v.actual) for v in unpicklable(data, **options)]


def test_a_batch_that_can_be_pickled_holds_nothing_of_that_kind() -> None:
    assert unpicklable(small()) == []
    assert unpicklable(DataProto()) == []


def test_the_field_the_rows_and_the_type_are_named() -> None:
    """Case W9: a lambda in meta, a lock in a cell."""
    run = lambda: None  # noqa: E731
    data = DataProto.from_dict(
        {"x": torch.ones(6)},
        {
            "tool": [Tool("a", None), Tool("b", run), None, Tool("c", run), Tool("d", run), Tool("e", run)],
            "fine": [[1]] * 6,
            "lock": [{}, {}, {}, {"a": [1, (threading.Lock(),)]}, {}, {}],
        },
        {"number": 1, "reward_fn": run, "config": {"on": True, "calls": [print, run]}},
    )
    mine = "test_the_field_the_rows_and_the_type_are_named.<locals>.<lambda>"

    assert found(data) == [
        ("tool.run", "non_tensor", f"function {mine} in rows 1, 3, 4 and 1 more"),
        ("lock['a'][1][0]", "non_tensor", "lock in row 3"),
        ("reward_fn", "meta", f"function {mine}"),
        ("config['calls'][1]", "meta", f"function {mine}"),
    ]
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        pickle.dumps(data)


def test_a_violation_is_whole() -> None:
    assert unpicklable(DataProto(meta_info={"lock": threading.Lock()})) == [
        Violation(code="BP050", field="lock", placement="meta", actual="lock", expected="a value that can be pickled")
    ]


def test_what_pickles_can_be_given() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    data = DataProto(meta_info={"function": lambda: 1, "lock": threading.Lock()})

    assert found(data, dumps=cloudpickle.dumps) == [("lock", "meta", "lock")]


def test_a_value_whose_own_method_fails_is_named() -> None:
    class Odd:
        def __reduce__(self) -> Any:
            raise OSError("no")

    assert found(DataProto(meta_info={"k": [Odd()]})) == [("k[0]", "meta", "Odd")]


def test_a_knot_has_an_end() -> None:
    knot: list[Any] = [threading.Lock()]
    knot.insert(0, knot)

    assert found(DataProto(meta_info={"k": knot})) == [("k[1]", "meta", "lock")]


def test_a_schema_that_only_a_function_knows_is_named() -> None:
    class Local(BatchSchema):
        reward: Float32[Tensor, "batch"]

    assert unpicklable(small().bind(Local)) == [
        Violation(
            code="BP050",
            field="the bound schema",
            actual="test_a_schema_that_only_a_function_knows_is_named.<locals>.Local",
            expected="a value that can be pickled",
            hint="pickle names a class by its module; bind one that stands at the top of a module",
        )
    ]


def test_it_looks_at_batches_alone() -> None:
    with function_refuses(
        "unpicklable",
        "BP045 store  data  dict of 0; a DataProto; DataProto.from_verl(x) and DataProto.from_tensordict(x) make one",
    ):
        unpicklable({})  # type: ignore[arg-type]
