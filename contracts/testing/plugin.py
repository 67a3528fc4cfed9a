"""The pytest plugin: `pytest --batchpact` has a test for each contract of a project and each thing that is checked.

pytest imports this module in every run, so nothing here imports torch before somebody asks for contracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from batchpact.contracts.testing.overrides import Given
    from batchpact.dataproto import DataProto
    from batchpact.schemas import BatchSchema


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of the command line, and that of the file."""
    parser.getgroup("batchpact", "data contracts (batchpact)").addoption(
        "--batchpact",
        action="append",
        nargs="?",
        const="",
        default=[],
        metavar="TARGET",
        help="test the contracts of a target as well: module, module:name or path.py:name; may be given several times; "
        "without a target, those of [tool.batchpact] in pyproject.toml",
    )
    parser.addini(
        "batchpact", "test the contracts of [tool.batchpact] in pyproject.toml in every run", type="bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker by which the tests of contracts are chosen, or left out."""
    config.addinivalue_line("markers", "batchpact: tests a contract (pytest --batchpact -m batchpact: these alone)")


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests of contracts behind the project's own."""
    asked: list[str] = config.getoption("--batchpact") or []
    if not asked and not config.getini("batchpact"):
        return
    from batchpact.contracts.testing.collecting import Contracts

    targets = [target for target in asked if target]
    collector = Contracts.from_parent(session, name="batchpact", nodeid="batchpact", targets=targets)
    # As pytest collects a file: what fails is told as an error of the collection.
    report = collector.ihook.pytest_make_collect_report(collector=collector)
    collector.ihook.pytest_collectreport(report=report)
    items += report.result or []


class SampleOf(Protocol):
    """What the fixture `batchpact_sample` gives."""

    def __call__(
        self,
        schema: type[BatchSchema],
        batch: int | None = None,
        *,
        dims: Mapping[str, int] | None = None,
        overrides: Given | None = None,
    ) -> DataProto:
        """`batchpact.contracts.testing.sample`, with the seed of the test."""
        ...


@pytest.fixture
def batchpact_sample(request: pytest.FixtureRequest) -> SampleOf:
    """`batchpact.contracts.testing.sample`, with a seed that comes from the name of the test."""
    from batchpact.contracts.testing.sampler import sample

    seed = crc32(request.node.name.encode())

    def drawn(
        schema: type[BatchSchema],
        batch: int | None = None,
        *,
        dims: Mapping[str, int] | None = None,
        overrides: Given | None = None,
    ) -> DataProto:
        return sample(schema, batch, dims=dims, seed=seed, overrides=overrides)

    return drawn
