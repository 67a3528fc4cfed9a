"""Which functions are watched."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from batchpact.contracts.tracing.scope import Scope
from batchpact.dataproto import DataProto
from tests.contracts.tracing import loops


def rows() -> Iterator[int]:
    yield 1


async def later() -> None:
    return None


def test_without_names_it_is_the_code_of_the_program() -> None:
    scope = Scope([])

    assert not scope.named
    assert loops.generate.__code__ in scope
    assert json.dumps.__code__ not in scope
    assert pytest.importorskip.__code__ not in scope
    assert DataProto.repeat.__code__ not in scope
    assert rows.__code__ not in scope and later.__code__ not in scope
    assert (lambda: None).__code__ not in scope


def test_a_module_and_a_package_are_all_of_their_functions() -> None:
    assert json.dumps.__code__ in Scope([json])
    assert json.decoder.JSONDecoder.decode.__code__ in Scope([json])
    assert json.decoder.JSONDecoder.decode.__code__ not in Scope([json.encoder])
    assert loops.generate.__code__ not in Scope([json])


def test_a_function_is_itself() -> None:
    scope = Scope([loops.generate])

    assert loops.generate.__code__ in scope and loops.reward.__code__ not in scope
