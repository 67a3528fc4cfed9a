"""The configuration of a run on the lowest floor: what is in use, and where a path leads."""

from __future__ import annotations

from dataclasses import dataclass

from batchpact.schemas.configuration import ABSENT, config_in_use, config_value, look_up, use_config


@dataclass
class Data:
    extra: tuple[str, ...] = ("acc",)


def test_a_path_leads_through_mappings_and_attributes_and_calls_nothing() -> None:
    assert look_up({"data": Data()}, "data.extra") == ("acc",)
    assert look_up({"data": Data()}, "data.more") is ABSENT
    assert look_up({"data": Data()}, "data.__class__") is ABSENT


def test_the_innermost_block_counts_and_is_over_with_its_end() -> None:
    with use_config({"a": 1}):
        with use_config({"a": None}):
            assert config_value("a") is None
        assert config_value("a") == 1
    assert config_value("a") is ABSENT
    assert config_in_use() is None
    assert repr(ABSENT) == "ABSENT"
