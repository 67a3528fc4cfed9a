"""Where dumps go, and their bounds."""

from __future__ import annotations

import pytest

from batchpact.contracts.dump.place import DumpPlace, dump_place
from batchpact.contracts.settings import checking, current
from batchpact.schemas import SettingError


def test_without_a_folder_there_is_no_place() -> None:
    assert dump_place(None) is None
    assert dump_place("") is None


def test_a_folder_has_bounds() -> None:
    assert dump_place("dumps") == DumpPlace("dumps", files=10, mib=1024)


def test_the_bounds_are_the_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCHPACT_DUMP_LIMIT", "3")
    monkeypatch.setenv("BATCHPACT_DUMP_MIB", "64")

    assert dump_place("dumps") == DumpPlace("dumps", files=3, mib=64)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "", "³"])
def test_a_bound_is_a_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BATCHPACT_DUMP_LIMIT", text)

    with pytest.raises(SettingError) as caught:
        dump_place("dumps")

    assert str(caught.value) == (
        f"1 problem in the settings\n\n  BP052 setting  BATCHPACT_DUMP_LIMIT  {text!r}; a whole number, 1 or more"
    )


def test_a_block_has_a_place_and_inner_blocks_keep_it() -> None:
    with checking(dump="dumps"), checking("values"):
        assert current().dump == DumpPlace("dumps", 10, 1024)
        with checking(dump=""):
            assert current().dump is None
