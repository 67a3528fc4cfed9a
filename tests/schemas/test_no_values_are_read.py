"""At level structure nothing reads a tensor's values, so nothing synchronises a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import torch
from jaxtyping import Float, Float32, Int64, Shaped
from torch import Tensor

from batchpact.schemas import BatchSchema, Meta
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.stores import Stores

from .support import floats, ids, stores

METADATA = {
    Tensor.dim,
    Tensor.size,
    Tensor.shape.__get__,
    Tensor.dtype.__get__,
    Tensor.layout.__get__,
    Tensor.device.__get__,
    Tensor.is_nested.__get__,  # type: ignore[attr-defined]
}


class Unreadable(Tensor):
    """A tensor of which only the metadata may be asked."""

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func not in METADATA:
            raise AssertionError(f"{func} reads values")
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Reads(BatchSchema):
    input_ids: Int64[Tensor, "batch prompt+response"]
    scores: Float32[Tensor, "batch response"]
    mask: Int64[Tensor, "batch response"] | None = None
    prompts: Int64[Tensor, "batch prompt"]
    hidden: Float[Tensor, "batch ... 2"]
    anything: Shaped[Tensor, "batch *inner"]
    temperature: Meta[float] | Float32[Tensor, "batch"]


def batch(make: Callable[[Tensor], Tensor], **wrong: Tensor) -> Stores:
    tensors = {
        "input_ids": ids(4, 8),
        "scores": floats(4, 5),
        "mask": ids(4, 5),
        "prompts": ids(4, 3),
        "hidden": floats(4, 7, 2),
        "anything": floats(4, 1),
        "temperature": floats(4),
        **wrong,
    }
    return stores({name: make(tensor) for name, tensor in tensors.items()})


FAULTS: dict[str, tuple[dict[str, Tensor], list[tuple[str, str]]]] = {
    "healthy": ({}, []),
    "dtype": ({"scores": ids(4, 5)}, [("BP005", "scores")]),
    "rank": ({"scores": floats(4, 5, 1)}, [("BP011", "scores")]),
    "rows": ({"prompts": ids(3, 3)}, [("BP012", "prompts")]),
    "expression": ({"input_ids": ids(4, 9)}, [("BP012", "input_ids")]),
    "fixed size": ({"hidden": floats(4, 3)}, [("BP012", "hidden")]),
}


def check(found: Stores, expected: list[tuple[str, str]]) -> None:
    plan = Reads.__batchpact__.plan
    passed, careful = plan.sizes(found), diagnose(plan, found)
    assert [(wrong.code, wrong.field) for wrong in careful.violations] == expected
    assert passed is None, "*inner needs the closer look"


def unreadable(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(Unreadable)


def on_meta(tensor: Tensor) -> Tensor:
    return tensor.to("meta")


@pytest.mark.parametrize("make", [unreadable, on_meta])
@pytest.mark.parametrize(("wrong", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_tensors_are_checked_without_their_values(
    make: Callable[[Tensor], Tensor], wrong: dict[str, Tensor], expected: list[tuple[str, str]]
) -> None:
    check(batch(make, **wrong), expected)


class Plain(BatchSchema):
    input_ids: Int64[Tensor, "batch prompt+response"]
    scores: Float32[Tensor, "batch response"]
    mask: Int64[Tensor, "batch response"] | None = None
    prompts: Int64[Tensor, "batch prompt"]


@pytest.mark.parametrize("make", [unreadable, on_meta])
def test_the_plan_passes_a_healthy_batch_without_its_values(make: Callable[[Tensor], Tensor]) -> None:
    assert Plain.__batchpact__.plan.sizes(batch(make)) == {"batch": 4, "prompt": 3, "response": 5}


def test_the_guard_of_this_test_works() -> None:
    with pytest.raises(AssertionError, match="reads values"):
        bool((unreadable(floats(2)) > 0).all())


@pytest.fixture
def no_synchronisation() -> Iterator[Callable[[], None]]:
    """Refuse synchronisation from the call of this fixture's value to the end of the test."""
    yield lambda: torch.cuda.set_sync_debug_mode("error")
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("wrong", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_a_device_is_not_synchronised(
    no_synchronisation: Callable[[], None], wrong: dict[str, Tensor], expected: list[tuple[str, str]]
) -> None:
    broken, healthy = batch(Tensor.cuda, **wrong), batch(Tensor.cuda)
    no_synchronisation()

    check(broken, expected)
    assert Plain.__batchpact__.plan.sizes(healthy) == {"batch": 4, "prompt": 3, "response": 5}
