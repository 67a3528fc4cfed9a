"""The page of policies."""

from __future__ import annotations

from tests.contracts.reference.markdown.test_fields import section
from tests.contracts.reference.small import odd_project


def test_policies_are_a_table_of_those_fields_that_have_some() -> None:
    lines = section(odd_project(), "field-metrics", "policies.md")
    assert lines == [
        "<metrics> | a key: no two rows have the same | merged by close (rtol=0.1) | padded with 0 on the left | "
        "filled with -1 in rows that do not have it | <loose> and <Alone> |",
        "| ",
    ]
