"""Checksums of blocks: right for each length, and different for each changed byte."""

from __future__ import annotations

import numpy as np
import pytest
from xxhash import xxh3_64_hexdigest

from batchpact.dataproto.files.blocks import BLOCK, checksums, fits, verify


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_every_block_has_its_checksum(size: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
    blocks = [data[start : start + BLOCK].data for start in range(0, size, BLOCK)]
    found = checksums(data)

    assert found == "".join(map(xxh3_64_hexdigest, blocks))
    assert fits(found, size)
    assert not fits(found + "0" * 16, size)
    assert not fits(found[:-1] or "0", size)
    assert all(verify(block, number, found) for number, block in enumerate(blocks))
    for number, block in enumerate(blocks):
        block[0] ^= 1
        assert not verify(block, number, found)


def test_a_block_that_is_not_there_has_no_checksum() -> None:
    assert not verify(memoryview(b""), 0, "")
