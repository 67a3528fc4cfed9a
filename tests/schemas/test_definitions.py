"""What users define is named without the functions around it and described by its first paragraph."""

import pytest

from batchpact.schemas.definitions import first_paragraph, qualified_name, without_locals


def test_the_functions_around_a_definition_are_named_without_their_mark() -> None:
    class Inner:
        def method(self) -> None: ...

    here = "test_the_functions_around_a_definition_are_named_without_their_mark"
    assert without_locals(Inner.__qualname__) == f"{here}.Inner"
    assert qualified_name(Inner) == f"{__name__}.{here}.Inner"
    assert qualified_name(Inner.method) == f"{__name__}.{here}.Inner.method"


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("\n    Over\n    two lines.\n\n    More.\n", "Over two lines."),
        ("First.\n    \n    An indented blank line divides, too.", "First."),
    ],
)
def test_the_first_paragraph_is_one_line(doc: str | None, expected: str) -> None:
    assert first_paragraph(doc) == expected
