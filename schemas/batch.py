"""`BatchSchema`: the pydantic model in which a stage lists the fields that it reads or writes."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, get_origin

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError
from typing_extensions import Self, dataclass_transform

from batchpact.schemas.columns import named_by
from batchpact.schemas.compiled import Compiled, compile_schema
from batchpact.schemas.definitions import without_locals
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    from batchpact.schemas.row_check import Row, RowLevel
else:
    ModelMetaclass = type(BaseModel)


class Looked(Protocol):
    """What is told when somebody looks for a name that an instance does not have."""

    def look(self, name: object) -> object:
        """Raise where the name was withheld, or report it and return its value; None where it is simply not there."""


WITHHELD = "__batchpact_withheld__"
"""Where an instance that a stage was handed keeps the names that were not handed out."""


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, named_by))
class _SchemaMeta(ModelMetaclass):
    """Looks at the names before pydantic does: it drops some of them and only warns about others."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any
    ) -> type:  # pydantic's metaclass leaves the type open, too
        parents = [base for base in bases if isinstance(base, _SchemaMeta)]
        if parents:
            _refuse_names(name, parents[0], namespace)
            # Left alone, pydantic would take this function for the one around the class statement.
            namespace["__pydantic_parent_namespace__"] = _enclosing_names(namespace)
            kwargs["__pydantic_reset_parent_namespace__"] = False
        try:
            cls: Any = super().__new__(mcs, name, bases, namespace, **kwargs)
        except DeclarationError:
            raise
        except (PydanticUserError, SyntaxError, TypeError, ValueError) as error:
            raise _wrong(namespace.get("__qualname__", name), [(name, str(error).partition("\n")[0], "")]) from error
        cls.__pydantic_parent_namespace__ = None  # or the names would live as long as the class
        return cls  # type: ignore[no-any-return]


