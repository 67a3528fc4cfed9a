"""How a sample is laid out, where its schema leaves that open."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Manner:
    """What a schema leaves open and code is often wrong about.

    Attributes:
        even: rows are equally long: jagged tensors have one length, and masks no padding.
        without: keys of optional fields that are left out.
        bfloat16: floating-point fields are bfloat16 where they admit it.
        strided: dense tensors are not contiguous.
        reordered: the fields stand in another order than declared.
    """

    even: bool = False
    without: Set[str] = frozenset()
    bfloat16: bool = False
    strided: bool = False
    reordered: bool = False


PLAIN = Manner()
"""What `sample` draws."""
