"""`StageSchema`: what a stage reads, what it writes, and what it does to the batch axis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.plan import binds_dim
from batchpact.schemas.record import Layout, RowsSpec, SchemaSpec, StageSpec
from batchpact.schemas.shapes import Dim, parse_dims
from batchpact.schemas.text import join_names, quoted
from batchpact.schemas.violations import Violation


@dataclass(frozen=True, slots=True)
class Repeat:
    """Every input row gives `times` output rows: a number, or a path into the configuration such as `"rollout.n"`."""

    times: int | str


Rows: TypeAlias = Literal["same", "permute", "select", "new"]
_ROWS: tuple[str, ...] = get_args(Rows)
_LAYOUTS: tuple[str, ...] = get_args(Layout)


class NoFields(BatchSchema):
    """A schema without fields: what a stage reads or writes where it says nothing."""


class StageSchema:
    """Bundles `Reads` and `Writes` with the facts of a stage. Never instantiated.

    Attributes:
        rows: what happens to the batch axis: `"same"`, `"permute"`, `"select"` (any choice of input rows, also several
            times), `Repeat(n)`, or `"new"`.
        drops: keys that are gone from the batch afterwards.
        pad_safe: whether rows that are marked as padding may come in.
        graph: `"allow"` where results may carry an autograd graph (losses).
        layouts: the layouts that the stage works on.

    A class nested under the name `Reads` or `Writes` lists the fields. Everything is checked when the class is made.

    Raises:
        DeclarationError: when a subclass is declared wrongly.
    """

    rows: ClassVar[Rows | Repeat] = "same"
    drops: ClassVar[tuple[str, ...]] = ()
    pad_safe: ClassVar[bool] = False
    graph: ClassVar[Literal["refuse", "allow"]] = "refuse"
    layouts: ClassVar[tuple[Layout, ...]] = ("dense", "jagged")

    __batchpact__: ClassVar[StageSpec]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__batchpact__ = _compile(cls)

    def __init__(self) -> None:
        raise TypeError(
            f"{type(self).__qualname__} is a declaration; @stage({type(self).__qualname__}) makes a stage of it"
        )


def reads_of(stage: type[StageSchema]) -> type[BatchSchema]:
    """The schema of what a stage reads; one without fields where the stage declares none."""
    found = getattr(stage, "Reads", NoFields)
    return found if isinstance(found, type) and issubclass(found, BatchSchema) else NoFields


def writes_of(stage: type[StageSchema]) -> type[BatchSchema]:
    """The schema of what a stage writes; one without fields where the stage declares none."""
    found = getattr(stage, "Writes", NoFields)
    return found if isinstance(found, type) and issubclass(found, BatchSchema) else NoFields


def snake_case(name: str) -> str:
    """`KlInReward` is `kl_in_reward`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def stage_spec(
    name: str,
    qualname: str,
    description: str,
    reads: type[BatchSchema],
    writes: type[BatchSchema],
    facts: type[StageSchema] = StageSchema,
) -> StageSpec:
    """The record of a stage, from its two schemas and a class with its facts."""
    rows = facts.rows
    kind = RowsSpec(kind="repeat", times=rows.times) if isinstance(rows, Repeat) else RowsSpec(kind=rows)
    return StageSpec(
        name=name,
        qualname=qualname,
        description=description,
        reads=reads.__batchpact__.spec,
        writes=writes.__batchpact__.spec,
        rows=kind,
        drops=facts.drops,
        pad_safe=facts.pad_safe,
        graph=facts.graph,
        layouts=facts.layouts,
    )


def _compile(cls: type[StageSchema]) -> StageSpec:
    problems = [*_wrong_facts(cls), *_wrong_schemas(cls)]
    reads, writes = reads_of(cls), writes_of(cls)
    if not problems:
        problems = [*_wrong_writes(cls, reads.__batchpact__.spec, writes.__batchpact__.spec)]
    if problems:
        found = [Violation(code="BP051", field=field, actual=text) for field, text in problems]
        raise DeclarationError(f"in the declaration of {cls.__qualname__.replace('<locals>.', '')}", found)
    doc = " ".join((cls.__doc__ or "").strip().partition("\n\n")[0].split()) if "__doc__" in cls.__dict__ else ""
    qualname = f"{cls.__module__}.{cls.__qualname__.replace('<locals>.', '')}"
    return stage_spec(snake_case(cls.__name__), qualname, doc, reads, writes, cls)


