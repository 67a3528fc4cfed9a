"""Auto-padding, as verl switches it: for every batch, or for one by a key in its meta."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from batchpact.dataproto.refusal import refuse
from batchpact.schemas.describe import describe

AUTO_PADDING_KEY = "_verl_auto_padding"
"""verl's own key, so that a batch that goes to verl and back keeps its setting."""


class _Switch(type):
    """The settings are attributes of the class itself."""

    auto_padding_key = AUTO_PADDING_KEY
    _enabled = False

    @property
    def auto_padding(cls) -> bool:
        """Whether auto-padding is on for every batch; VERL_AUTO_PADDING in the environment switches it on, too."""
        return cls._enabled or os.getenv("VERL_AUTO_PADDING", "").upper() in ("TRUE", "1")

    @auto_padding.setter
    def auto_padding(cls, enabled: bool) -> None:
        if not isinstance(enabled, bool):
            raise refuse("DataProtoConfig.auto_padding", "BP045", "auto_padding", describe(enabled), "True or False")
        cls._enabled = enabled


class DataProtoConfig(metaclass=_Switch):
    """Settings for every batch of the process: `DataProtoConfig.auto_padding = True`."""


def padding_enabled(meta: Mapping[str, Any]) -> bool:
    """Whether a batch with this meta may be cut into unequal parts."""
    # Not meta.get: the meta that a stage is handed would take the look for an undeclared read.
    own = dict.get(meta, AUTO_PADDING_KEY, False) if isinstance(meta, dict) else meta.get(AUTO_PADDING_KEY, False)
    return bool(own) or DataProtoConfig.auto_padding
