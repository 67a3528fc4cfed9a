"""What whoever samples wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from batchpact.contracts.testing.manner import Manner
from batchpact.contracts.testing.overrides import Overrides


@dataclass(frozen=True, slots=True)
class Asked:
    """What a sample has to be, beside what its schema says.

    Attributes:
        rows: the size of axis 0, or of the first dim in it where it is arithmetic; None where it is open.
        dims: sizes of dims.
        overrides: values of fields.
        manner: how the sample is laid out.
    """

    rows: int | None
    dims: Mapping[str, int]
    overrides: Overrides
    manner: Manner
