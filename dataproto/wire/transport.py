"""How batches are received: with memory of their own and on the CPU, unless somebody asks for something else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch

from batchpact.dataproto.refusal import refuse


class Transport(NamedTuple):
    """What is asked for; None where nothing is said.

    Attributes:
        zero_copy: whether tensors and columns are views of the memory in which they arrive.
        device: where the fields arrive.
    """

    zero_copy: bool | None = None
    device: str | None = None

    def within(self, outer: Transport) -> Transport:
        """What counts where an outer one says what this one does not."""
        return Transport(
            outer.zero_copy if self.zero_copy is None else self.zero_copy,
            outer.device if self.device is None else self.device,
        )


_asked: ContextVar[Transport] = ContextVar("batchpact_transport", default=Transport())  # noqa: B039  # immutable


def asked() -> Transport:
    """What the blocks around this call ask for."""
    return _asked.get()


@contextmanager
def transport(*, zero_copy: bool | None = None, device: str | torch.device | None = None) -> Iterator[None]:
    """How batches that are pickled, or unpickled, inside the block are received.

    A batch that is pickled inside carries the wish along, as Ray unpickles the arguments of a call before anything of
    the worker's own runs. Around `ray.get` or `pickle.loads` it counts for what is received there, before what the
    sender asked for. Blocks can be nested: what the inner one does not say, the outer one does.

    With `zero_copy` the tensors and numeric columns of a batch are views of the memory in which they arrive: of Ray's
    object store, or of the buffers that `pickle.loads` was given. Do not write into such tensors: everybody who
    received the same object has them, and torch cannot refuse it. Numpy refuses it for columns. The memory is held for
    as long as one of the tensors is. `copy.deepcopy(batch)` makes a batch that may be kept and written on.

    Args:
        zero_copy: receive views; otherwise every tensor has memory of its own.
        device: where the tensors of a batch arrive, and jagged ones with their offsets; otherwise on the CPU, wherever
            they were. Tensors inside cells and meta arrive on the CPU.

    Raises:
        BatchError: if torch knows no such device.
    """
    try:
        name = None if device is None else str(torch.device(device))
    except RuntimeError as error:
        raise refuse("transport", "BP045", "device", repr(device), str(error).partition("\n")[0]) from None
    token = _asked.set(Transport(zero_copy, name).within(_asked.get()))
    try:
        yield
    finally:
        _asked.reset(token)
