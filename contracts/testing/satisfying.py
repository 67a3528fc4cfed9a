"""Rules over several fields are any code: what they say of a draw is asked for, until all of them hold.

Where a rule is broken its makers are asked first. Rows in which one is still broken are then drawn anew, others kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np
from torch import Tensor

from batchpact.contracts.testing.choosing import Chosen
from batchpact.contracts.testing.draft import Draft, copied
from batchpact.contracts.testing.overrides import Held, exchanged
from batchpact.contracts.testing.unmeetable import SampleError, unmeetable
from batchpact.schemas.compiled import Compiled
from batchpact.schemas.describe import describe
from batchpact.schemas.record import RowRuleSpec
from batchpact.schemas.rules import broken_rows, makers_of
from batchpact.schemas.stores import Column, Stores, column
from batchpact.schemas.text import join_names
from batchpact.schemas.values import instance_for_rules
from batchpact.schemas.violations import Violation

TURNS = 50
"""How often rows are drawn anew."""
_PASSES = 3
"""How often makers are asked in one turn: what one makes may break the rule of another."""


class Satisfying:
    """Draws the rows of a draft until rules hold.

    Args:
        draft: what draws.
        chosen: the meta and the arguments beside the rows.
    """

    def __init__(self, draft: Draft, chosen: Chosen) -> None:
        self._draft = draft
        self._chosen = chosen
        self._compiled: Compiled = chosen.schema.__batchpact__

    def run(self, rules: Collection[str] | None = None) -> tuple[dict[str, Held], list[str]]:
        """Draw until rules hold.

        Args:
            rules: the names of the rules that count; None for all.

        Returns:
            The fields with one value per row, and the rules that did not hold in the end.
        """
        names = [spec.name for spec in self._compiled.spec.rules if rules is None or spec.name in rules]
        values = self._draft.draw(0)
        broken: dict[str, list[int]] = {}
        for turn in range(1, TURNS + 1):
            self._make(values, names)
            broken = {name: rows for name in names if (rows := self._broken(name, values))}
            if not broken:
                break
            again = sorted({row for rows in broken.values() for row in rows})
            other = self._draft.draw(turn)
            values = {
                key: value if key in self._draft.kept else exchanged(value, other[key], again)
                for key, value in values.items()
            }
        return values, [*broken]

    def explain(self, broken: Collection[str], given: Collection[str]) -> list[Violation]:
        """Why no draw was found: the rules that cannot hold, and those that hold alone but not together.

        Args:
            broken: the rules that did not hold in the end.
            given: the keys of fields that were given, which may be to blame.
        """
        specs = {spec.name: spec for spec in self._compiled.spec.rules}
        runs = {name: self.run([name]) for name in specs}
        alone = [name for name, (_, still_broken) in runs.items() if not still_broken]
        never = [name for name in broken if name not in alone]
        hint = f"given: {join_names([*given])}" if given else "make= on the rule says how"
        if never:
            return [self._unmet(specs[name], runs[name][0], hint) for name in never]
        text = f"no draw of {TURNS} keeps to all of {join_names(alone)}; each holds alone"
        return [unmeetable(", ".join(broken), text, "rules that can hold together", hint)]

    def _unmet(self, spec: RowRuleSpec, values: Mapping[str, Held], hint: str) -> Violation:
        """A rule that no draw keeps to, or that does something else than to answer."""
        found = broken_rows(self._compiled.rules[spec.name], self._instance(values), self._draft.rows)
        if isinstance(found, str):
            return unmeetable(spec.name, found, spec.description or spec.qualname)
        return unmeetable(spec.name, f"no draw of {TURNS} keeps to it", spec.description or spec.qualname, hint)

    def _broken(self, name: str, values: Mapping[str, Held]) -> list[int]:
        """The rows in which a rule is broken; all rows where it does not say."""
        found = broken_rows(self._compiled.rules[name], self._instance(values), self._draft.rows)
        return list(range(self._draft.rows)) if isinstance(found, str) else found

    def _instance(self, values: Mapping[str, Held]) -> Any:
        return instance_for_rules(self._chosen.schema, stores_of(self._chosen, values))

    def _make(self, values: dict[str, Held], names: Collection[str]) -> None:
        """Ask the makers of broken rules."""
        for _ in range(_PASSES):
            made = [key for name in names if self._broken(name, values) for key in self._made_for(name, values)]
            if not made:
                return

    def _made_for(self, name: str, values: dict[str, Held]) -> Iterator[str]:
        """Ask the makers of a rule in their order, until it holds; the keys of what they made."""
        for attribute, make in makers_of(self._compiled.rules[name]).items():
            home = self._compiled.homes.get(attribute)
            if home is None:
                raise _wrong(name, f"make= names {attribute!r}", "the attribute of a field")
            key = home[0].key
            if key not in values and key not in self._chosen.meta:
                continue
            if key in self._draft.fixed or key in self._chosen.told:
                continue
            try:
                made: Any = make(self._instance(values))
            except Exception as error:  # a maker is a user's code, as a rule is
                raise _wrong(name, f"make= of {attribute} raised {type(error).__name__}: {error}", "a value") from error
            if key in values:
                value: object = column(made) if isinstance(made, (list, tuple)) else made
                if not _fits(value, values[key]):
                    raise _wrong(
                        name, f"make= of {attribute} gives {describe(made)}", f"as it is now: {describe(values[key])}"
                    )
                self._put(values, key, value)
            else:
                self._chosen.meta[key] = made
            yield key
            if not self._broken(name, values):
                return

    def _put(self, values: dict[str, Held], key: str, value: Held) -> None:
        for field in self._draft.twins.of(key):
            if field.key not in self._draft.fixed:
                values[field.key] = value if field.key == key else copied(value)
        self._draft.put_back(values)


def stores_of(chosen: Chosen, values: Mapping[str, Held]) -> Stores:
    """A draw as stores, with the arguments of its call."""
    tensors: dict[str, object] = {}
    columns: dict[str, Column] = {}
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            columns[key] = value
        else:
            tensors[key] = value
    return Stores(tensors, columns, chosen.meta, chosen.args)


def _fits(made: object, value: Held) -> TypeGuard[Held]:
    """Whether what a maker gave can stand in the place of what was drawn: its own rows, one by one."""
    if not isinstance(value, Tensor):
        return isinstance(made, np.ndarray) and len(made) == len(value)
    if not isinstance(made, Tensor) or made.is_nested != value.is_nested:
        return False
    return made.dim() == value.dim() if value.is_nested else made.shape == value.shape


def _wrong(rule: str, actual: str, expected: str) -> SampleError:
    return SampleError("where a rule is kept", [unmeetable(rule, actual, expected)])
