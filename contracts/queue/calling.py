"""A call of a stage with keys in the place of its batch: fetch what it declares, run it, put what it wrote."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from tensordict import TensorDict

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.late_names import settled
from batchpact.contracts.queue.held import Held, client, fetch, lacking, look, refused
from batchpact.contracts.queue.layouts import batch_of
from batchpact.contracts.queue.putting import Written, put, written
from batchpact.contracts.queue.references import Reference
from batchpact.contracts.queue.request import Request, missing, partly, request
from batchpact.contracts.queue.waiting import run, wait
from batchpact.contracts.reporting import OBSERVERS
from batchpact.contracts.settings import current
from batchpact.contracts.variants import Variants
from batchpact.dataproto.sizes import field_bytes
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


def call_with_keys(
    variants: Variants, place: int | str, args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]
) -> Any:
    """Call a stage with keys.

    Args:
        variants: the contract of the stage, under its conditions.
        place: where the keys stand among the arguments.
        args: the positional arguments.
        kwargs: the keyword arguments.
        function: the bare function.

    Returns:
        What the stage returned, with new keys in the place of a batch.

    Raises:
        ContractError: where TransferQueue does not hold what is declared, or the stage does not keep to its contract.
        QueueTimeoutError: where TransferQueue does not answer in time.
    """
    visit = _Visit(variants, place, args, kwargs)
    held = run(look(visit.reference, visit.reads), visit.doing("asks what is there"))
    asked = visit.ask(held)
    short = run(lacking(held, asked.open_keys), visit.doing("asks what is there")) if asked.open else {}
    visit.check(short)
    found = run(fetch(held, asked.columns, visit.reference, visit.reads), visit.doing("fetches its batch"))
    result = visit.leave(visit.run(function, found))
    if visit.made is None:
        return result
    return visit.returned(result, run(put(visit.made, visit.reference, visit.writes), visit.doing("puts its result")))


async def await_with_keys(
    variants: Variants,
    place: int | str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    function: Callable[..., Awaitable[Any]],
) -> Any:
    """`call_with_keys` for a coroutine function: nothing of it holds up the caller's event loop."""
    visit = _Visit(variants, place, args, kwargs)
    held = await wait(look(visit.reference, visit.reads), visit.doing("asks what is there"))
    asked = visit.ask(held)
    short = await wait(lacking(held, asked.open_keys), visit.doing("asks what is there")) if asked.open else {}
    visit.check(short)
    found = await wait(fetch(held, asked.columns, visit.reference, visit.reads), visit.doing("fetches its batch"))
    result = visit.leave(await visit.run(function, found))
    if visit.made is None:
        return result
    stored = await wait(put(visit.made, visit.reference, visit.writes), visit.doing("puts its result"))
    return visit.returned(result, stored)


class _Visit:
    """One call, between its requests."""

    def __init__(self, variants: Variants, place: int | str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._variants = variants
        self._place = place
        self._args = args
        self._kwargs = kwargs
        self._boundary: Boundary = variants.whole
        self.reference: Reference = args[place] if isinstance(place, int) else kwargs[place]
        name = self._boundary.name
        self.reads, self.writes = self._boundary.on_reads, self._boundary.on_writes
        self.made: Written | None = None
        self._started = perf_counter()
        rows = self._boundary.spec.rows
        if rows.kind in ("new", "repeat"):
            actual = f"rows = '{rows}', and nobody knows the keys of new rows"
            expected = "with keys, the rows of a stage are 'same', 'permute' or 'select'"
            hint = "call it with a batch, and put what it returns under keys of your own"
            wrong = Violation(code="BP036", field="batch", actual=actual, expected=expected, hint=hint)
            raise ContractError(f"where stage '{name}' is called", [wrong.at(self.reads)])

    def doing(self, what: str) -> str:
        """What a request is for, in words."""
        return f"stage '{self._boundary.name}' {what}"

    def ask(self, held: Held) -> Request:
        """What is to be fetched; the contract is the one that counts for what TransferQueue holds."""
        if self._variants.conditional:
            answers = self._variants.answers_in(held.stores(), self._args, self._kwargs)
            self._boundary = self._variants.under(answers)
        self._held = held
        self._asked = request(self._boundary, held)
        return self._asked

    def check(self, lacking: Mapping[str, Sequence[int]]) -> None:
        """Raise where the rows do not have what is declared, before any of it is fetched.

        Where violations are not raised, only rows that lack what others have are: there is nothing to carry on with.
        The boundary tells the rest.
        """
        asked, held, settings = self._asked, self._held, current()
        level = self._boundary.level_under(settings)
        told = level != "off" and settings.action == "raise"
        violations = [*self._boundary.misnamed, *asked.violations, *partly(asked.open, held, lacking)]
        violations += missing([spec for spec in asked.open if spec.key not in lacking], held)
        order = {spec.key: at for at, spec in enumerate(self._boundary.spec.reads.fields)}
        errors = [
            violation
            for violation in sorted(violations, key=lambda violation: order.get(violation.field, -1))
            if violation.code == "BP054" or (told and settings.severity.get(violation.code, "error") == "error")
        ]
        if errors:
            raise refused(self.reads, *errors)

    def run(self, function: Callable[..., Any], found: TensorDict | None) -> Any:
        """Let the batch in and call the function."""
        held, boundary = self._held, self._boundary
        tags = {key: [row[key] for row in held.tags] for key in self._asked.tags}
        meta = {key: held.extra[key] for key in self._asked.meta}
        backend = type(client().storage_manager).__name__
        places = boundary.reads.__batchpact__.plan.tensor_places
        batch = batch_of(found, held.columns, tags, meta, len(held.names), places, backend)
        whole = held.stores if boundary.project == "on" else None
        self._passage = boundary.enter(batch, self._args, self._kwargs, whole)
        self._passage.started = self._started
        if OBSERVERS.get():
            stores = batch.stores()
            columns = {key: column for key, column in stores.columns.items() if key not in tags}
            self._passage.shipped = field_bytes(Stores(stores.tensors, columns, {}))
        handed, place = self._passage.handed, self._place
        if isinstance(place, int):
            return function(*self._args[:place], handed, *self._args[place + 1 :], **self._kwargs)
        return function(*self._args, **{**self._kwargs, place: handed})

    def leave(self, result: Any) -> Any:
        """Check what the function returned, and keep what is to be put."""
        first = result[0] if type(result) is tuple and result else result
        if first is None:
            self._boundary.leave(self._passage, None)
            return result
        started = perf_counter()
        self._boundary = settled(self._boundary, self._passage, first)
        self._fields, origin = self._boundary.judge(self._passage, first)
        self.made = written(self._boundary.spec, self._fields, origin, self._held, self.writes)
        self._leaving = perf_counter() - started
        return result

    def returned(self, result: Any, stored: Reference) -> Any:
        """What the caller gets."""
        self._boundary.tell(self._passage, self._fields, self._leaving)
        return (stored, *result[1:]) if type(result) is tuple else stored
