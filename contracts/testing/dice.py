"""Random numbers for each field by itself: what one field draws does not depend on which others there are."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

import numpy as np


class Dice(NamedTuple):
    """Where random numbers come from.

    Attributes:
        seed: what the caller chose.
        attempt: which of several draws of everything this is.
        turn: which of several draws of the rows.
    """

    seed: int
    attempt: int = 0
    turn: int = 0

    def of(self, name: str) -> np.random.Generator:
        """The generator of a field, or of what else has a name; always the same one."""
        return np.random.default_rng([self.seed % 2**64, self.attempt, self.turn, crc32(name.encode())])

    def again(self, turn: int) -> Dice:
        """For another draw of the rows."""
        return self._replace(turn=turn)
