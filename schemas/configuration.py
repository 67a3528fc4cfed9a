"""The configuration of a run, as stages see it: a mapping, an OmegaConf config, a dataclass or a pydantic model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_CONFIG: ContextVar[object] = ContextVar("batchpact_config", default=None)


class Absent:
    """Stands for a value that the configuration does not have, as None may be one that it has."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@contextmanager
def use_config(config: object) -> Iterator[None]:
    """Stages that are called in the block fill their `From(...)` fields from this configuration.

    Args:
        config: a mapping, an OmegaConf config, a dataclass or a pydantic model, nested as you like.
    """
    token = _CONFIG.set(config)
    try:
        yield
    finally:
        _CONFIG.reset(token)


def config_in_use() -> object:
    """The configuration of the innermost `use_config` block, or None."""
    return _CONFIG.get()


def config_value(path: str) -> object:
    """The value at a dotted path of the configuration in use, or `ABSENT`."""
    config = _CONFIG.get()
    return ABSENT if config is None else look_up(config, path)


def look_up(config: object, path: str) -> object:
    """The value at a dotted path, or `ABSENT`; a path never calls anything."""
    here: Any = config
    for part in path.split("."):
        if isinstance(here, Mapping) or (hasattr(here, "keys") and hasattr(here, "__getitem__")):
            if part not in here:
                return ABSENT
            here = here[part]
        elif part.startswith("_") or not hasattr(here, part):
            return ABSENT
        else:
            here = getattr(here, part)
    return here
