"""Auto-padding: a switch for the process, its environment, and one batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto, DataProtoConfig
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.withheld import Withheld
from tests.dataproto.support import function_refuses, refuses


@pytest.fixture(autouse=True)
def off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("VERL_AUTO_PADDING", raising=False)
    yield
    DataProtoConfig.auto_padding = False


def five(**options: Any) -> DataProto:
    return DataProto.from_dict({"x": torch.arange(5)}, **options)


def sizes(data: DataProto, chunks: int) -> list[int]:
    return [len(part) for part in data.chunk(chunks)]


def test_it_is_off_by_default() -> None:
    assert DataProtoConfig.auto_padding is False
    assert not five().is_padding_enabled()


def test_it_is_switched_on_for_the_process() -> None:
    DataProtoConfig.auto_padding = True

    assert five().is_padding_enabled()
    assert sizes(five(), 2) == [3, 2]


@pytest.mark.parametrize(("value", "on"), [("TRUE", True), ("true", True), ("1", True), ("0", False), ("", False)])
def test_the_environment_switches_it_on(monkeypatch: pytest.MonkeyPatch, value: str, on: bool) -> None:
    monkeypatch.setenv("VERL_AUTO_PADDING", value)

    assert DataProtoConfig.auto_padding is on
    assert five().is_padding_enabled() is on


def test_it_is_switched_on_for_one_batch_and_what_comes_from_it() -> None:
    meta = {"k": 1}
    data = five(meta_info=meta, auto_padding=True)
    single = DataProto.from_single_dict({"x": torch.arange(5), "c": np.arange(5)}, meta, True)

    assert data.meta_info == single.meta_info == {"k": 1, DataProtoConfig.auto_padding_key: True}
    assert meta == {"k": 1}
    assert data[:3].is_padding_enabled()
    assert sizes(data, 4) == sizes(single, 4) == [2, 1, 1, 1]
    assert not five(meta_info=meta).is_padding_enabled()


def test_without_it_parts_are_equal() -> None:
    with refuses(
        "chunk",
        "BP043 split  chunks  5 rows into 2 parts; parts of equal length; 1 of 5 rows would be left over: chunk(2, "
        "uneven=True), 1 pad rows, or another number of parts",
    ):
        five().chunk(2)


def test_a_batch_that_a_stage_is_handed_can_be_cut() -> None:
    """The setting is no field: looking for it is no undeclared read."""
    data = five(auto_padding=True)
    terms = HandOut({"x"}, (), (), {}, (), Withheld("s", ["x"], data.stores))

    handed = data._hand_out(terms)

    assert not handed.is_padding_enabled()
    assert sizes(handed, 5) == [1] * 5


def test_the_switch_is_a_bool() -> None:
    with function_refuses("DataProtoConfig.auto_padding", "BP045 store  auto_padding  int 1; True or False"):
        DataProtoConfig.auto_padding = 1  # type: ignore[assignment]
