"""The example is a package of its own; tests import it as its users do, from `docs/examples`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))

# pytest shows what differs in the asserts of these, too.
pytest.register_assert_rewrite("tests.dataproto.support")
