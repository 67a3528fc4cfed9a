"""Open columns: columns whose names stand in meta or in the configuration, and what says them.

    class Reads(BatchSchema):
        scores: Columns[NonTensor[float]] = named_by(meta("reward_extra_keys"))

A schema knows what each of these columns is, and not what they are called. Once a call says that, `narrowing.py` makes
plain fields of them; an instance holds them as one mapping from names to columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.configuration import ABSENT, config_value
from batchpact.schemas.declared import source_words
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.schemas.batch import Looked
    from batchpact.schemas.conditions import Subject

T = TypeVar("T")

Names: TypeAlias = "tuple[str, ...] | Violation"
"""The names of open columns, or why nobody can tell them."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The mark inside `Columns`; written by this alias only."""


Columns = Annotated[Mapping[str, T], Opened()]
"""Columns that are all alike, each by its name: a mapping for type checkers. `named_by` says where the names stand."""


@dataclass(frozen=True, slots=True)
class NamedBy:
    """What `named_by` makes. It stands where a default would, and is judged with the rest of the declaration."""

    subject: object
    optional: bool


def named_by(subject: Subject, *, optional: bool = False) -> Any:
    """Say where the names of `Columns[...]` stand.

    Args:
        subject: `meta("reward_extra_keys")` or `config("data.extra_columns")`: a list of names. With a `default=[]`
            there are no such columns where nobody names any; without one, names that are not there are an error.
        optional: whether columns that are named may be absent.
    """
    return NamedBy(subject, optional)


def column_key(name: str) -> str:
    """What the record calls the open columns of an attribute, as they have no one key."""
    return f"{name}[*]"


def field_name(name: str, key: str) -> str:
    """The name of the field that one of the open columns is, once its key is known; no attribute can have it."""
    return f"{name}[{key!r}]"


def names_in(
    schema: SchemaSpec, columns: Iterable[FieldSpec], look_up: Callable[[SubjectSpec], object]
) -> dict[str, Names]:
    """The names of open columns, by their attributes.

    Args:
        schema: the schema that declares them; no name may be one of its own.
        columns: those of its open columns that are asked about.
        look_up: the value that a source of names has; None where it has none.
    """
    taken = {field.key: f"the field {field.name}" for field in schema.fields}
    found: dict[str, Names] = {}
    for column in columns:
        subject = column.named_by
        if subject is None:
            continue
        names = _names(column, subject, look_up(subject))
        if not isinstance(names, Violation):
            clash = next((name for name in names if name in taken), None)
            if clash is None:
                taken.update(dict.fromkeys(names, f"one of the columns {column.name}"))
            else:
                names = _wrong(
                    column,
                    f"{source_words(subject)} names {clash!r}, and that is {taken[clash]}",
                    "a name is declared once",
                    f"take {clash} out of the names, or out of what is declared beside them",
                )
        found[column.name] = names
    return found


def look_up_names(meta: Mapping[str, object], subject: SubjectSpec) -> object:
    """What a source of names holds, as a batch with this meta and the configuration in use say it."""
    value = meta.get(subject.name, ABSENT) if subject.source == "meta" else config_value(subject.name)
    return subject.default if value is ABSENT else value


def _names(column: FieldSpec, subject: SubjectSpec, value: object) -> Names:
    source = source_words(subject)
    if value is None:
        way = "write it before" if subject.source == "meta" else f"set {subject.name}"
        hint = f'{way}; named_by({subject.source}("{subject.name}", default=[])) is for names that may be missing'
        return _wrong(column, f"{source} is not there", "it names these columns", hint)
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        hint = f"write [{value!r}]" if isinstance(value, str) else ""
        return _wrong(column, f"{source} is {describe(value)}", "a list of names", hint)
    names = list(value)
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None or None in names:
        return _wrong(column, f"{source} holds {describe(wrong)}", "a name is a text", "")
    return tuple(dict.fromkeys(map(str, sorted(names) if isinstance(value, (set, frozenset)) else names)))


def _wrong(column: FieldSpec, actual: str, expected: str, hint: str) -> Violation:
    return Violation(code="BP056", field=column.name, actual=actual, expected=expected, hint=hint)


def by_name(owner: str, column: FieldSpec, value: object, taken: Collection[str]) -> Mapping[str, object]:
    """The columns that an instance holds under one attribute.

    Args:
        owner: the class of the instance, for the message.
        column: the open columns of this attribute.
        value: what stands there.
        taken: the keys that other fields have.

    Raises:
        ContractError: if these are no columns by name, or one has the key of another field.
    """
    if not isinstance(value, Mapping):
        wrong = [_wrong(column, f"it holds {describe(value)}", "a mapping from names to columns", "")]
    else:
        wrong = [
            _wrong(column, f"it holds the name {name!r}", "a name is a text", "")
            if not isinstance(name, str)
            else _wrong(column, f"it holds {name!r}, which is a field of its own", "a name is there once", "")
            for name in value
            if not isinstance(name, str) or name in taken
        ]
    if wrong or not isinstance(value, Mapping):
        raise ContractError(f"in an instance of {without_locals(owner)}", wrong)
    return value


class NamedColumns(Mapping[str, Any]):
    """The open columns of an instance that a stage was handed: a plain mapping, but for names that were withheld.

    Args:
        columns: the columns by name.
        withheld: what is told of a name that is not there.
    """

    __slots__ = ("_columns", "_withheld")

    def __init__(self, columns: Mapping[str, object], withheld: Looked | None) -> None:
        self._columns = columns
        self._withheld = withheld

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        found = name in self._columns
        if not found and self._withheld is not None:
            self._withheld.look(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The column of this name; `default` where it is not there."""
        return self._columns[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: {describe(value)}" for name, value in self._columns.items()) + "}"

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self._columns),)
