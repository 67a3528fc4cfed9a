"""The example without its decorators: functions that take a batch and return one, as in a trainer of one's own."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import torch

from batchpact.contracts import contract_of
from batchpact.contracts.origins import FromRows
from batchpact.dataproto import DataProto
from batchpact.schemas.configuration import look_up
from batchpact.schemas.instances import instance_stores
from grpo_arithmetic.pipeline import grpo_stages
from grpo_arithmetic.policy import Policy


class Fields:
    """A batch whose fields are attributes; what it has not is what the code takes for its own default."""

    def __init__(self, data: DataProto, arguments: Mapping[str, Any]) -> None:
        self._data = data
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:
        if name in self._arguments:
            return self._arguments[name]
        for store in (self._data.batch, self._data.non_tensor_batch, self._data.meta_info):
            if store is not None and name in store.keys():
                return store[name]
        return None


def undecorated(stage: Callable[..., Any], config: Mapping[str, Any]) -> Callable[[DataProto], DataProto]:
    """The bare function of a stage, which joins what it makes to its batch, under its own name."""
    contract: Any = contract_of(stage)
    owner = (stage.__self__,) if hasattr(stage, "__self__") else ()
    sources = {f.name: f.source for f in contract.spec.reads.fields if f.places[0].placement == "arg"}
    arguments = {name: look_up(config, source) for name, source in sources.items()}

    def call(data: DataProto) -> DataProto:
        result = contract.function(*owner, Fields(data, arguments))
        if isinstance(result, FromRows):
            data, result = data[torch.as_tensor(result.origin)], result.result
        tensors, columns, meta, _ = instance_stores(result)
        return data.union(DataProto.from_dict(tensors, columns, meta))

    # A code of its own, by which a function is known.
    code = call.__code__.replace(co_name=contract.spec.name)
    return types.FunctionType(code, globals(), contract.spec.name, None, call.__closure__)


def undecorated_stages(policy: Policy) -> list[Callable[[DataProto], DataProto]]:
    """The stages of a step, as a list of functions."""
    config = policy.settings.config()
    return [undecorated(stage, config) for stage in grpo_stages(policy)]
