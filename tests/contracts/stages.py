"""What the tests of the boundaries share: a batch in three kinds of container, and stages that work on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from tensordict import NonTensorData, NonTensorStack, TensorDict
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto, column
from batchpact.dataproto.carriers import carrier_of
from batchpact.schemas import Arg, BatchSchema, Binary, ContractError, From, Meta, NonTensor, StageSchema
from batchpact.schemas.stores import Stores

ROWS, RESPONSE = 4, 3


@dataclass
class VerlLike:
    """The structure of verl's `DataProto`, by which contracts know it."""

    batch: TensorDict | None = None
    non_tensor_batch: dict[str, Any] = field(default_factory=dict)
    meta_info: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return 0 if self.batch is None else self.batch.batch_size[0]


def ours(tensors: dict[str, Tensor], columns: dict[str, list[Any]], meta: dict[str, Any]) -> DataProto:
    return DataProto.from_dict(tensors, columns, meta)


def tensor_dict(tensors: dict[str, Tensor], columns: dict[str, list[Any]], meta: dict[str, Any]) -> TensorDict:
    rows = len(next(iter(tensors.values())))
    stacks = {key: NonTensorStack(*[NonTensorData(cell) for cell in cells]) for key, cells in columns.items()}
    data = {key: NonTensorData(value, batch_size=[rows]) for key, value in meta.items()}
    return TensorDict({**tensors, **stacks, **data}, batch_size=[rows])


def verl_like(tensors: dict[str, Tensor], columns: dict[str, list[Any]], meta: dict[str, Any]) -> VerlLike:
    rows = len(next(iter(tensors.values())))
    return VerlLike(TensorDict(tensors, batch_size=[rows]), {k: column(v) for k, v in columns.items()}, dict(meta))


Container = Callable[[dict[str, Tensor], dict[str, list[Any]], dict[str, Any]], Any]
CONTAINERS: dict[str, Container] = {"ours": ours, "tensordict": tensor_dict, "verl": verl_like}
in_every_container = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())


def stores_of(batch: object) -> Stores:
    """The three stores of a batch of any kind."""
    carrier = carrier_of(batch)
    assert carrier is not None
    return carrier.stores(batch)


def rewards() -> Tensor:
    """Different values everywhere."""
    return torch.arange(1.0, ROWS * RESPONSE + 1).reshape(ROWS, RESPONSE)


def scored(container: Container = ours) -> Any:
    """A batch that `ComputeReturns` can read, with one field in each store that it does not declare."""
    return container(
        {"rewards": rewards(), "response_mask": torch.ones(ROWS, RESPONSE, dtype=torch.int64), "values": -rewards()},
        {"uid": ["a", "a", "b", "b"], "data_source": ["math", "math", "code", "code"]},
        {"gamma": 0.5, "global_steps": 7},
    )


STORES = {"tensor": "batch", "column": "non_tensor_batch", "meta": "meta_info"}
WITHHELD = {  # one field of `scored` in each store that `ComputeReturns` does not declare, and its description
    "tensor": ("values", "tensor f32[4, 3]"),
    "column": ("data_source", "4 objects in non_tensor_batch"),
    "meta": ("global_steps", "int in meta_info"),
}
every_store = pytest.mark.parametrize("store", STORES)


def store_of(data: Any, store: str) -> Any:
    """A TensorDict is its own store for all three."""
    return getattr(data, STORES[store], data)


class ComputeReturns(StageSchema):
    """Sum the rewards that are still to come."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        response_mask: Annotated[Int64[Tensor, "batch response"], Binary()]
        uid: NonTensor[str]
        gamma: Meta[float]
        scale: Annotated[Arg[float], From("algorithm.scale")] = 1.0

    class Writes(BatchSchema):
        returns: Float32[Tensor, "batch response"]


def returns_of(rewards: Tensor, gamma: float, scale: float = 1.0) -> Tensor:
    """What `ComputeReturns` writes, as a plain function."""
    returns = torch.zeros_like(rewards)
    following = torch.zeros(len(rewards))
    for at in reversed(range(rewards.shape[1])):
        following = rewards[:, at] + gamma * following
        returns[:, at] = scale * following
    return returns


RETURNS = returns_of(rewards(), 0.5)
"""What `ComputeReturns` writes for `scored`."""


def written(**fields: Any) -> DataProto:
    """A result with what `ComputeReturns` writes, and more or less."""
    tensors = {key: value for key, value in fields.items() if isinstance(value, Tensor)}
    columns = {key: value for key, value in fields.items() if isinstance(value, list)}
    return DataProto.from_dict(tensors, columns, {k: v for k, v in fields.items() if k not in tensors | columns})


def run(function: Callable[[Any], Any], batch: Any = None) -> Any:
    """Run a function as the stage 'compute'."""
    return stage(ComputeReturns, name="compute")(function)(scored() if batch is None else batch)


def refusal(call: Callable[[], object], kind: type[ContractError] = ContractError) -> str:
    """The whole message of the error that a call raises, which must be of this very kind."""
    with pytest.raises(ContractError) as caught:
        call()
    assert type(caught.value) is kind
    return str(caught.value)
