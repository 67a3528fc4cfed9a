"""Which key of the configuration tells runs apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from batchpact.contracts.tracing.explaining import Configurations, plain_settings


@pytest.mark.parametrize(
    ("values", "runs", "expected"),
    [
        ([True, False], [0], 'config("a.key")'),
        ([True, False], [1], '~config("a.key")'),
        ([0.5, 0.0], [0], 'config("a.key")'),
        (["gae", "grpo", "gae"], [0, 2], 'config("a.key") == "gae"'),
        (["gae", "grpo", "rloo"], [0, 2], 'config("a.key") != "grpo"'),
        ([1, 2, 3], [2], 'config("a.key") == 3'),
        (["gae", "gae"], [0], ""),
        ([1, 2], [0, 1], ""),
        ([1, 2], [], ""),
    ],
)
def test_the_condition_of_some_runs(values: list[Any], runs: list[int], expected: str) -> None:
    configs = Configurations([{"a.key": value, "a.same": 1} for value in values])

    assert configs.condition(runs, range(len(values))) == (expected, "")


def test_several_keys_explain_nothing() -> None:
    configs = Configurations([{"a": True, "b": 1}, {"a": False, "b": 2}])

    assert configs.condition([0], [0, 1]) == ("", "a and b differ alike, and any of them may decide it")


def test_other_runs_do_not_count() -> None:
    configs = Configurations([{"a": 1}, {"a": 2}, {"a": 1}])

    assert configs.condition([0], [0, 1]) == ('config("a") == 1', "")
    assert configs.condition([0], [0, 1, 2]) == ("", "")


def test_the_path_of_values() -> None:
    configs = Configurations([{"rollout.n": 2, "gamma": 0.9}, {"rollout.n": 3, "gamma": 0.9, "m": 3}])

    assert configs.path_of({0: 2, 1: 3}) == "rollout.n"
    assert configs.path_of({1: 3}) == ""  # n and m
    assert configs.path_of({0: 0.9, 1: 0.9}, "gamma") == "gamma"
    assert configs.path_of({0: 0.9}, "lam") == ""


class Model(BaseModel):
    key: bool = True


@dataclass
class Config:
    model: Model


class Refusing(dict[str, Any]):
    """Raises for what is not set, as OmegaConf does for what refers to it."""

    def __getitem__(self, key: str) -> Any:
        if key == "unset":
            raise RuntimeError("it refers to what is not set")
        return super().__getitem__(key)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (Config(Model()), {"model.key": True}),
        ({"a": {"b": 1, "c": None, "d": [1], 3: 4}, "e": "x"}, {"a.b": 1, "a.c": None, "e": "x"}),
        (Refusing(unset=1, key=2), {"key": 2}),
        (None, {}),
    ],
)
def test_the_plain_settings_of_configurations_of_every_kind(config: Any, expected: dict[str, object]) -> None:
    assert plain_settings(config) == expected
