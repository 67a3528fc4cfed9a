"""Source as formatters leave it."""

from __future__ import annotations

from batchpact.contracts.inferring.drafted import Drafted
from batchpact.contracts.inferring.source import docstring, imports_source, schema_source


def test_imports_are_sorted_and_wrapped() -> None:
    pairs = {("typing", "Any"), ("numpy", ""), ("jaxtyping", "Int64"), ("jaxtyping", "Int8"), ("a.b", "tags")}
    long = {("batchpact.schemas.rl.fields", f"AVeryLongNameOfAField{number}") for number in range(3)}

    assert imports_source(pairs | {("a.b", "Zeta")} | long) == [
        "from typing import Any",
        "",
        "import numpy",
        "from a.b import Zeta, tags",
        "from batchpact.schemas.rl.fields import (",
        "    AVeryLongNameOfAField0,",
        "    AVeryLongNameOfAField1,",
        "    AVeryLongNameOfAField2,",
        ")",
        "from jaxtyping import Int8, Int64",
    ]
    assert imports_source([("numpy", "")]) == ["import numpy"]


def test_a_class_without_fields_passes() -> None:
    assert schema_source("Empty", "", []) == ["class Empty(BatchSchema):", "    pass"]


def test_a_long_docstring_is_wrapped() -> None:
    assert docstring("word " * 20, "    ") == [
        '    """word word word word word word word word word word word word word word word',
        "    word word word word word",
        '    """',
        "",
    ]


def test_a_long_comment_stands_above() -> None:
    field = Drafted("x", "x", kinds=["Meta[int]"], comments=["word " * 20, "short"])

    assert schema_source("S", "", [field], "  ")[1:] == [
        "      # word word word word word word word word word word word word word word word word",
        "      # word word word word",
        "      # short",
        "      x: Meta[int]",
    ]
