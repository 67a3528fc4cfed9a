"""Fields that hold the same values: `SameAs` twins, drawn once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from batchpact.schemas.record import FieldSpec, RuleSpec


class Twins:
    """The fields of a sample, in classes of those that have the same values.

    Args:
        fields: the fields, in their order.
    """

    def __init__(self, fields: Iterable[FieldSpec]) -> None:
        self._classes: dict[str, list[FieldSpec]] = {}
        for field in fields:
            self._classes[field.key] = [field]
        for field in [field for members in list(self._classes.values()) for field in members]:
            if field.same_as in self._classes and field not in self._classes[field.same_as]:
                joined = [*self._classes[field.same_as], *self._classes[field.key]]
                for member in joined:
                    self._classes[member.key] = joined

    def __iter__(self) -> Iterator[Sequence[FieldSpec]]:
        """Each class once."""
        seen: set[int] = set()
        for members in self._classes.values():
            if id(members) not in seen:
                seen.add(id(members))
                yield members

    def of(self, key: str) -> Sequence[FieldSpec]:
        """The fields that have the values of this one, itself among them."""
        return self._classes.get(key, ())


def rules_of(members: Iterable[FieldSpec]) -> list[RuleSpec]:
    """What the values of twins have to keep to: the rules of all of them."""
    found: list[RuleSpec] = []
    for rule in (rule for field in members for rule in field.rules):
        if rule not in found:
            found.append(rule)
    return found
