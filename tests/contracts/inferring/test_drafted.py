"""Names under which a class can hold a field."""

from __future__ import annotations

import pytest

from batchpact.contracts.inferring.drafted import Drafted, name_attributes, quoted


@pytest.mark.parametrize(
    ("key", "attribute"),
    [
        ("uid", "uid"),
        ("__num_turns__", "num_turns"),
        ("class", "class_"),
        ("copy", "copy_"),
        ("model_dump_x", "field_model_dump_x"),
        ("data-source", "data_source"),
        ("4x", "field_4x"),
        ("", "field"),
        ("list", "list_"),
        ("Name", "Name_"),
        ("ключ", "field"),
    ],
)
def test_the_attribute_of_a_key(key: str, attribute: str) -> None:
    drafted = Drafted(key, kinds=["Meta[int]"])
    name_attributes([drafted])

    assert drafted.attribute == attribute
    assert drafted.marks == ([] if key == attribute else [f'Name("{key}")'])


def test_no_field_hides_what_is_imported() -> None:
    """A field with a default is a value in the class: `torch = None` would hide the module from the fields below it."""
    keys = ("torch", "Meta", "datetime", "config", "torch_")
    fields = [Drafted(key, kinds=["Meta[int]"]) for key in keys]
    fields[0].imports |= {
        ("torch", ""),
        ("batchpact.schemas", "Meta"),
        ("datetime", ""),
        ("batchpact.schemas", "config"),
    }
    name_attributes(fields)

    assert [field.attribute for field in fields] == ["torch__", "Meta_", "datetime_", "config_", "torch_"]


def test_two_keys_never_share_an_attribute() -> None:
    fields = [Drafted(key, kinds=["Meta[int]"]) for key in ("a-b", "a b", "a_b")]
    name_attributes(fields)

    assert [field.attribute for field in fields] == ["a_b_", "a_b__", "a_b"]


@pytest.mark.parametrize(("text", "source"), [("a", '"a"'), ('a"b', "'a\"b'"), ("a'b", '"a\'b"'), ("\n", '"\\n"')])
def test_a_text_as_source(text: str, source: str) -> None:
    assert quoted(text) == source
