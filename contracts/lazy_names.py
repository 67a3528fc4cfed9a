"""Names of a package that are imported when they are first used: `batchpact --help` must not import torch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module


def look_up(package: str, homes: Mapping[str, str], name: str) -> object:
    """What a package has under a name, which it has from then on.

    Args:
        package: the name of the package.
        homes: the module of each name, as seen from the package.
        name: the name.

    Raises:
        AttributeError: if it has no such name.
    """
    home = homes.get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{package}.{home}"), name)
    setattr(sys.modules[package], name, value)
    return value
