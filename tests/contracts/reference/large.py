"""Contracts of a size that nobody has yet: how long a reference of them takes, and whether its page can be used."""

from __future__ import annotations

from batchpact.contracts.lock.file import Contracts
from batchpact.schemas.condition_specs import ConditionSpec, SubjectSpec, TestSpec
from batchpact.schemas.record import (
    FieldSpec,
    MergeSpec,
    PadSpec,
    PipelineSpec,
    PlaceSpec,
    RuleSpec,
    SchemaSpec,
    StageSpec,
)

READ_AFTER = (1, 1, 1, 1, 2, 2, 2, 7, 7, 7)
"""How many stages later the fields of a stage are read, each by one stage."""
SWITCHES = 6
BROKEN_EVERY = 100
"""One in so many stages reads what is not there in every configuration."""


def large(stages: int = 300, fields: int = 3000) -> Contracts:
    """One pipeline called `large`, of stages that read what the ones before them have written.

    Every fifth stage runs under one of six conditions, every tenth reads `response_mask` of the inputs, and some read a
    field whose writer may be off, which is a finding.
    """
    made = _stages(stages, fields)
    mask = _field("response_mask", 0, "1 where the model has written the token.")
    inputs = SchemaSpec(name="Start", qualname="large.Start", fields=(mask,), axis="batch")
    placed = tuple(stage.model_copy(update={"when": _when(at)}) for at, stage in enumerate(made))
    outputs = tuple(field.key for field in made[-1].writes.fields)
    pipeline = PipelineSpec(name="large", inputs=inputs, stages=placed, outputs=outputs)
    return Contracts(stages={stage.qualname: stage for stage in made}, pipelines={"large": pipeline})


def _stages(stages: int, fields: int) -> list[StageSpec]:
    written = [
        [_field(f"stage_{at:03}_field_{number - first:02}", number) for number in range(first, last)]
        for at in range(stages)
        for first, last in [(fields * at // stages, fields * (at + 1) // stages)]
    ]
    read: list[list[FieldSpec]] = [[] for _ in range(stages)]
    for at, made in enumerate(written):
        for number, field in enumerate(made):
            reader = at + READ_AFTER[number % len(READ_AFTER)]
            if reader < stages:
                careless = at % BROKEN_EVERY == 3 and number == 0
                read[reader].append(field if careless else field.model_copy(update={"when": _when(at)}))
    for at in range(0, stages, 10):
        read[at].append(_field("response_mask", 0))
    return [_stage(at, read[at], written[at]) for at in range(stages)]


def _stage(at: int, reads: list[FieldSpec], writes: list[FieldSpec]) -> StageSpec:
    name = f"stage_{at:03}"
    qualname = f"large.Stage{at:03}"
    return StageSpec(
        name=name,
        qualname=qualname,
        description=f"Does what the trainer does as number {at}.",
        reads=SchemaSpec(name="Reads", qualname=f"{qualname}.Reads", fields=tuple(reads), axis="batch"),
        writes=SchemaSpec(name="Writes", qualname=f"{qualname}.Writes", fields=tuple(writes), axis="batch"),
    )


def _when(at: int) -> ConditionSpec | None:
    """The condition under which a stage runs."""
    if at % 5 != 3:
        return None
    return TestSpec(subject=SubjectSpec(source="config", name=f"trainer.part_{at // 5 % SWITCHES}"))


def _field(key: str, number: int, description: str = "") -> FieldSpec:
    """A field of one of four kinds."""
    told = description or f"What is known of a sample by the name {key}."
    if number % 4 == 2:
        row = PlaceSpec(placement="non_tensor", type="str")
        return FieldSpec(name=key, key=key, places=(row,), description=told)
    if number % 4 == 3:
        meta = PlaceSpec(placement="meta", type="float")
        return FieldSpec(name=key, key=key, places=(meta,), description=told, merge=MergeSpec(how="mean"))
    dtype = ("float32", "int64")[number % 4 == 0]
    tensor = PlaceSpec(placement="tensor", dtype=dtype, dtypes=(dtype,), dims="batch response", layout="dense")
    rules = (RuleSpec(kind="finite"),) if dtype == "float32" else ()
    return FieldSpec(name=key, key=key, places=(tensor,), description=told, rules=rules, pad=PadSpec(value=0))
