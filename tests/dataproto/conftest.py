"""pytest shows what differs in the asserts of `support.py`, too."""

import pytest

pytest.register_assert_rewrite("tests.dataproto.support")
