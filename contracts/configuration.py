"""What a condition looks at, as the configuration of a run (`schemas/configuration.py`) and a batch say it."""

from __future__ import annotations

from batchpact.schemas.condition_specs import UNKNOWN, SubjectSpec
from batchpact.schemas.configuration import ABSENT, Absent, config_in_use, config_value, look_up, use_config
from batchpact.schemas.stores import Stores

__all__ = ["ABSENT", "Absent", "config_in_use", "config_value", "look_up", "of_batch", "of_config", "use_config"]


def of_config(config: object, subject: SubjectSpec) -> object:
    """What a condition looks at, as far as a configuration alone says it."""
    if subject.source != "config" or config is None:
        return UNKNOWN
    value = look_up(config, subject.name)
    return subject.default if value is ABSENT else value


def of_batch(config: object, held: Stores, subject: SubjectSpec) -> object:
    """What a condition looks at, as far as a configuration and a batch say it."""
    if subject.source == "present":
        return held.find(subject.name) is not None
    if subject.source in ("meta", "step"):
        return held.meta.get(subject.name, subject.default)
    return of_config(config, subject)
