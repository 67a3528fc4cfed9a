"""The public surface of `batchpact.contracts.testing`: complete and lazy."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from batchpact.contracts import testing

NAMES = ["Manner", "Sample", "SampleError", "Sampler", "batches", "check_stage", "sample", "samples"]


def test_the_public_names() -> None:
    assert testing.__all__ == NAMES
    assert set(NAMES) <= set(dir(testing))


@pytest.mark.parametrize("name", NAMES)
def test_a_lazy_name_is_the_one_of_its_module(name: str) -> None:
    home = importlib.import_module(f"batchpact.contracts.testing.{testing._HOMES[name]}")

    assert getattr(testing, name) is getattr(home, name)


def test_every_public_name_has_a_home_and_a_type() -> None:
    source = Path(testing.__file__).read_text(encoding="utf-8")
    block = source.partition("if TYPE_CHECKING:\n")[2].partition("\n\n")[0]
    imported = {name.strip() for line in block.splitlines() for name in line.partition(" import ")[2].split(",")}

    assert imported == set(testing._HOMES) == set(NAMES)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'batchpact\.contracts\.testing' has no attribute 'sampled'$"):
        _ = testing.sampled
