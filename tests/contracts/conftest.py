"""Fixtures of the boundary tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from batchpact.contracts.reporting import reset_counts


@pytest.fixture
def fresh_counts() -> Iterator[None]:
    """Every violation is warned about once per process: here, once per test."""
    reset_counts()
    yield
    reset_counts()
