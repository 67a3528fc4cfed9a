"""Checksums of blocks, so that whoever reads a part verifies exactly what is read."""

from __future__ import annotations

import math

from xxhash import xxh3_64_hexdigest

from batchpact.dataproto.files.arrays import Flat

BLOCK = 2**20
"""The bytes of a block; the last one of an entry may be shorter."""

_DIGITS = 16


def checksum(data: bytes | memoryview) -> str:
    """The checksum of some bytes: XXH3 with 64 bits, as 16 hexadecimal digits."""
    return xxh3_64_hexdigest(data)


def checksums(data: Flat) -> str:
    """The checksums of all blocks, one behind the other."""
    return "".join(checksum(data[start : start + BLOCK].data) for start in range(0, len(data), BLOCK))


def fits(found: str, size: int) -> bool:
    """Whether these are as many checksums as so many bytes have."""
    return len(found) == math.ceil(size / BLOCK) * _DIGITS


def verify(data: memoryview, number: int, expected: str) -> bool:
    """Whether these are the bytes of a block, by its number and the checksums of all."""
    return checksum(data) == expected[number * _DIGITS : (number + 1) * _DIGITS]
