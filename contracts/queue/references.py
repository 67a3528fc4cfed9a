"""What TransferQueue hands around in place of a batch: keys of rows, or their numbers. It is never imported here."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, Protocol, TypeAlias


class KeyBatch(Protocol):
    """TransferQueue's `KVBatchMeta`: rows by the keys that somebody gave them."""

    keys: list[str]
    tags: list[dict[str, Any]]
    partition_id: str | None
    fields: list[str] | None
    extra_info: dict[str, Any] | None


class IndexBatch(Protocol):
    """TransferQueue's `BatchMeta`: rows by the numbers that its controller gave them, with the fields that it has."""

    global_indexes: list[int]
    partition_ids: list[str]
    field_schema: dict[str, dict[str, Any]]
    extra_info: dict[str, Any]
    custom_meta: list[dict[str, Any]]


Reference: TypeAlias = "KeyBatch | IndexBatch"


@lru_cache(maxsize=512)
def is_reference(kind: type) -> bool:
    """Whether values of this class stand for rows that TransferQueue holds."""
    module = sys.modules.get("transfer_queue.metadata")  # whoever has such a value has imported it
    return module is not None and issubclass(kind, (module.KVBatchMeta, module.BatchMeta))


def has_keys(reference: Reference) -> bool:
    """Whether the rows have keys, not numbers alone."""
    return hasattr(reference, "keys")