def _wrong_schemas(cls: type[StageSchema]) -> list[tuple[str, str]]:
    problems = []
    for name in ("Reads", "Writes"):
        value = getattr(cls, name, NoFields)
        if isinstance(value, BatchSchema):
            problems.append((name, "an instance where a class belongs"))
        elif not (isinstance(value, type) and issubclass(value, BatchSchema)):
            problems.append((name, f"it must derive from BatchSchema, as in class {name}(BatchSchema): ..."))
    for name, value in vars(cls).items():
        misspelt = name not in ("Reads", "Writes") and name.lower().rstrip("s") in ("read", "write")
        if misspelt and isinstance(value, type) and issubclass(value, BatchSchema):
            problems.append((name, "a stage has Reads and Writes; a misspelt name would be ignored"))
    return problems


def _wrong_facts(cls: type[StageSchema]) -> list[tuple[str, str]]:
    problems = []
    rows: object = cls.rows
    if rows is Repeat:
        problems.append(("rows", "Repeat is a class where an instance belongs: Repeat(4) or Repeat('rollout.n')"))
    elif isinstance(rows, tuple):
        problems.append(("rows", f"a tuple where one value belongs, {rows!r}: a trailing comma?"))
    elif isinstance(rows, Repeat):
        times: object = rows.times
        if isinstance(times, bool) or not isinstance(times, (int, str)):
            problems.append(("rows", f"Repeat({times!r}): times is a number of rows or a path into the configuration"))
        elif isinstance(times, int) and times < 1:
            problems.append(("rows", f"Repeat({times!r}) gives no rows; times is 1 or more"))
    elif rows not in _ROWS:
        problems.append(("rows", f"{rows!r} is not known; {join_names([*map(repr, _ROWS), 'Repeat(n)'])} are"))
    drops: object = cls.drops
    if isinstance(drops, str):
        problems.append(("drops", f"a string where a tuple belongs: drops = ({drops!r},) has a comma"))
    elif not isinstance(drops, tuple) or not all(isinstance(key, str) for key in drops):
        problems.append(("drops", "it is a tuple of keys"))
    pad_safe: object = cls.pad_safe
    if not isinstance(pad_safe, bool):
        problems.append(("pad_safe", f"{pad_safe!r} is no bool"))
    if cls.graph not in ("refuse", "allow"):
        problems.append(("graph", f"{cls.graph!r} is not known; 'refuse' and 'allow' are"))
    layouts: object = cls.layouts
    if not isinstance(layouts, tuple) or not layouts or not all(layout in _LAYOUTS for layout in layouts):
        problems.append(("layouts", f"it is a tuple of {quoted(_LAYOUTS)}"))
    return problems


def _wrong_writes(cls: type[StageSchema], reads: SchemaSpec, writes: SchemaSpec) -> list[tuple[str, str]]:
    problems = []
    for field in writes.fields:
        if any(place.placement == "arg" for place in field.places):
            problems.append(
                (field.name, "an argument goes with a call and never enters the batch; Writes cannot have one")
            )
    for key in cls.drops:
        if writes.field(key) is not None:
            problems.append(("drops", f"{key!r} is written and dropped at once"))
    if cls.rows == "same" and reads.axis and writes.axis and reads.axis != writes.axis:
        problems.append(
            (
                "Writes",
                f"axis 0 is {writes.axis!r} and {reads.axis!r} in Reads, but the rows are the same; say what rows does",
            )
        )
    for field in (*reads.fields, *writes.fields):
        for place in field.places:
            if place.layout is not None and place.layout not in cls.layouts:
                problems.append((field.name, f"it is {place.layout} and the stage's layouts are {quoted(cls.layouts)}"))
    return problems + _unbound_dims(reads, writes)


def _unbound_dims(reads: SchemaSpec, writes: SchemaSpec) -> list[tuple[str, str]]:
    """Expressions that cannot be computed: nothing binds two of their names, or one that does not stand alone."""
    bound: set[str] = set()
    used: list[tuple[str, Dim]] = []
    for field in (*reads.fields, *writes.fields):
        if binds_dim(field):
            bound.add(field.key)
        for place in field.places:
            for dim in parse_dims(place.dims or ""):
                if dim.kind == "name" and dim.name is not None:
                    bound.add(dim.name)
                elif dim.expression is not None:
                    used.append((field.name, dim))
    problems = []
    for name, dim in used:
        expression = dim.expression
        if expression is None:
            continue
        unbound = [part for part in dict.fromkeys(expression.names()) if part not in bound]
        if len(unbound) > 1 or (unbound and not expression.isolates(unbound[0])):
            problems.append((name, f"nothing binds {quoted(unbound)} in {dim.text!r}"))
    return problems
