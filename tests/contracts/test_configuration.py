"""The configuration of a run, in whatever form a team has it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from batchpact.contracts import use_config
from batchpact.contracts.configuration import ABSENT, config_value, look_up


@dataclass
class Algorithm:
    gamma: float = 0.99
    lam: float | None = None

    def gae(self) -> float:
        raise AssertionError("a path never calls anything")


@dataclass
class Config:
    algorithm: Algorithm = field(default_factory=Algorithm)


class AlgorithmModel(BaseModel):
    gamma: float = 0.99
    lam: float | None = None


class ConfigModel(BaseModel):
    algorithm: AlgorithmModel = AlgorithmModel()


def omegaconf() -> Any:
    return pytest.importorskip("omegaconf").OmegaConf.create({"algorithm": {"gamma": 0.99, "lam": None}})


FORMS = {
    "dict": lambda: {"algorithm": {"gamma": 0.99, "lam": None}},
    "dataclass": Config,
    "pydantic": ConfigModel,
    "a dict of dataclasses": lambda: {"algorithm": Algorithm()},
    "omegaconf": omegaconf,
}


@pytest.mark.parametrize(
    "form",
    [pytest.param(form, id=name, marks=[pytest.mark.peers] * (name == "omegaconf")) for name, form in FORMS.items()],
)
def test_a_path_leads_into_every_form(form: Any) -> None:
    config = form()

    assert look_up(config, "algorithm.gamma") == 0.99
    assert look_up(config, "algorithm.lam") is None, "None is a value"
    assert look_up(config, "algorithm.beta") is ABSENT
    assert look_up(config, "trainer.steps") is ABSENT
    assert look_up(config, "algorithm.gamma.real_") is ABSENT


def test_private_attributes_are_no_configuration() -> None:
    assert look_up(Config(), "algorithm.__class__") is ABSENT
    assert look_up({"_hidden": 1}, "_hidden") == 1, "a key may have any name"


def test_a_path_names_a_method_without_calling_it() -> None:
    assert callable(look_up(Config(), "algorithm.gae"))


def test_without_a_configuration_every_path_is_absent() -> None:
    assert config_value("algorithm.gamma") is ABSENT
    assert repr(ABSENT) == "ABSENT"


def test_the_innermost_configuration_counts_and_ends_with_its_block() -> None:
    with use_config({"a": 1}):
        with use_config({"b": 2}):
            assert (config_value("a"), config_value("b")) == (ABSENT, 2)
        assert config_value("a") == 1
    assert config_value("a") is ABSENT


def test_it_ends_with_an_error_too() -> None:
    with pytest.raises(KeyError), use_config({"a": 1}):
        raise KeyError("a")

    assert config_value("a") is ABSENT


async def test_tasks_have_their_own_configuration() -> None:
    async def value(number: int) -> object:
        with use_config({"a": number}):
            await asyncio.sleep(0)
            return config_value("a")

    assert await asyncio.gather(*(value(number) for number in range(3))) == [0, 1, 2]
