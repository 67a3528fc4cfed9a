"""Calls that must give the same on a group of workers, wherever these are, as on one instance."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from batchpact.contracts import WorkerGroup, use_config
from batchpact.dataproto import DataProto
from tests.contracts.workers.critics import Critic

WIDTH = 3
FREE = {"num_cpus": 0}
"""The options of actors that find a place on any machine."""


def rewards(rows: int) -> torch.Tensor:
    """Row `n` starts with `n + 1`."""
    return torch.arange(1.0, rows + 1).reshape(rows, 1) + torch.arange(WIDTH) / 10


def batch_of(rows: int, *more: str) -> DataProto:
    """What the stages read, and in each store something that does not travel.

    Args:
        rows: how many.
        more: tensors and columns that only some conditions ask for.
    """
    tokens = [torch.full((row % 3,), float(row)) for row in range(rows)] or [torch.zeros(0)]
    tensors = {"rewards": rewards(rows), "unused": torch.ones(rows, 5)}
    if rows:
        tensors["tokens"] = torch.nested.nested_tensor(tokens, layout=torch.jagged)
    tensors.update({key: torch.full((rows, WIDTH), 10.0) for key in more if key != "marked"})
    columns = {
        **{key: [f"{key}{row}" for row in range(rows)] for key in ("uid", *more) if key in ("uid", "marked")},
        "images": [{"pixels": [row]} for row in range(rows)],
    }
    meta = {"gamma": 0.5, "global_steps": 7, "steps": ["a"]}
    return DataProto.from_dict(tensors, columns, meta)


class Case(NamedTuple):
    """A call of one stage, which takes batches of some rows or more."""

    method: str
    kwargs: Mapping[str, Any] = MappingProxyType({})
    config: Mapping[str, Any] = MappingProxyType({})
    fields: tuple[str, ...] = ()
    least: int = 0


CASES = {
    "default": Case("values"),
    "argument": Case("values", {"scale": 3.0}),
    "configuration": Case("values", config={"algorithm": {"scale": 2.0, "shift": 1.0}}),
    "condition that holds": Case("values", config={"use_bonus": True}, fields=("bonus",)),
    "condition on what does not travel": Case("values", fields=("others", "marked")),
    "jagged": Case("lengthen", least=1),
    "pad_safe": Case("neutral"),
    "widths that differ": Case("generate", least=1),
    "select": Case("choose"),
    "repeat": Case("twice"),
    "no output": Case("nothing"),
}
ROWS = {"even": 8, "uneven": 7, "fewer than workers": 3, "one": 1, "none": 0}


def call(target: Any, case: Case, batch: DataProto) -> Any:
    """Call a stage of an instance or of a group, under the configuration of the case."""
    with use_config(dict(case.config)):
        return getattr(target, case.method)(batch, **case.kwargs)


def assert_same(group: WorkerGroup, case: Case, rows: int) -> None:
    """The group gives what an instance gives, to the bit, and the caller's batch is what it was."""
    batch = batch_of(rows, *case.fields)
    before = copy.deepcopy(batch)
    alone = call(Critic(), case, batch_of(rows, *case.fields))

    made = call(group, case, batch)

    assert batch == before
    if alone is None:
        assert made is None
        return
    assert type(made) is DataProto
    assert made == alone
    assert {key: column.dtype for key, column in made.non_tensor_batch.items()} == {
        key: column.dtype for key, column in alone.non_tensor_batch.items()
    }
    assert not made.pad_mask.any()
    assert {key: made.last_writer(key) for key in made.stores().names()} == {
        key: alone.last_writer(key) for key in alone.stores().names()
    }
