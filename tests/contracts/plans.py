"""Stages and inputs for static checks, declared in one line each."""

from __future__ import annotations

from typing import Any, get_args

from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts.proof.flow import check_flow
from batchpact.contracts.report import Report
from batchpact.schemas import BatchSchema, PipelineSpec, StageSchema

PerRow = Float32[Tensor, "batch"]
PerToken = Float32[Tensor, "batch response"]
PerPromptToken = Float32[Tensor, "batch prompt"]

Fields = dict[str, Any]


def schema(name: str, fields: Fields) -> type[BatchSchema]:
    """A schema of these fields; one that may be None is optional."""
    defaults = {key: None for key, annotation in fields.items() if type(None) in get_args(annotation)}
    return type(name, (BatchSchema,), {"__annotations__": fields, "__module__": __name__, **defaults})


def declare(name: str, reads: Fields | None = None, writes: Fields | None = None, **facts: Any) -> type[StageSchema]:
    """A stage of the module `trainer`, named in CamelCase."""
    parts = {"Reads": schema("Reads", reads or {}), "Writes": schema("Writes", writes or {})}
    return type(name, (StageSchema,), {**parts, **facts, "__module__": "trainer", "__qualname__": name})


def report(
    inputs: Fields,
    *stages: type[StageSchema],
    known: tuple[type[StageSchema], ...] = (),
    outputs: tuple[str, ...] = (),
) -> Report:
    """What the check says about these stages, where it knows no others than the given ones."""
    spec = PipelineSpec(
        name="plan",
        inputs=schema("Inputs", inputs).__batchpact__.spec,
        outputs=outputs,
        stages=tuple(stage.__batchpact__ for stage in stages),
    )
    findings = check_flow(spec, [stage.__batchpact__ for stage in known])
    return Report("pipeline 'plan'", f"{len(stages)} stages", tuple(findings))


def findings(inputs: Fields, *stages: type[StageSchema], **more: Any) -> list[str]:
    """The lines of the report without its headline."""
    return [line.strip() for line in str(report(inputs, *stages, **more)).splitlines()[2:]]
