"""A stage of a group, to be called as the stage itself is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import config_in_use
from batchpact.contracts.decorator import find_batch
from batchpact.contracts.passage import Passage
from batchpact.contracts.reporting import OBSERVERS
from batchpact.contracts.settings import current
from batchpact.contracts.variants import Answers, Variants
from batchpact.contracts.workers.futures import Sent, StageFuture
from batchpact.contracts.workers.passing import passes
from batchpact.contracts.workers.places import Call, Place, Ref
from batchpact.contracts.workers.shipping import kept_back, ship, shipped_bytes
from batchpact.contracts.workers.worker import Order
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.futures import DataProtoFuture
from batchpact.schemas.stores import Stores


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
        self._is_async = inspect.iscoroutinefunction(contract.function)
        self._place = place
        self._groups = groups
        self._ranks_per_group = ranks_per_group

    def __call__(self, batch: Any, /, **kwargs: Any) -> Any:
        """Run the stage on all workers.

        The reads are checked here, once; only they travel, in a part for each data-parallel group. What the first rank
        of each group wrote is checked there and, put together, here.

        Args:
            batch: a carrier, or an instance of the Reads; it is what it was when the call is over. A future stands for
                the batch that it will give.
            kwargs: arguments of the contract, and others of the method.

        Returns:
            What a plain call of the stage returns, in the batch's own kind: what was written, or the whole batch in its
            new rows where the stage's `rows` are not `"same"`. Of a tuple `(batch, more)` the batches are joined, and
            `more` is a list with one value of each data-parallel group that had rows. An async stage is awaited.

        Raises:
            ContractError: where the batch, or what a worker wrote, does not keep to the contract.
            WorkerError: where a worker raised or died.
        """
        if self._is_async:
            return self._awaited(batch, kwargs)
        return self.remote(batch, **kwargs).get()

    async def _awaited(self, batch: Any, kwargs: dict[str, Any]) -> Any:
        return await asyncio.to_thread(self.remote(batch, **kwargs).get)

    def remote(self, batch: Any, /, **kwargs: Any) -> StageFuture:
        """Start the stage on all workers, and wait for none of them; `get` of the future gives the result.

        The future of another group's stage goes on to this one without the controller, where both are cut into as many
        parts and joining these would change nothing that the stage reads. Otherwise it is waited for here.

        Args:
            batch: as in a call.
            kwargs: as in a call.

        Raises:
            ContractError: where the batch does not keep to the contract. All other errors are raised by `get`.
        """
        if isinstance(batch, StageFuture):
            passed = self._pass_on(batch, dict(kwargs))
            if passed is not None:
                return passed
        if isinstance(batch, (StageFuture, DataProtoFuture)):
            batch = batch.get()
        find_batch(self.contract, (batch,), {})
        answers = self._variants.answers(batch, (batch,), kwargs)
        boundary = self._variants.under(answers)
        passage = boundary.enter(batch, (batch,), kwargs)
        order = self._order(boundary, passage, answers, kwargs, kept_back(boundary, passage))
        shipment = ship(boundary, passage, self._groups)
        if OBSERVERS.get():
            passage.shipped = shipped_bytes(shipment.data, passage.filled.args)
        place = self._place()
        refs = self._send(place, order, [place.share(part) for part in shipment.parts])
        sent = Sent(boundary, place, refs, self._groups, self._ranks_per_group, shipment.spans, shipment.pads)
        return StageFuture(sent, passage)

    def _pass_on(self, before: StageFuture, kwargs: dict[str, Any]) -> StageFuture | None:
        """Start the stage on what another one has written or will write; None where it cannot be passed on so."""
        place, settings = self._place(), current()
        if not before.passable(place, self._groups) or not passes(before.boundary, self.contract):
            return None
        level = self.contract.level_under(settings)
        if level == "values":  # rules look at all rows
            return None
        answers = self._variants.answers(DataProto(), (), kwargs)
        boundary = self._variants.under(answers)
        filled = boundary.arguments.fill(Stores.empty(), (), kwargs)
        passage = before.passage_after(filled, settings, level, perf_counter())
        order = self._order(boundary, passage, answers, kwargs, None)
        refs = self._send(place, order, before.parts())
        return StageFuture(
            Sent(boundary, place, refs, self._groups, self._ranks_per_group, None, None), passage, before
        )

    def _order(
        self,
        boundary: Boundary,
        passage: Passage,
        answers: Answers,
        kwargs: dict[str, Any],
        behind: Stores | None,
    ) -> Order:
        args = passage.filled.args
        named = {field.name: args[field.key] for field in boundary.spec.reads.fields if field.key in args}
        return Order(
            method=self.__name__,
            answers=answers,
            kwargs={**kwargs, **named},
            config=config_in_use(),
            settings=passage.settings,
            level="off" if passage.level == "off" else "structure",
            kept_back=behind,
        )

    def _send(self, place: Place, order: Order, parts: Sequence[Ref]) -> dict[int, Ref]:
        """Start the workers: all ranks of a group on the same part, and the first one's result is collected."""
        told = place.share(order)
        method = "run_async" if self._is_async else "run"
        calls = {
            group * self._ranks_per_group + at: Call(method, (told, part, at == 0))
            for group, part in enumerate(parts)
            for at in range(self._ranks_per_group)
        }
        return place.send(calls)
