"""What holds for all tests: where the example lies, how property tests choose, and a session of Ray that they share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.ray_sessions import shared_session

# The example is a package of its own; tests import it as its users do.
sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))

# pytest shows what differs in the asserts of these, too.
pytest.register_assert_rewrite("tests.dataproto.support")

# The same examples in every run: a change is judged by what it does, not by what a run happened to draw. Other ones
# are for the search of faults: `make explore`.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def _ray() -> Iterator[None]:
    """Whatever session of Ray is running at the end is ended."""
    ray = pytest.importorskip("ray")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def cluster(_ray: None) -> None:
    """A session of Ray with one CPU, which starts once for all modules that ask for it in a row.

    What a module starts in it, the module ends.
    """
    shared_session()
