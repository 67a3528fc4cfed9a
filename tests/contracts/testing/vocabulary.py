"""Every schema of `schemas/rl`, as the tests of samples find them, and the product's own check of a batch."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import partial
from typing import Any

from torch import Tensor

from batchpact.contracts.configuration import of_batch
from batchpact.dataproto.binding import Bound
from batchpact.schemas import BatchSchema, ContractError, StageSchema, Violation, rl
from batchpact.schemas.axes import Lengths, is_jagged, offsets_of
from batchpact.schemas.condition_specs import holds
from batchpact.schemas.dim_names import bound_names
from batchpact.schemas.narrowing import conditions_of, narrowed
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.stage import reads_of, writes_of
from batchpact.schemas.stores import Stores

COLUMNS = {"gdpo_reward_keys": ["format", "accuracy"]}
"""Columns that the configuration names: without it, nobody can tell which ones they are."""
ON = {
    "algorithm": {
        "adv_estimator": "gae",
        "use_kl_in_reward": True,
        "use_pf_ppo": True,
        "rollout_correction": {"bypass_mode": False, "rollout_is": "token"},
        "filter_groups": {"enable": True, "metric": "reward"},
        **COLUMNS,
    },
    "actor_rollout_ref": {
        "actor": {"use_kl_loss": True, "calculate_sum_pi_squared": True},
        "rollout": {"calculate_log_probs": True, "enable_rollout_routing_replay": True},
    },
    "critic": {"enable": True},
    "distillation": {"enabled": True},
}
OFF = {
    "algorithm": {"adv_estimator": "grpo", **COLUMNS},
    "actor_rollout_ref": {"rollout": {"calculate_log_probs": False}},
    "critic": {"enable": False},
    "reward": {"reward_model": {"enable": True}},
}


def every_schema() -> dict[str, type[BatchSchema]]:
    """The Reads and Writes of every stage, and the schemas that stand alone; those that say the same once."""
    found: dict[str, type[BatchSchema]] = {}
    for info in pkgutil.walk_packages(rl.__path__, f"{rl.__name__}."):
        module = importlib.import_module(info.name)
        for value in list(vars(module).values()):
            if inspect.isclass(value) and value.__module__ == info.name:
                if issubclass(value, StageSchema):
                    found[f"{_short(value)}.Reads"] = reads_of(value)
                    found[f"{_short(value)}.Writes"] = writes_of(value)
                elif issubclass(value, BatchSchema):
                    found[_short(value)] = value
    first: dict[str, str] = {}
    for name, schema in found.items():
        spec = schema.__batchpact__.spec
        said = spec.model_copy(update={"name": "", "qualname": "", "description": ""})
        first.setdefault(said.canonical(), name)
    return {name: found[name] for name in first.values()}


def _short(value: type) -> str:
    return f"{value.__module__.removeprefix(f'{rl.__name__}.')}.{value.__name__}"


def answered(schema: type[BatchSchema], stores: Stores, config: object) -> type[BatchSchema]:
    """The schema as a boundary takes it under a configuration: conditional fields are there, or are not."""
    look_up = partial(of_batch, config, stores)
    conditions = conditions_of(schema.__batchpact__.spec)
    return narrowed(schema, {name: holds(condition, look_up) for name, condition in conditions.items()})


def problems(schema: type[BatchSchema], stores: Stores) -> tuple[Violation, ...]:
    """What the check of `bind` says at level `values`, the arguments of the call included."""
    dims: Any = unbound_dims(schema, stores)
    try:
        Bound(schema, dims).check(stores, {}, values=True)
    except ContractError as error:
        return error.violations
    return ()


def unbound_dims(schema: type[BatchSchema], stores: Stores) -> dict[str, int | Lengths]:
    """Sizes for dims that no field of a Writes tells: a boundary knows them from what the stage has read."""
    spec = schema.__batchpact__.spec
    told = bound_names(spec.fields)
    for field in spec.fields:
        place, value = field.place("tensor"), stores.tensors.get(field.key)
        for at, dim in enumerate(parse_dims((place and place.dims) or "")):
            unbound = [] if dim.expression is None else dim.expression.unbound(told)
            if len(unbound) > 1 and isinstance(value, Tensor) and at < value.dim():
                size = Lengths(offsets_of(value)) if is_jagged(value) else value.shape[at]
                return {**dict.fromkeys(unbound[1:], 0), unbound[0]: size}
    return {}
