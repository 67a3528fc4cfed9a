"""`StageFuture`: what a stage on a group will have written."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, cast

from batchpact.contracts.arguments import Filled
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.decorator import find_batch
from batchpact.contracts.late_names import settled
from batchpact.contracts.origins import from_rows
from batchpact.contracts.passage import Passage
from batchpact.contracts.settings import Level, Settings
from batchpact.contracts.workers.answers import Failure, Written
from batchpact.contracts.workers.errors import Span, worker_error
from batchpact.contracts.workers.joining import join, join_more
from batchpact.contracts.workers.places import Place, Ref
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.row_marks import Mask
from batchpact.dataproto.wire.transport import transport
from batchpact.schemas.errors import ContractError
from batchpact.schemas.instances import make_instance
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.text import listed
from batchpact.schemas.violations import Violation, Where


@dataclass(frozen=True, slots=True)
class Sent:
    """A call that was sent to the workers of a group.

    Attributes:
        boundary: the contract that counts for it.
        place: where the workers are.
        refs: what stands for the answer of each rank.
        groups: for how many data-parallel groups the rows were cut.
        ranks_per_group: the workers of each.
        spans: the rows of each part; None where the parts are what another stage wrote.
        pads: which rows were added.
    """

    boundary: Boundary
    place: Place
    refs: dict[int, Ref]
    groups: int
    ranks_per_group: int
    spans: list[Span] | None
    pads: Mask | None

    @property
    def firsts(self) -> list[int]:
        """The ranks whose results are collected: one for each part."""
        return [rank for rank in self.refs if rank % self.ranks_per_group == 0]


class StageFuture:
    """What a stage on a group of workers will have written; made by `group.method.remote(batch)`.

    It stands for its result as the batch of another group's stage, and of `DataProtoFuture`'s users.

    Attributes:
        boundary: the contract of the stage.
    """

    def __init__(self, sent: Sent, passage: Passage, before: StageFuture | None = None) -> None:
        self.boundary = sent.boundary
        self._sent = sent
        self._passage = passage
        self._before = before
        self._outcome: tuple[Any, Exception | None] | None = None
        self._written_spans: list[Span] = []

    def get(self) -> Any:
        """Wait for the workers and put together what they wrote; a second time it is there already.

        Returns:
            What a plain call of the stage returns.

        Raises:
            ContractError: where what a worker wrote does not keep to the contract.
            WorkerError: where a worker raised or died; where the batch was another future, also what that one raises.
        """
        if self._outcome is None:
            try:
                self._outcome = (self._settled(), None)
            except Exception as error:
                self._outcome = (None, error)
        result, failure = self._outcome
        if failure is not None:
            raise failure
        return result

    # --- as the batch of another stage ------------------------------------------------------------------------------

    def passable(self, place: Place, groups: int) -> bool:
        """Whether another group can take the parts: from a place of its kind, cut for as many groups, no row added."""
        sent = self._sent
        same = type(sent.place) is type(place) and sent.groups == groups
        return same and sent.pads is None and self._passage.carrier is not None

    def parts(self) -> list[Ref]:
        """What stands for the parts."""
        return [self._sent.refs[rank] for rank in self._sent.firsts]

    def passage_after(self, filled: Filled, settings: Settings, level: Level, started: float) -> Passage:
        """The passage of a stage that gets this one's result as it lies: nobody here sees what it holds."""
        own = self._passage
        return Passage(own.batch, own.carrier, Stores.empty(), None, None, filled, settings, level, started)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _settled(self) -> Any:
        sent, boundary, passage = self._sent, self.boundary, self._passage
        answers = self._answers()
        failures = {rank: answer for rank, answer in answers.items() if isinstance(answer, Failure)}
        if failures:
            self._blame_the_one_before()
            raise worker_error(f"stage '{boundary.name}'", failures, stage=boundary.name, rows=self._rows_of_ranks())
        firsts = sent.firsts
        given = [cast("Written", answers[rank]) for rank in firsts]
        more = join_more(boundary, [one.more for one in given], firsts)
        written = [one.batch for one in given if one.batch is not None]
        whole = None
        if written:
            self._check_all_wrote(given, firsts)
            spans = sent.spans
            if self._before is not None and boundary.spec.rows.kind not in ("same", "new"):
                passage, spans = self._with_the_batch(self._before)
            ends = [0, *accumulate(len(part) for part in written)]
            self._written_spans = list(pairwise(ends))
            whole = join(boundary, written, firsts, spans, sent.pads)
        result: Any = whole
        if whole is not None and passage.carrier is None:
            result = _as_writes(settled(boundary, passage, whole), whole)
        return boundary.leave(passage, (result, *more) if more else result)

    def _answers(self) -> dict[int, object]:
        """What the workers answer; tensors that are to be joined, and so copied, are looked at where they lie."""
        sent = self._sent
        writes = self.boundary.spec.writes
        written = {place.placement for field in (*writes.fields, *writes.columns) for place in field.places}
        joined = len(sent.firsts) > 1 and written == {"tensor"}
        with transport(zero_copy=True) if joined else nullcontext():
            return sent.place.gather(sent.refs)

    def _blame_the_one_before(self) -> None:
        """Raise what went wrong in the stage whose result was passed on, if anything did."""
        if self._before is not None:
            batch = self._before.get()
            find_batch(self.boundary, (batch,), {})

    def _rows_of_ranks(self) -> dict[int, Span]:
        sent = self._sent
        if sent.spans is None:
            return {}
        return {rank: sent.spans[rank // sent.ranks_per_group] for rank in sent.refs}

    def _check_all_wrote(self, given: list[Written], ranks: list[int]) -> None:
        silent = [rank for rank, one in zip(ranks, given, strict=True) if one.batch is None]
        if silent:
            where = Where(stage=self.boundary.name, boundary="writes", rank=silent[0])
            actual, expected = f"None from rank {listed(silent)}", "a result for every part, or for none"
            violation = Violation(code="BP035", field="result", actual=actual, expected=expected, where=where)
            raise ContractError(self.boundary.ending, [violation])

    def _with_the_batch(self, before: StageFuture) -> tuple[Passage, list[Span]]:
        """The passage and the parts of a stage whose rows differ: its result is the whole batch in new rows."""
        batch, own = before.get(), self._passage
        source = own.carrier.stores(batch) if own.carrier is not None else Stores.empty()
        passage = Passage(
            batch, own.carrier, source, None, rows_of(source), own.filled, own.settings, own.level, own.started
        )
        return passage, before._written_spans


def _as_writes(boundary: Boundary, whole: DataProto) -> Any:
    """What a stage that was called with its Reads would have returned here."""
    made = make_instance(boundary.writes, whole.stores(), {}, None)
    origin = whole._marks.origin
    return made if origin is None else from_rows(made, origin)
