"""One run of a stage on a batch: what it wrote, and what it did that its contract does not allow."""

from __future__ import annotations

import copy
import inspect
import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.event_loop import in_background
from batchpact.contracts.placing import from_here
from batchpact.contracts.settings import Settings, using
from batchpact.contracts.testing.sampler import Sample
from batchpact.dataproto import DataProto
from batchpact.schemas.equality import EXACT, Tolerance, difference
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run came to.

    Attributes:
        result: the batch that the stage returned; None where it returned none or was ended by an error.
        written: what of it the stage wrote.
        found: what is wrong.
        draws: whether it has drawn random numbers.
        error: what ended it.
    """

    result: DataProto | None
    written: Stores
    found: list[Violation]
    draws: bool
    error: Exception | None = None


class Runner:
    """Runs a stage.

    Args:
        stage: the stage. A bound method runs on a copy of its object each time, where this can be copied: a stage that
            trains starts from the same weights in every run.
        contract: its contract.
    """

    def __init__(self, stage: Callable[..., Any], contract: Boundary) -> None:
        self._stage = stage
        self._spec = contract.spec
        self._function = inspect.unwrap(contract.function)
        self._names = {field.key: field.name for field in contract.spec.reads.fields}
        self._read = frozenset(self._names)
        self._open = bool(contract.spec.writes.columns) or contract.spec.writes.extra == "allow"
        self._written = {field.key for field in contract.spec.writes.fields} | {*contract.spec.drops}

    def run(self, sample: Sample, seed: int) -> Ran:
        """Run it on a batch, at level `values`, with fresh random numbers."""
        batch = sample.batch
        before = copy.deepcopy(batch)
        result: Any = None
        error: Exception | None = None
        found: list[Violation] = []
        named = {self._names[key]: value for key, value in sample.args.items()}
        with using(Settings(level="values")), _seeded(seed) as drew:
            try:
                result = self._call(batch, named)
            except ContractError as broken:
                error, found = broken, list(broken.violations)
            except Exception as failure:  # a user's code may fail in any way; other cases run all the same
                error, found = failure, [self._failed(failure)]
            draws = drew()
        known = {violation.field for violation in found if violation.code == "BP031"}
        found += [violation for violation in self._changed(before, batch) if violation.field not in known]
        if not isinstance(result, DataProto):
            return Ran(None, Stores.empty(), found, draws, error)
        stores = (
            {key: value for key, value in store.items() if key in self._written or key not in self._read}
            for store in result.stores()[:3]
        )
        return Ran(result, Stores(*stores), found, draws, error)

    def _call(self, batch: DataProto, named: dict[str, Any]) -> Any:
        result = _on_a_copy(self._stage)(batch, **named)
        if inspect.iscoroutine(result):
            result = in_background(result).result()
        return result[0] if isinstance(result, tuple) else result

    def _failed(self, error: Exception) -> Violation:
        """Where the code of the stage was when it failed."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == self._function.__code__.co_filename]
        frame = (own or list(frames))[-1]
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        place = f"{from_here(frame.filename)}:{frame.lineno}"
        return Violation(code="BP058", field="batch", actual=f"it raises {text}", expected=f"a result; at {place}")

    def _changed(self, before: DataProto, batch: DataProto) -> Iterator[Violation]:
        """What the stage reads only, and is not what it was: also where no version counter has moved."""
        now = batch.stores()
        for placement, store in before.stores().by_placement():
            for key, value in store.items():
                if key in self._written or (self._open and key not in self._read):
                    continue
                held = now.store(placement)
                text = field_difference(value, held[key]) if key in held else "it is gone"
                if text is not None:
                    yield Violation(
                        code="BP031",
                        field=key,
                        placement=placement,
                        actual=f"changed in place: {text}",
                        expected="the stage reads it and does not write it",
                        hint="work on a copy, or declare it in Writes",
                    )


def field_difference(left: object, right: object, tolerance: Tolerance = EXACT) -> str | None:
    """How two values of a field differ, with the row; None where they do not."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        found = ((row, difference(a, b, rtol=tolerance.rtol, atol=tolerance.atol)) for row, (a, b) in pairs)
        return next((f"row {row}: {text}" for row, text in found if text is not None), None)
    return difference(left, right, rtol=tolerance.rtol, atol=tolerance.atol)


def _on_a_copy(stage: Callable[..., Any]) -> Callable[..., Any]:
    """The stage, as a method of a copy of its object."""
    owner = getattr(stage, "__self__", None)
    if not inspect.ismethod(stage) or isinstance(owner, type):
        return stage
    try:
        twin = copy.deepcopy(owner)
    except Exception:  # it holds something that cannot be copied, such as a lock: it is used as it is
        return stage
    bound: Callable[..., Any] = stage.__func__.__get__(twin)
    return bound


@contextmanager
def _seeded(seed: int) -> Iterator[Callable[[], bool]]:
    """Seed torch, numpy and `random` for a block; gives what says whether anything was drawn in it."""
    around = torch.get_rng_state(), np.random.get_state(), random.getstate()
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)
    begun = _random_states()
    try:
        yield lambda: difference(begun, _random_states()) is not None
    finally:
        torch.set_rng_state(around[0])
        np.random.set_state(around[1])
        random.setstate(around[2])


def _random_states() -> tuple[object, ...]:
    return torch.get_rng_state(), np.random.get_state(), random.getstate()
