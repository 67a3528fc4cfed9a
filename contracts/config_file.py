"""A configuration from a file, for checks of one configuration."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from batchpact.schemas.errors import SettingError
from batchpact.schemas.violations import Violation


def load_config(path: str) -> Any:
    """The configuration in a YAML or JSON file; YAML by OmegaConf where it is installed, so that it interpolates.

    Raises:
        SettingError: if there is no such file, or it holds no mapping.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(path, str(error), "a YAML or JSON file") from None
    try:
        if file.suffix == ".json":
            found: Any = json.loads(text)
        elif find_spec("omegaconf") is not None:
            from omegaconf import OmegaConf

            found = OmegaConf.create(text)
        else:
            import yaml

            found = yaml.safe_load(text)
    except Exception as error:  # each parser has errors of its own, and all of them say where
        raise _wrong(path, f"it cannot be read: {str(error).splitlines()[0]}", "YAML or JSON") from None
    if not hasattr(found, "keys"):
        raise _wrong(path, f"it holds a {type(found).__name__}", "a mapping, as the trainer's configuration is")
    return found


def _wrong(path: str, actual: str, expected: str) -> SettingError:
    violation = Violation(code="BP052", field="config", actual=actual, expected=expected)
    return SettingError(f"in the configuration {path}", [violation])
