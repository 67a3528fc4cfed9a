"""Sees calls as they come, by Python's own profiler hook: the outermost watched function that has a batch is a call."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

from batchpact.contracts.tracing.calls import Call, batch_in, values_in
from batchpact.contracts.tracing.comparing import changes, moved_rows
from batchpact.contracts.tracing.frames import arguments, batches_around, home, wrapped
from batchpact.contracts.tracing.lending import Loan, held_by, origin_of, unlend
from batchpact.contracts.tracing.plain_values import plain_call
from batchpact.contracts.tracing.scope import Scope
from batchpact.dataproto.carriers import carrier_of

_ALIKE = 2
"""So many calls are kept that did the same; their batches stay in memory."""


class Watch:
    """Watches the calls of this thread.

    Args:
        scope: the functions that are watched.

    Attributes:
        calls: what was seen, in its order.
    """

    def __init__(self, scope: Scope) -> None:
        self.calls: list[Call] = []
        self._scope = scope
        self._frame: FrameType | None = None
        self._call: Call | None = None
        self._loan: Loan | None = None
        self._last: Any = None
        self._counts: dict[object, int] = {}
        self._before: Any = None

    def start(self) -> None:
        """Begin to watch."""
        self._before = sys.getprofile()
        sys.setprofile(self)

    def stop(self) -> None:
        """Watch no longer."""
        now: object = sys.getprofile()
        if now is self:
            sys.setprofile(self._before)
        else:
            warnings.warn("another profiler took the place of the trace: later calls were not seen", stacklevel=2)
        if self._loan is not None:
            self._loan.end()
        self._name_loose()

    def __call__(self, frame: FrameType, event: str, result: object) -> None:
        """What Python tells a profiler."""
        if self._frame is None:
            if event == "call" and frame.f_code in self._scope:
                self._enter(frame)
        elif event == "return" and frame is self._frame:
            self._leave(result)

    def _enter(self, frame: FrameType) -> None:
        """A watched function is called, and none that calls it is one."""
        given = arguments(frame)
        batch = next((value for value in given.values() if carrier_of(value) is not None), None)
        if batch is None and not values_in(given):
            return
        if any(code in self._scope for code in wrapped(frame)):
            return  # what it wraps is the stage
        self._name_loose()
        # A function of plain values may be given a whole store of its caller's batch.
        whole = next((other for other in batches_around(frame) if batch is None or _is_store(batch, other)), None)
        self._last = next((found for found in (whole, batch) if found is not None), self._last)
        self._name_loose()
        held = held_by(self._last)
        if batch is None or whole is not None:
            self._call = plain_call(frame, given, held, named=self._scope.named)
        else:
            more = [name for name, value in given.items() if value is not batch and carrier_of(value) is not None]
            self._call = Call(frame.f_code.co_name, home(frame), held, held, more_batches=more)
        if self._call is not None:
            self._frame = frame
            self._loan = None if batch is None else Loan(batch)

    def _leave(self, result: object) -> None:
        """It returns, or raises: Python does not say which."""
        call, loan = self._call, self._loan
        self._frame = self._call = self._loan = None
        if call is None:
            return
        if loan is not None and call.unpacked:
            loan.end()
            call.add_looks(loan.looks.names, loan.before.tensors)
        elif loan is not None:
            self._note(call, loan, result)
        if not batch_in(result):
            call.loose = values_in(result)
        if call.read or call.loose or call.drops or any(call.written) or call.rows.kind != "same":
            self._counts[call.shape] = self._counts.get(call.shape, 0) + 1
            if self._counts[call.shape] <= _ALIKE:
                self.calls.append(call)

    def _note(self, call: Call, loan: Loan, result: object) -> None:
        """Note what a function of batches did."""
        call.looked = [*loan.looks.names]
        returned = [batch for batch in batch_in(result) if batch is not loan.batch]
        origin = origin_of(loan.batch)
        after = loan.end()
        for batch in returned:
            origin = origin_of(batch)
            unlend(batch)
            after, self._last = held_by(batch), batch
        if not returned:
            call.drops = tuple(name for name in call.before.names() if after.find(name) is None)
        call.rows, origin = moved_rows(call.before, after, origin)
        call.written = changes(call.before, after, origin)

    def _name_loose(self) -> None:
        """Find out under which names the loop has put what functions returned by themselves."""
        loose = [call for call in self.calls if call.loose]
        held = held_by(self._last) if loose else None
        for call in loose:
            if held is not None:
                call.find_loose(held)


def _is_store(value: object, whole: Any) -> bool:
    return getattr(whole, "batch", None) is value
