"""The plan says no exactly where the diagnosis finds something: over random schemas, batches and faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor
from batchpact.schemas.diagnose import diagnose

from .support import objects, stores

WORTH: dict[str, Callable[[int, int], int]] = {
    "n": lambda n, m: n,
    "m": lambda n, m: m,
    "n+m": lambda n, m: n + m,
    "2*n": lambda n, m: 2 * n,
    "n*m": lambda n, m: n * m,
    "3": lambda n, m: 3,
    "_": lambda n, m: 5,
}
DTYPES = {"float": (Float32, torch.float32), "int": (Int64, torch.int64)}


@dataclass
class Case:
    """A schema and a healthy batch of it, in its four stores."""

    annotations: dict[str, Any] = field(default_factory=dict)
    optional: dict[str, object] = field(default_factory=dict)
    batch: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {"tensors": {}, "columns": {}, "meta": {}, "args": {}}
    )

    def schema(self) -> type[BatchSchema]:
        namespace = {"__annotations__": self.annotations, "__module__": __name__, **self.optional}
        return type(BatchSchema)("Made", (BatchSchema,), namespace)  # type: ignore[no-any-return]


def tensor_fields(m_is_bound: bool) -> st.SearchStrategy[list[tuple[str, list[str], str, bool]]]:
    """Name, dims, kind and whether it is optional, in any order; `n`, and perhaps `m`, is surely bound."""
    dims = st.sampled_from([dim for dim in WORTH if m_is_bound or dim not in ("m", "n*m")])
    other = st.tuples(
        st.sampled_from("abcdef"), st.lists(dims, max_size=2), st.sampled_from(sorted(DTYPES)), st.booleans()
    )
    anchors = [("has_n", ["n"], "float", False), *([("has_m", ["m"], "float", False)] if m_is_bound else [])]
    others = st.lists(other, max_size=4, unique_by=lambda field: field[0])
    return others.flatmap(lambda fields: st.permutations([*fields, *anchors]))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, n, m = draw(st.integers(0, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    case = Case()
    for name, dims, kind, optional in draw(st.booleans().flatmap(tensor_fields)):
        family, dtype = DTYPES[kind]
        annotation = family[Tensor, " ".join(["batch", *dims])]
        case.annotations[name] = annotation | None if optional else annotation
        if optional:
            case.optional[name] = None
        if not optional or draw(st.booleans()):
            shape = (rows, *(WORTH[dim](n, m) for dim in dims))
            case.batch["tensors"][name] = torch.randint(0, 9, shape).to(dtype)
    if draw(st.booleans()):
        case.annotations["uid"] = NonTensor[str]
        case.batch["columns"]["uid"] = objects(*"abc"[:rows])
    if draw(st.booleans()):
        case.annotations["n"] = Meta[int]
        case.batch["meta"]["n"] = n
    if draw(st.booleans()):
        case.annotations["temperature"], case.optional["temperature"] = Meta[float], 1.0
        case.batch["meta"].update(draw(st.sampled_from([{}, {"temperature": 0.7}])))
    if draw(st.booleans()):
        case.annotations["coef"] = Arg[float]
        case.batch["args"]["coef"] = 1
    return case


FAULTS = ("drop", "move to columns", "move to meta", "list", "string", "dtype", "axis", "size", "shorter")


def break_it(draw: st.DrawFn, case: Case) -> str:
    """One fault in one field; some of them are none for some fields."""
    present = [(store, key) for store, held in case.batch.items() for key in held if key in case.annotations]
    store, key = draw(st.sampled_from(present))
    fault = draw(st.sampled_from(FAULTS))
    held = case.batch[store]
    value = held[key]
    if fault == "drop":
        del held[key]
    elif fault == "move to columns":
        case.batch["columns"][key] = np.asarray(held.pop(key)) if isinstance(value, Tensor) else objects(held.pop(key))
    elif fault == "move to meta":
        case.batch["meta"][key] = held.pop(key)
    elif fault == "list":
        held[key] = list(value) if isinstance(value, (Tensor, np.ndarray)) else [value]
    elif fault == "string":
        held[key] = "a string"
    elif fault == "dtype":
        held[key] = value.to(torch.int32) if isinstance(value, Tensor) else str(value)
    elif fault == "axis":
        held[key] = value[..., None] if isinstance(value, Tensor) else (value,)
    elif fault == "size" and isinstance(value, Tensor):
        axis = draw(st.integers(0, value.dim() - 1))
        held[key] = torch.cat([value, value.narrow(axis, 0, 1)], axis) if value.size(axis) else value.new_zeros(9, 9)
    elif fault == "shorter" and isinstance(value, (Tensor, np.ndarray)):
        held[key] = value[:-1]
    return f"{fault} in {store}"


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_plan_says_no_exactly_where_the_diagnosis_finds_something(data: st.DataObject) -> None:
    case = data.draw(cases())
    if data.draw(st.booleans(), label="broken"):
        event(break_it(data.draw, case))
    plan, batch = case.schema().__batchpact__.plan, stores(**case.batch)

    sizes, careful = plan.sizes(batch), diagnose(plan, batch)

    assert (sizes is None) is bool(careful.violations), careful.violations
    if sizes is not None:
        assert sizes.items() <= careful.sizes.items()


@settings(max_examples=100, deadline=None)
@given(cases())
def test_a_batch_that_is_made_to_the_schema_is_healthy(case: Case) -> None:
    sizes = case.schema().__batchpact__.plan.sizes(stores(**case.batch))

    assert sizes is not None
    for name, tensor in case.batch["tensors"].items():
        assert sizes["batch"] == tensor.size(0)
        if name in ("has_n", "has_m"):
            assert sizes[name.removeprefix("has_")] == tensor.size(1)