class BatchSchema(BaseModel, metaclass=_SchemaMeta):
    """Fields with their placement, dtype and shape.

    A subclass lists one field per annotation. It is compiled when the class is made, and every mistake in it is
    reported then. An instance holds values under the names of the fields; constructing one checks and converts
    nothing, the boundaries of stages do.

    Raises:
        DeclarationError: when a subclass is declared wrongly.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    __batchpact__: ClassVar[Compiled]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if not cls.__pydantic_fields_complete__:
            raise _unresolved(cls)
        compiled = compile_schema(cls)
        if isinstance(compiled, list):
            raise _wrong(cls.__qualname__, [(name, text, "") for name, text in compiled])
        cls.__batchpact__ = compiled

    @classmethod
    def check_row(cls, row: Row, *, level: RowLevel = "structure") -> None:
        """Check one row where it is born, before it becomes part of a batch.

        Args:
            row: values by the keys of the fields. A tensor has no batch axis and is dense, also where the batch is
                jagged; a column has its one object; meta may be there or not. None in an optional field says that the
                row has no value.
            level: `"values"` asks the rules on values, too, and reads them.

        Raises:
            ContractError: with everything that is wrong, and the key or the group of the row.
        """
        from batchpact.schemas.row_check import check_row  # here, as it works on a schema class that is made

        check_row(cls, row, level)

    @classmethod
    def collate(cls, rows: Iterable[Row], *, dims: Mapping[str, int] | None = None, pad: bool = False) -> Self:
        """Make an instance of single rows, each as `check_row` takes it.

        Dtype, layout and the fields that there are follow from the schema, so they do not depend on the order of the
        rows, on whether their lengths happen to be equal, or on how many there are. Meta is merged by its `Merge`;
        required meta that no row has is left for the caller to set.

        Args:
            rows: the rows; none of them is changed.
            dims: sizes that dims must have. Without rows, a dim that is not given has size 0.
            pad: make rows equally long, or as long as `dims` say, in the fields that declare `Pad`.

        Returns:
            An instance with the rows in their order: `[batch, ...]` tensors, columns of objects, one value for meta.

        Raises:
            ContractError: naming the rows that do not keep to the schema; or the fields that only some of them have
                and that have no `Fill`, and tensors whose rows do not fit together.
        """
        from batchpact.schemas.collating import collate  # here, as it works on a schema class that is made

        return collate(cls, rows, dims or {}, pad=pad)

    if not TYPE_CHECKING:  # checkers see the constructor of the fields, and refuse attributes that are none

        def __init__(self, /, **values: Any) -> None:
            fill(self, {**type(self).__batchpact__.new_defaults(), **values})

        def __getattr__(self, name: str) -> object:
            withheld = self.__dict__.get(WITHHELD)
            if withheld is not None and (found := withheld.look(name)) is not None:
                return found
            declared = name in type(self).__batchpact__.names
            what = "was made without" if declared else "declares no field"
            raise AttributeError(f"{type(self).__qualname__} {what} {name!r}")

        def __setattr__(self, name: str, value: object) -> None:
            compiled = type(self).__batchpact__
            if name not in compiled.names and compiled.spec.extra != "allow":
                raise AttributeError(f"{type(self).__qualname__} declares no field {name!r}")
            self.__dict__[name] = value

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={describe(value)}" for name, value in self.__dict__.items() if name != WITHHELD)
        return f"{type(self).__qualname__}({fields})"

    __str__ = __repr__


def fill(instance: BatchSchema, values: dict[str, Any]) -> None:
    """Give an instance its values as they are, which is all that constructing one does."""
    object.__setattr__(instance, "__dict__", values)
    object.__setattr__(instance, "__pydantic_fields_set__", type(instance).__batchpact__.names)
    object.__setattr__(instance, "__pydantic_extra__", None)
    object.__setattr__(instance, "__pydantic_private__", None)


def _refuse_names(name: str, parent: type, namespace: Mapping[str, Any]) -> None:
    """Refuse names that Python or pydantic cannot hold, and values where a type belongs."""
    annotated: Mapping[str, object] = namespace.get("__annotations__", {})
    own = set(getattr(parent, "model_fields", {}))
    problems = []
    for field in annotated:
        if field.startswith("_"):
            problems.append((field, "names with leading underscores are private and would vanish", field))
        elif field not in own and hasattr(parent, field):
            owner = "a schema" if field in ("check_row", "collate") else "pydantic"
            problems.append((field, f"{owner} has an attribute of this name", field))
    for field, value in namespace.items():
        if not field.startswith("_") and field not in annotated and field != "model_config" and _is_type_like(value):
            problems.append((field, "'=' where ':' belongs? A field is an annotation", ""))
    if problems:
        raise _wrong(
            namespace.get("__qualname__", name),
            [
                (
                    field,
                    text,
                    f'choose a name such as {field.strip("_") + "_"} and mark it Name("{key}")' if key else "",
                )
                for field, text, key in problems
            ],
        )


def _is_type_like(value: object) -> bool:
    is_schema_code = isinstance(value, (types.FunctionType, classmethod, staticmethod, property))
    return not is_schema_code and (isinstance(value, type) or get_origin(value) is not None)


def _wrong(qualname: str, problems: list[tuple[str, str, str]]) -> DeclarationError:
    found = [Violation(code="BP051", field=field, actual=text, hint=hint) for field, text, hint in problems]
    return DeclarationError(f"in the declaration of {without_locals(qualname)}", found)


def _unresolved(cls: type[BatchSchema]) -> DeclarationError:
    """What pydantic says of an annotation with a name that is nowhere around the class statement."""
    text = "its name is nowhere"
    try:
        cls.model_rebuild(force=True, raise_errors=True, _types_namespace={})
    except (NameError, PydanticUserError) as error:
        text = str(error).partition("\n")[0]
    return _wrong(cls.__qualname__, [(cls.__name__, f"an annotation cannot be resolved: {text}", "")])


def _enclosing_names(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The names around a class statement, the innermost last: only the frames that enclose it in the source."""
    module, qualname = namespace.get("__module__"), namespace.get("__qualname__", "")
    parts = [part for part in qualname.split(".") if part != "<locals>"][:-1]
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    found: list[Mapping[str, Any]] = []
    while frame is not None and parts and frame.f_code.co_name == parts.pop():
        found.append(frame.f_locals)
        frame = frame.f_back
    names: dict[str, Any] = {}
    for scope in reversed(found):
        names.update(scope)
    return names
