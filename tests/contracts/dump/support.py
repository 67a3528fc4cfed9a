"""What the tests of dumps share: calls that break a contract, and their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from batchpact.contracts.dump.loading import Dump
from batchpact.schemas import ContractError


def broken(call: Callable[[], object]) -> ContractError:
    """The error that a call raises."""
    with pytest.raises(ContractError) as caught:
        call()
    return caught.value


def files(folder: Path) -> list[Path]:
    """The dumps in a folder, which holds nothing else."""
    return sorted(folder.iterdir()) if folder.exists() else []


def only_dump(folder: Path) -> Dump:
    """The one dump in a folder."""
    (path,) = files(folder)
    return Dump.load(path)


def without_note(error: ContractError) -> str:
    """The message without the line about the file."""
    return str(error).removesuffix(f"\n\n  {error.note}")
