"""What is known as keys, and that nobody needs TransferQueue who has none."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import batchpact.contracts.queue
from batchpact.contracts.queue.references import has_keys, is_reference
from batchpact.dataproto import DataProto


def test_the_public_names() -> None:
    assert batchpact.contracts.queue.__all__ == ["QueueTimeoutError", "timeout"]


def test_a_stage_does_not_import_transfer_queue() -> None:
    code = "import sys, batchpact.contracts.decorator; print({'transfer_queue', 'ray', 'verl'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_batches_and_other_values_are_no_keys() -> None:
    assert [is_reference(kind) for kind in (DataProto, dict, list, type)] == [False] * 4


@pytest.mark.peers
@pytest.mark.slow
def test_both_kinds_of_transfer_queue_and_their_subclasses_are_keys() -> None:
    metadata: Any = pytest.importorskip("transfer_queue.metadata")

    class Ours(metadata.KVBatchMeta):
        pass

    assert is_reference(metadata.KVBatchMeta)
    assert is_reference(metadata.BatchMeta)
    assert is_reference(Ours)
    assert has_keys(metadata.KVBatchMeta(keys=["a"], tags=[{}]))
    assert not has_keys(metadata.BatchMeta([0], ["p"]))
