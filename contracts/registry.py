"""The stages and stage schemas of this process: what messages know beyond what they are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.record import StageSpec
from batchpact.schemas.stage import StageSchema, reads_of

if TYPE_CHECKING:
    from batchpact.contracts.boundary import Boundary

_stages: dict[str, Boundary] = {}


def add(boundary: Boundary) -> None:
    """Remember a stage; one of the same qualified name is replaced, as when a module is loaded again."""
    _stages[boundary.spec.qualname] = boundary


def stages() -> Iterator[StageSpec]:
    """The records of all stages that were decorated so far."""
    return (boundary.spec for boundary in _stages.values())


def boundaries() -> Iterator[Boundary]:
    """The contracts of all stages that were decorated so far."""
    return iter(_stages.values())


def owners(reads: type[BatchSchema]) -> list[type[StageSchema]]:
    """The stage schemas that have this class as their Reads."""
    found: list[type[StageSchema]] = []
    waiting = list(StageSchema.__subclasses__())
    while waiting:
        cls = waiting.pop(0)
        waiting += cls.__subclasses__()
        if reads_of(cls) is reads:
            found.append(cls)
    return found
