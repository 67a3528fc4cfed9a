"""What verl collected from its workers: brought back to the rows of the batch, and held against the Writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from tensordict import TensorDictBase

from batchpact.contracts.arguments import Filled
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.kept_back import KEPT_BACK
from batchpact.contracts.late_names import settled
from batchpact.contracts.passage import Passage
from batchpact.contracts.settings import current
from batchpact.contracts.told_names import TOLD_NAMES
from batchpact.contracts.variants import Answers
from batchpact.contracts.verl.methods import MethodContract
from batchpact.dataproto.auto_padding import AUTO_PADDING_KEY
from batchpact.dataproto.carriers import Carrier, carrier_of
from batchpact.dataproto.rows import Rows
from batchpact.schemas.axes import Size
from batchpact.schemas.equality import equal
from batchpact.schemas.stores import Stores, rows_of


@dataclass
class Check:
    """Checks the result of one call.

    Attributes:
        contract: the contract of the method.
        answers: what its conditions come to; empty where nobody knows, and fields with a condition are optional then.
        passage: the call; None where what was sent is not known, and neither are its dims and rows then.
        pads: how many rows of the result are neutral ones, at its end.
        sent: what was sent, by key; None where it is no longer known.
    """

    contract: MethodContract
    answers: Answers = ()
    passage: Passage | None = None
    pads: int = 0
    sent: Mapping[str, object] | None = None

    @classmethod
    def of_call(cls, contract: MethodContract, answers: Answers, passage: Passage, pads: int) -> Check:
        """The check of a call that goes out with this batch."""
        stores = (store for _, store in passage.source.by_placement())
        held: dict[str, object] = {key: value for store in stores for key, value in store.items()}
        return cls(contract, answers, passage, pads, {**held, **passage.filled.together()})

    def for_later(self) -> Check:
        """The same without the batch, which its owner may change or let go before the result is there."""
        passage = None if self.passage is None else _without_batch(self.passage)
        return replace(self, passage=passage, sent=None)

    def __call__(self, result: Any) -> Any:
        """Check what verl made of the results of all workers.

        Returns:
            What was written, in the kind of the caller's batch; in verl's where that is not known.

        Raises:
            ContractError: with everything that is wrong.
        """
        boundary, passage = self.contract.variants.under(self.answers), self.passage
        if result is None:
            return None if passage is None else boundary.leave(passage, None)
        carrier = carrier_of(result)
        boundary = settled(boundary, passage or self._unknown(boundary, result), result, guess=passage is None)
        if carrier is not None:
            result = self._own(boundary, carrier, result)
        if passage is not None and passage.carrier is not None:
            return boundary.leave(passage, result)
        boundary.judge(self._unknown(boundary, result), result)
        return result

    def _own(self, boundary: Boundary, carrier: Carrier, result: Any) -> Any:
        """The result without pad rows, and without what was sent and comes back as it was."""
        rows = rows_of(carrier.stores(result))
        if self.pads and rows is not None:
            result = carrier.take(result, Rows.span(0, max(rows - self.pads, 0)))
        stores = carrier.stores(result)
        back = self._sent_back(boundary, stores)
        if not back:
            return result
        if isinstance(result, TensorDictBase):
            return result.exclude(*back)
        kept = ({key: value for key, value in store.items() if key not in back} for store in stores[:3])
        own = Stores(*kept)
        return carrier.make(result, own, rows_of(own))

    def _sent_back(self, boundary: Boundary, stores: Stores) -> set[str]:
        """Undeclared fields that are equal to what was sent, or are read and cannot be compared with it any more."""

        def comes_back(key: str, value: object) -> bool:
            if key in (KEPT_BACK, TOLD_NAMES, AUTO_PADDING_KEY):
                return True
            if self.sent is None:
                return key in boundary.read_keys
            return key in self.sent and equal(value, self.sent[key])

        held = ((key, value) for _, store in stores.by_placement() for key, value in store.items())
        return {key for key, value in held if key not in boundary.writers and comes_back(key, value)}

    def _unknown(self, boundary: Boundary, result: Any) -> Passage:
        """A call of which the batch is not known, or no longer."""
        known = self.passage
        settings = current() if known is None else known.settings
        level = boundary.level_under(settings) if known is None else known.level
        return Passage(
            batch=result,
            carrier=carrier_of(result),
            source=Stores.empty(),
            handed=None,
            rows=None if known is None else known.rows,
            filled=Filled(),
            settings=settings,
            level=level,
            started=perf_counter(),
            sizes={} if known is None else known.sizes,
        )

    def __reduce__(self) -> tuple[type[Check], tuple[object, ...]]:
        """In another process it knows the dims and the rows of the batch, and gives the result in verl's kind."""
        passage = self.passage
        if passage is not None:
            sizes: dict[str, Size] = {name: size for name, size in passage.sizes.items() if isinstance(size, int)}
            passage = replace(_without_batch(passage), batch=None, carrier=None, sizes=sizes)
        return type(self), (self.contract, self.answers, passage, self.pads)


def _without_batch(passage: Passage) -> Passage:
    """A call with an empty batch of the same kind in the place of its own."""
    carrier = passage.carrier
    batch = None if carrier is None else carrier.make(passage.batch, Stores.empty(), passage.rows)
    return replace(
        passage, batch=batch, source=Stores.empty(), handed=None, filled=Filled(), origin=None, versions=[], found=[]
    )
