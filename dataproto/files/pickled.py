"""The one place where objects in files are pickled and read again: where both sides asked for it."""

from __future__ import annotations

import pickle

from batchpact.dataproto.files.broken import Broken, broken_by

PICKLED = "pickled objects, which can run any code when they are read"
TRUST = "allow_pickle=True, where you trust whoever wrote the file"


def pickled(value: object) -> bytes:
    """A value as a pickle.

    Raises:
        Exception: whatever pickling it raises; a user's class may do anything.
    """
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def unpickled(data: memoryview, allowed: bool) -> object:
    """What was pickled, which runs whatever the one who wrote it wants to run.

    Raises:
        Broken: if that is not allowed, or fails.
    """
    if not allowed:
        raise Broken(PICKLED, TRUST)
    try:
        return pickle.loads(data)
    except Exception as error:  # its classes may be gone, and may do anything
        broken_by(error, f"a pickled object that cannot be read: {type(error).__name__}")
