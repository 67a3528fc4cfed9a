"""Stages that are called with TransferQueue's keys: `KVBatchMeta` and `BatchMeta` in place of a batch.

Start at `calling.py` (a call). `references.py` says what is known as keys, `held.py` asks TransferQueue what it holds
under them, `request.py` finds what the Reads declare in it, `layouts.py` makes it what is declared, and `putting.py`
puts what was written. `waiting.py` has the one event loop on which all of this waits, and its timeout.
"""

from batchpact.contracts.queue.waiting import QueueTimeoutError, timeout

__all__ = ["QueueTimeoutError", "timeout"]
