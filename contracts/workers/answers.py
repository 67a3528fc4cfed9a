"""What a worker answers to a call: what a stage wrote, or what went wrong. Neither is ever raised."""

from __future__ import annotations

from typing import Any, NamedTuple

from batchpact.dataproto.container import DataProto
from batchpact.schemas.errors import ContractError


class Written(NamedTuple):
    """What a stage returned on one worker, checked.

    Attributes:
        batch: what it wrote, with the input row of each row where the stage knows it; None where it wrote nothing, and
            where nothing was to be collected.
        more: what stood behind the batch, where the stage returned a tuple.
    """

    batch: DataProto | None = None
    more: tuple[Any, ...] = ()


class Failure(NamedTuple):
    """What a worker tells in place of a result.

    Attributes:
        cause: the exception in one line.
        traceback: where it was raised, as text.
        node: the machine of the worker; empty where nobody is there to say it.
        contract: the exception itself, where it is a broken contract.
    """

    cause: str
    traceback: str
    node: str
    contract: ContractError | None = None
