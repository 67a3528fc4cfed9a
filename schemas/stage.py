"""`StageSchema`: what a stage reads, what it writes, and what it does to the batch axis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import new_class
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, get_args

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.definitions import first_paragraph, qualified_name, without_locals
from batchpact.schemas.dim_names import bound_names
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.names import closest
from batchpact.schemas.record import FieldSpec, Layout, RowsSpec, SchemaSpec, StageSpec
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.text import join_names, quoted
from batchpact.schemas.violations import Violation


@dataclass(frozen=True, slots=True)
class Repeat:
    """Every input row gives `times` output rows: a number, or a path into the configuration such as `"rollout.n"`."""

    times: int | str


Rows: TypeAlias = Literal["same", "permute", "select", "new"]
_ROWS: tuple[str, ...] = get_args(Rows)
_LAYOUTS: tuple[str, ...] = get_args(Layout)
FACTS = ("rows", "drops", "pad_safe", "graph", "layouts")
"""What a stage says beside its Reads and Writes."""
_OWNER = "__batchpact_owner__"
"""Where a Reads keeps the stage that was the first to have it."""


B = TypeVar("B")


class OpensBlocks(Protocol):
    """What `StageSchema.on` does."""

    def __call__(self, stage: type[StageSchema], batch: B, args: Mapping[str, Any], /) -> AbstractContextManager[B]:
        """Put the statements of a block under a contract."""
        ...


_opens_blocks: list[OpensBlocks] = []


def blocks_are_opened_by(opens: OpensBlocks) -> None:
    """Say what `StageSchema.on` does. Boundaries stand on a floor above this one, which says it when it is imported."""
    _opens_blocks[:] = [opens]


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
        _own_reads(cls)
        cls.__batchpact__ = _compile(cls)

    @classmethod
    def on(cls, batch: B, /, **args: Any) -> AbstractContextManager[B]:
        """Put the statements of a block under this contract, as if they were a stage.

            with SetScores.on(batch):
                batch.batch["token_level_scores"] = reward

        The reads are checked when the block begins. Inside it a `DataProto`, ours or verl's, holds what is declared and
        nothing else, and a look at any other field of it is refused; a `TensorDict` stays as it is. When the block
        ends, what is new or changed is checked as the result of a stage is, and then set in the batch; `drops` leave
        it. Where anything is wrong, and where the block raises, the batch is what it was before.

        Args:
            batch: our `DataProto`, verl's, or a `TensorDict`.
            args: arguments of the contract; they stand in the meta of the batch for the length of the block.

        Raises:
            ContractError: when the block begins or ends, with everything that is wrong.
            ImportError: if nothing of `batchpact.contracts` that has boundaries was imported.
        """
        if not _opens_blocks:
            raise ImportError(f"{cls.__name__}.on needs the boundaries: from batchpact.contracts import stage")
        return _opens_blocks[0](cls, batch, args)

    def __init__(self) -> None:
        raise TypeError(
            f"{type(self).__qualname__} is a declaration; @stage({type(self).__qualname__}) makes a stage of it"
        )


def reads_of(stage: type[StageSchema]) -> type[BatchSchema]:
    """The schema of what a stage reads; one without fields where the stage declares none."""
    return _nested_schema(stage, "Reads")


def writes_of(stage: type[StageSchema]) -> type[BatchSchema]:
    """The schema of what a stage writes; one without fields where the stage declares none."""
    return _nested_schema(stage, "Writes")


def _nested_schema(stage: type[StageSchema], name: str) -> type[BatchSchema]:
    found = getattr(stage, name, NoFields)
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
        raise DeclarationError(f"in the declaration of {without_locals(cls.__qualname__)}", found)
    description = first_paragraph(cls.__dict__.get("__doc__"))  # an inherited one does not count
    return stage_spec(snake_case(cls.__name__), qualified_name(cls), description, reads, writes, cls)


def _own_reads(cls: type[StageSchema]) -> None:
    """Give a stage that takes over the Reads of another, and differs in a fact, a Reads of its own.

    A signature names a stage by its Reads, and `Base.Reads` has to be another class than `Heir.Reads` then.
    """
    reads = reads_of(cls)
    owner = vars(reads).get(_OWNER)
    if reads is NoFields or (owner is not None and all(getattr(cls, fact) == getattr(owner, fact) for fact in FACTS)):
        return
    if owner is not None:
        body = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Reads", "__doc__": reads.__doc__}
        reads = new_class("Reads", (reads,), exec_body=lambda namespace: namespace.update(body))
        cls.Reads = reads  # type: ignore[attr-defined]  # stages declare it by nesting a class
    setattr(reads, _OWNER, cls)


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
        elif name not in FACTS and not name.startswith("_") and not callable(value):
            fact = closest(name, FACTS)
            if fact is not None:
                problems.append((name, f"{fact} belongs there? A misspelt fact would be ignored"))
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
        if isinstance(times, bool) or not isinstance(times, (int, str)) or times == "":
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
    for field in _everything(reads, writes):
        for place in field.places:
            if place.layout is not None and place.layout not in cls.layouts:
                problems.append((field.name, f"it is {place.layout} and the stage's layouts are {quoted(cls.layouts)}"))
    return problems + _unbound_dims(reads, writes)


def _everything(*schemas: SchemaSpec) -> list[FieldSpec]:
    return [field for schema in schemas for field in (*schema.fields, *schema.columns)]


def _unbound_dims(reads: SchemaSpec, writes: SchemaSpec) -> list[tuple[str, str]]:
    """Expressions that cannot be computed: nothing binds two of their names, or one that does not stand alone."""
    fields = _everything(reads, writes)
    bound = bound_names(fields)
    problems = []
    for field in fields:
        for dim in (dim for place in field.places for dim in parse_dims(place.dims or "")):
            if dim.expression is not None:
                unbound = dim.expression.unbound(bound)
                if len(unbound) > 1 or (unbound and not dim.expression.isolates(unbound[0])):
                    problems.append((field.name, f"nothing binds {quoted(unbound)} in {dim.text!r}"))
    return problems
