"""Which key of the configuration tells runs apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from batchpact.contracts.inferring.drafted import plain_source, quoted
from batchpact.schemas.configuration import look_up
from batchpact.schemas.text import join_names


class Configurations:
    """The configurations of several runs.

    Args:
        configs: the `plain_settings` of each run.
    """

    def __init__(self, configs: Sequence[Mapping[str, object]]) -> None:
        self._configs = configs
        self._paths = list(dict.fromkeys(path for config in configs for path in config))

    def condition(self, runs: Collection[int], among: Collection[int]) -> tuple[str, str]:
        """The source of the condition that holds in these runs, and not in the others among some.

        Returns:
            The condition, empty where not exactly one key explains the difference; and what there is to say of that.
        """
        found = {path: text for path in self._paths if (text := self._test(path, runs, among))}
        if len(found) == 1:
            return next(iter(found.values())), ""
        return "", f"{join_names(list(found))} differ alike, and any of them may decide it" if found else ""

    def path_of(self, values: Mapping[int, object], name: str = "") -> str:
        """The one path that has these values in these runs; empty where none or several have.

        Args:
            values: a value for each run.
            name: what the path ends with.
        """
        found = [path for path in self._paths if not name or path.rpartition(".")[2] == name]
        found = [path for path in found if all(_equal(self._value(run, path), value) for run, value in values.items())]
        return found[0] if len(found) == 1 else ""

    def _value(self, run: int, path: str) -> Any:
        return self._configs[run].get(path)

    def _test(self, path: str, runs: Collection[int], among: Collection[int]) -> str:
        inside = [self._value(run, path) for run in runs]
        outside = [self._value(run, path) for run in among if run not in runs]
        subject = f"config({quoted(path)})"
        if not inside or not outside:
            return ""
        if all(inside) and not any(outside):
            return subject
        if all(outside) and not any(inside):
            return f"~{subject}"
        for test, mine, others in (("==", inside, outside), ("!=", outside, inside)):
            if all(_equal(value, mine[0]) for value in mine) and not any(_equal(v, mine[0]) for v in others):
                return f"{subject} {test} {plain_source(mine[0])}"
        return ""


def _equal(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def plain_settings(config: object) -> dict[str, object]:
    """Everything in a configuration that is a plain value, by its path, as it is now: a program may change it later."""
    return dict(_plain(config, ""))


def _plain(config: Any, before: str) -> Iterator[tuple[str, object]]:
    if hasattr(config, "keys") and hasattr(config, "__getitem__"):
        names = [name for name in config.keys() if isinstance(name, str)]
    elif dataclasses.is_dataclass(config):
        names = [field.name for field in dataclasses.fields(config)]
    else:
        names = list(getattr(type(config), "model_fields", ()))
    for name in names:
        try:
            value = look_up(config, name)
        except Exception:  # OmegaConf has errors of many kinds for what is not set, or refers to what is not set
            continue
        if value is None or isinstance(value, (bool, int, float, str)):
            yield f"{before}{name}", value
        else:
            yield from _plain(value, f"{before}{name}.")
