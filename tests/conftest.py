"""What holds for all tests: where the example lies, and how property tests choose."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The example is a package of its own; tests import it as its users do.
sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))

# pytest shows what differs in the asserts of these, too.
pytest.register_assert_rewrite("tests.dataproto.support")

# The same examples in every run: a change is judged by what it does, not by what a run happened to draw. Other ones
# are for the search of faults: `make explore`.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("repeatable")
