"""Keys of a configuration that are asked about together: which of their combinations no question tells apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product

from batchpact.contracts.proof.cases import Key
from batchpact.schemas.condition_specs import ConditionSpec


class Part:
    """A part of a space: keys, and their combinations in classes that answer all questions alike.

    Args:
        keys: how many cases each key has.
        asked: the conditions about these keys, by their texts.
        holds: whether a condition holds, where each key has one of its cases.

    Attributes:
        keys: the keys.
        asked: the texts of the conditions.
        classes: how many classes there are.
        class_of: the class of each combination, in the order in which the last key changes fastest.
    """

    def __init__(
        self,
        keys: Mapping[Key, int],
        asked: Mapping[str, ConditionSpec],
        holds: Callable[[ConditionSpec, Mapping[Key, int]], bool],
    ) -> None:
        self.keys: Sequence[Key] = tuple(keys)
        self.asked: Sequence[str] = tuple(asked)
        self._combinations = [
            dict(zip(self.keys, cases, strict=True)) for cases in product(*(range(count) for count in keys.values()))
        ]
        classes: dict[tuple[bool, ...], int] = {}
        self.class_of = [
            classes.setdefault(tuple(holds(condition, cases) for condition in asked.values()), len(classes))
            for cases in self._combinations
        ]
        self._answers = list(classes)
        self.classes = len(classes)

    def answering(self, text: str) -> Iterator[int]:
        """The classes in which a condition holds."""
        place = self.asked.index(text)
        return (at for at, answers in enumerate(self._answers) if answers[place])

    def classes_where(self, allowed: Mapping[Key, Collection[int]]) -> set[int]:
        """The classes with a combination of allowed cases; a key that is not named may have any."""
        return {
            number
            for cases, number in zip(self._combinations, self.class_of, strict=True)
            if all(case in allowed.get(key, (case,)) for key, case in cases.items())
        }

    def cases_in(self, classes: Collection[int]) -> dict[Key, set[int]]:
        """The cases that each key has in some classes."""
        found: dict[Key, set[int]] = {key: set() for key in self.keys}
        for cases, number in zip(self._combinations, self.class_of, strict=True):
            if number in classes:
                for key, case in cases.items():
                    found[key].add(case)
        return found

    def combination_of(self, number: int) -> Mapping[Key, int]:
        """A combination of a class: the first."""
        return self._combinations[self.class_of.index(number)]


def joined(keys: Iterable[Key], together: Iterable[Collection[Key]]) -> list[list[Key]]:
    """The keys in groups, so that those that stand together are in one; in the order in which they came."""
    group_of = {key: [key] for key in keys}
    for few in together:
        groups = {id(group_of[key]): group_of[key] for key in few}
        whole = [key for group in groups.values() for key in group]
        group_of.update(dict.fromkeys(whole, whole))
    order = {key: at for at, key in enumerate(group_of)}
    found = {id(group): sorted(group, key=order.__getitem__) for group in group_of.values()}
    return list(found.values())
