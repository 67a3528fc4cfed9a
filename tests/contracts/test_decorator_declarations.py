"""Functions that do not fit a contract are refused when they are decorated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, DeclarationError, Meta, NonTensor, StageSchema
from tests.contracts.stages import ComputeReturns, refusal

Reads, Writes = ComputeReturns.Reads, ComputeReturns.Writes


def no_reads(data: DataProto) -> Writes: ...


def two_reads(batch: Reads, other: Writes) -> Writes: ...


def no_result(batch: Reads): ...


def other_result(batch: Reads) -> DataProto: ...


def unresolved(batch: NotThere) -> Writes: ...


def generator(batch: Reads) -> Iterator[Writes]:
    yield Writes()


async def async_generator(batch: Reads) -> AsyncIterator[Writes]:
    yield Writes()


class Callable_:
    def __call__(self, batch: Reads) -> Writes: ...


WAYS = "write (batch: X.Reads) -> X.Writes, or @stage(X) where carriers go in"


@pytest.mark.parametrize(
    ("function", "name", "text"),
    [
        (no_reads, "no_reads", f"no parameter annotated with a Reads; {WAYS}"),
        (two_reads, "two_reads", f"2 parameters annotated with a Reads; {WAYS}"),
        (no_result, "no_result", "the result is not annotated with a Writes (or None)"),
        (other_result, "other_result", "the result is not annotated with a Writes (or None)"),
        (unresolved, "unresolved", "an annotation cannot be resolved: name 'NotThere' is not defined"),
        (generator, "generator", "a stage returns its result; a generator has none"),
        (async_generator, "async_generator", "a stage returns its result; a generator has none"),
        (Reads, "ComputeReturns.Reads", "Reads and Writes are parts of a contract; @stage takes the StageSchema"),
        (Callable_(), "Callable_", "a stage is a function, put @stage closest to it"),
        (staticmethod(no_reads), "no_reads", "a stage is a function, put @stage closest to it"),
        (5, "int 5", "a stage is a function, put @stage closest to it"),
    ],
)
def test_what_is_no_stage_is_refused(function: Any, name: str, text: str) -> None:
    assert refusal(lambda: stage(function), DeclarationError) == (
        f"1 problem in the stage {name}\n\n  BP051 declared  {name}  {text}"
    )


def test_a_generator_is_refused_under_a_schema_too() -> None:
    with pytest.raises(DeclarationError, match="a generator has none"):
        stage(ComputeReturns)(generator)


# --- names in annotations --------------------------------------------------------------------------------------------


def test_annotations_resolve_in_the_function_around_the_stage() -> None:
    class Local(StageSchema):
        class Reads(BatchSchema):
            gamma: Meta[float]

    @stage
    def local(batch: Local.Reads) -> None:
        return None

    assert local.contract.reads is Local.Reads


def make(schema: type[StageSchema]) -> Callable[..., Any]:
    @stage(schema)
    def made(data: DataProto) -> None:
        return None

    return made


def test_a_stage_may_be_made_in_a_function_of_another_schema() -> None:
    class Local(StageSchema):
        class Reads(BatchSchema):
            uid: NonTensor[str]

    assert make(Local).contract.spec.reads.fields[0].key == "uid"


def test_local_names_are_no_part_of_a_qualified_name() -> None:
    assert make(ComputeReturns).contract.spec.qualname == ("tests.contracts.test_decorator_declarations.make.made")
