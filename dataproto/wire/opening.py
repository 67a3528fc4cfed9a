"""The first thing in a pickled batch: in which version it is written, told before anything else of it is read."""

from __future__ import annotations

from collections.abc import Callable

from batchpact.dataproto.wire.unpacking import malformed
from batchpact.schemas.describe import describe

FORMAT = "batchpact batch"
VERSION = 1


class Opening:
    """Stands for the version in what is sent."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[[object, object], int], tuple[str, int]]:
        return receive_opening, (FORMAT, VERSION)


def receive_opening(found: object, version: object) -> int:
    """The version of a pickled batch, where it is one that can be read here.

    Pickle calls this before it looks at the rest, which may refer to what only another version has.

    Raises:
        BatchError: if it cannot be read here.
    """
    if found != FORMAT:
        raise malformed("batch", describe(found) if not isinstance(found, str) else repr(found[:40]), f"'{FORMAT}'")
    if version != VERSION:
        expected = f"version {VERSION}, which this batchpact reads; give sender and receiver the same batchpact"
        raise malformed("batch", f"version {version!r}", expected)
    return VERSION
