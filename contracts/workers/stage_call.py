"""One call of a stage on a group of workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import config_in_use
from batchpact.contracts.decorator import find_batch
from batchpact.contracts.origins import from_rows
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import OBSERVERS
from batchpact.contracts.variants import Variants
from batchpact.contracts.workers.errors import Failure, worker_error
from batchpact.contracts.workers.joining import join
from batchpact.contracts.workers.places import Call, Place
from batchpact.contracts.workers.shipping import Shipment, kept_back, ship, shipped_bytes
from batchpact.contracts.workers.worker import Order
from batchpact.dataproto.container import DataProto
from batchpact.schemas.errors import ContractError
from batchpact.schemas.instances import make_instance
from batchpact.schemas.text import listed
from batchpact.schemas.violations import Violation, Where


class StageCall:
    """A stage method of a group: to be called as the stage itself is, with a batch.

    Args:
        contract: the contract of the stage.
        method: the name of the method.
        place: gives the workers, or raises where they are no more.
        groups: the number of data-parallel groups.
        ranks_per_group: the workers of each, which all get the same part.

    Attributes:
        contract: the contract of the stage, by which `contract_of` and pipelines know it.
    """

    def __init__(
        self, contract: Boundary, method: str, place: Callable[[], Place], groups: int, ranks_per_group: int
    ) -> None:
        self.contract = contract
        self.__name__ = method
        self._variants = Variants(contract)
        self._place = place
        self._groups = groups
        self._ranks_per_group = ranks_per_group

    def __call__(self, batch: Any, /, **kwargs: Any) -> Any:
        """Run the stage on all workers.

        The reads are checked here, once; only they travel, in a part for each data-parallel group. What the first rank
        of each group wrote is checked there and, put together, here.

        Args:
            batch: a carrier, or an instance of the Reads; it is what it was when the call is over.
            kwargs: arguments of the contract, and others of the method.

        Returns:
            What a plain call of the stage returns, in the batch's own kind: what was written, or the whole batch in its
            new rows where the stage's `rows` are not `"same"`.

        Raises:
            ContractError: where the batch, or what a worker wrote, does not keep to the contract.
            WorkerError: where a worker raised or died.
        """
        find_batch(self.contract, (batch,), {})
        answers = self._variants.answers(batch, (batch,), kwargs)
        boundary = self._variants.under(answers)
        passage = boundary.enter(batch, (batch,), kwargs)
        args = passage.filled.args
        named = {field.name: args[field.key] for field in boundary.spec.reads.fields if field.key in args}
        order = Order(
            method=self.__name__,
            answers=answers,
            kwargs={**kwargs, **named},
            config=config_in_use(),
            settings=passage.settings,
            level="off" if passage.level == "off" else "structure",
            kept_back=kept_back(boundary, passage),
        )
        shipment = ship(boundary, passage, self._groups)
        if OBSERVERS.get():
            passage.shipped = shipped_bytes(shipment.data, args)
        written = self._run(boundary, order, shipment)
        return boundary.leave(passage, self._result(boundary, passage, written))

    def _run(self, boundary: Boundary, order: Order, shipment: Shipment) -> DataProto | None:
        """What was written for all parts, as one batch; None where no worker wrote anything."""
        place = self._place()
        told = place.share(order)
        calls: dict[int, Call] = {}
        spans = {}
        for group, (part, span) in enumerate(zip(shipment.parts, shipment.spans, strict=True)):
            sent = place.share(part)
            for at in range(self._ranks_per_group):
                rank = group * self._ranks_per_group + at
                spans[rank] = span
                calls[rank] = Call("run", (told, sent, at == 0))
        answers = place.ask(calls)
        failures = {rank: answer for rank, answer in answers.items() if isinstance(answer, Failure)}
        if failures:
            raise worker_error(f"stage '{boundary.name}'", failures, stage=boundary.name, rows=spans)
        firsts = [rank for rank in calls if rank % self._ranks_per_group == 0]
        written = [answer for rank in firsts if isinstance(answer := answers[rank], DataProto)]
        if not written:
            return None
        if len(written) < len(firsts):
            silent = [rank for rank in firsts if answers[rank] is None]
            where = Where(stage=boundary.name, boundary="writes", rank=silent[0])
            actual, expected = f"None from rank {listed(silent)}", "a result for every part, or for none"
            violation = Violation(code="BP035", field="result", actual=actual, expected=expected, where=where)
            raise ContractError(f"where stage '{boundary.name}' returns its result", [violation])
        return join(boundary, shipment, written, firsts)

    def _result(self, boundary: Boundary, passage: Passage, whole: DataProto | None) -> Any:
        """What the stage would have returned here."""
        if whole is None or passage.carrier is not None:
            return whole
        made = make_instance(self.contract.writes, whole.stores(), {}, None)
        origin = whole._marks.origin
        return made if origin is None else from_rows(made, origin)
