"""A field as it may be declared, and the names that Python and pydantic can hold it under."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from batchpact.schemas.batch import BatchSchema

SCHEMAS = "batchpact.schemas"
_IN_SOURCE = {"Annotated", "Name", "bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
"""Names that annotations use beside what they import: a field of such a name would hide it from those below."""


@dataclass
class Drafted:
    """A field as it may be declared.

    Attributes:
        key: its key in the batch.
        attribute: its name in the class.
        named: whether its type says its key.
        kinds: its types, one of which a value has; none where no field can be declared.
        dims: the names in its shape, but for the batch axis.
        marks: what stands beside the type in `Annotated`.
        optional: whether it may be absent.
        default: the source of its default; None for one that may be absent and has no other.
        comments: what is uncertain, one after the other.
        imports: what its source needs, as pairs of module and name; without a name, the module itself.
    """

    key: str
    attribute: str = ""
    named: bool = False
    kinds: list[str] = field(default_factory=list)
    dims: set[str] = field(default_factory=set)
    marks: list[str] = field(default_factory=list)
    optional: bool = False
    default: str = ""
    comments: list[str] = field(default_factory=list)
    imports: set[tuple[str, str]] = field(default_factory=set)

    @property
    def uncertain(self) -> bool:
        """Whether the field may be absent, always or under a condition."""
        return self.optional or any(mark.startswith("When(") for mark in self.marks)

    def kind(self, text: str, *imports: tuple[str, str]) -> None:
        """Add a type."""
        self.kinds.append(text)
        self.imports.update(imports)

    def mark(self, text: str) -> None:
        """Put a marker of `batchpact.schemas` beside the type."""
        self.marks.append(text)
        self.imports.update([(SCHEMAS, text.partition("(")[0]), ("typing", "Annotated")])


def name_attributes(fields: Iterable[Drafted]) -> None:
    """Give each field a name in the class, and a `Name` where this is not its key."""
    fields = [field for field in fields if field.kinds]
    used = _IN_SOURCE.union(name or module.partition(".")[0] for field in fields for module, name in field.imports)
    plain = {field.key for field in fields if _is_attribute(field.key)} - used
    taken = plain | used
    for drafted in fields:
        if drafted.key in plain:
            drafted.attribute = drafted.key
            continue
        name = _attribute(drafted.key)
        while name in taken:
            name += "_"
        taken.add(name)
        drafted.attribute = name
        if not drafted.named:
            drafted.mark(f"Name({quoted(drafted.key)})")


def quoted(text: str) -> str:
    """A text as source, in the quotes that formatters prefer."""
    shown = repr(text)
    return shown if '"' in text or shown[0] == '"' else f'"{shown[1:-1]}"'


def plain_source(value: object) -> str:
    """A number, a text, a truth or None as source."""
    return quoted(value) if isinstance(value, str) else repr(value)


def _is_attribute(key: str) -> bool:
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", key) is not None and not keyword.iskeyword(key)
    return plain and not hasattr(BatchSchema, key) and not key.startswith("model_")


def _attribute(key: str) -> str:
    """A name that is as near to the key as a name can be."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", key).strip("_")
    name = name if name[:1].isalpha() and not name.startswith("model_") else f"field_{name}".rstrip("_")
    return name if _is_attribute(name) else f"{name}_"
