"""The names of axes: first those of the vocabulary, then what has the same size, then new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, count

from batchpact.contracts.inferring.seen import Seen
from batchpact.contracts.inferring.sizes import Names, Sizes, agree, sizes_of
from batchpact.contracts.inferring.vocabulary import Word, words_for
from batchpact.schemas.dims import size_text
from batchpact.schemas.equality import equal
from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.text import join_names, quoted

_TEXT = Expression.name("prompt") + Expression.name("response")
_FIRST, _FURTHER = "length", "size"
"""What axes are called of which nothing is known: the second of a tensor, and those behind it."""


@dataclass
class Adopted:
    """The fields that the vocabulary has words for, and what is wrong with the words of others.

    Attributes:
        words: the word of a field, by its place in the list of fields.
        reasons: why a field that there are words for has none of them, by its place.
        names: the sizes that the words bind.
    """

    words: dict[int, Word] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)


def adopt(fields: Sequence[Seen]) -> Adopted:
    """Take the words of the vocabulary where the data agrees with them, and with each other."""
    found = Adopted()
    options: dict[int, list[Word]] = {}
    for at, seen in enumerate(fields):
        for word in words_for(seen.key):
            reason = word.disagreement(seen) or _broken_twin(word, seen, fields)
            if not reason:
                options.setdefault(at, []).append(word)
            else:
                found.reasons.setdefault(at, f"not {word.name} of the vocabulary: {reason}")
    while True:
        found.words = {at: words[0] for at, words in options.items() if words}
        found.names = Names()
        rejected = _bind(fields, found.words, found.names)
        if not rejected:
            return found
        for at, reason in rejected.items():
            found.reasons[at] = f"not {found.words[at].name} of the vocabulary: {reason}"
            options[at].pop(0)


def _broken_twin(word: Word, seen: Seen, fields: Sequence[Seen]) -> str:
    twin = word.field.same_as
    if twin is None:
        return ""
    other = next((field for field in fields if field.key == twin), None)
    if other is None:
        return f"there is no {twin}, which it is the same as"
    same = all(equal(value, other.values.get(batch)) for batch, value in seen.values.items())
    return "" if same else f"its values are not those of {twin}"


def _bind(fields: Sequence[Seen], words: dict[int, Word], names: Names) -> dict[int, str]:
    """Bind the names in the dims of these words.

    Returns:
        The fields that are not as most others say, with the reason.
    """
    plain: dict[str, list[tuple[int, Sizes]]] = {}
    computed: list[tuple[int, Expression, Sizes]] = []
    for at, word in words.items():
        place = word.field.place("tensor")
        if place is None:
            continue
        for dim, sizes in sizes_of(fields[at], parse_dims(place.dims or "")):
            if dim.expression is not None:
                computed.append((at, dim.expression, sizes))
            elif dim.kind == "name":
                plain.setdefault(dim.text, []).append((at, sizes))
    rejected: dict[int, str] = {}
    for name, votes in plain.items():
        groups: list[list[tuple[int, Sizes]]] = []
        for vote in votes:
            group = next((group for group in groups if all(agree(vote[1], other) for _, other in group)), None)
            groups.append([vote]) if group is None else group.append(vote)
        most = max(groups, key=len)
        said = f"{name} is {_shown(most[0][1])} in {join_names([fields[at].key for at, _ in most])}"
        rejected.update({at: f"{said}, and {_shown(sizes)} here" for g in groups if g is not most for at, sizes in g})
        for _, sizes in most:
            names.bind(name, sizes)
    if rejected:
        return rejected
    for at, expression, sizes in computed:
        unbound = names.unbound(expression)
        if len(unbound) > 1:
            return {at: f"nothing here says what {quoted(unbound)} are"}
        if not names.holds(expression, sizes):
            return {at: f"{expression} is another size than {_shown(sizes)}"}
    return {}


def _shown(sizes: Sizes) -> str:
    return join_names(list(dict.fromkeys(size_text(size) for size in sizes.values())), limit=3)


class Axes:
    """Names the axes of the fields that the vocabulary has no word for.

    Args:
        names: the sizes that are known; new names are added.
        keys: keys of integer meta fields, which would bind the dims of their names.
    """

    def __init__(self, names: Names, keys: Sequence[str]) -> None:
        self._names = names
        self._keys = keys

    def name(self, axis: int, sizes: Sizes) -> tuple[str, str]:
        """What an axis is called, and what is uncertain about it, in words."""
        sums = self._sums(sizes)
        found = [*sorted(self._names.alike(sizes), key=lambda name: name != "response"), *sums]
        if not found:
            return self._new(_FIRST if axis == 1 else _FURTHER, sizes)
        if len(found) > 1:
            return found[0], f"a guess: {found[0]} by its size, and so would be {join_names(found[1:])}"
        return found[0], "" if found[0] not in sums or found[0] == str(_TEXT) else f"a guess: {found[0]} by its size"

    def _sums(self, sizes: Sizes) -> list[str]:
        """The sums of two names that have these sizes. A sum by chance is likely but for prompt and response."""
        pairs = [Expression.name(a) + Expression.name(b) for a, b in combinations(self._names, 2)]
        differ = len({size for size in sizes.values() if isinstance(size, int)}) > 1
        likely = [pair for pair in pairs if pair == _TEXT or differ]
        known = [pair for pair in likely if all(self._names.of(name).keys() >= sizes.keys() for name in pair.names())]
        return [str(pair) for pair in known if self._names.holds(pair, sizes)]

    def _new(self, word: str, sizes: Sizes) -> tuple[str, str]:
        taken = {*self._names, *self._keys, "batch"}
        words = chain([word], (f"{word}_{number}" for number in count(2)))
        name = next(word for word in words if word not in taken)
        self._names.bind(name, sizes)
        several = {size for size in sizes.values() if isinstance(size, int)}
        fixed = len(sizes) > 1 and len(several) == 1 and all(isinstance(size, int) for size in sizes.values())
        return name, f"{name} is {_shown(sizes)} in each batch: it may be a fixed size" if fixed else ""
