"""The words of `schemas.rl.fields`: which of them may be meant by a key, and whether the data agrees with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import new_class
from typing import Annotated, Any, get_args

from batchpact.contracts.inferring.seen import Seen, Unread
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.markers import From, Name, Placed
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.rl import fields
from batchpact.schemas.stage import snake_case
from batchpact.schemas.text import sentence
from batchpact.schemas.values import check_values

_KINDS = ("whole_", "multi_axis_", "any_")
"""How several words for one key tell themselves apart; the key itself is without."""


@dataclass(frozen=True)
class Word:
    """A field type of the vocabulary.

    Attributes:
        name: as it is written: `Prompts`, `jagged.Prompts`.
        schema: a schema with this field alone.
        named: whether the word itself says its key.
    """

    name: str
    schema: type[BatchSchema]
    named: bool

    @property
    def field(self) -> FieldSpec:
        """What the word declares."""
        return self.schema.__batchpact__.spec.fields[0]

    def disagreement(self, seen: Seen) -> str:
        """What in the data is not as the word says, values included; empty where it agrees."""
        for batch, value in seen.values.items():
            if value is None and self.field.place(seen.places[batch]) is not None:
                continue  # it is optional then
            if isinstance(value, Unread):
                return "its values were not read"
            stores = seen.stores(batch)
            broken = diagnose(self.schema.__batchpact__.plan, stores).violations
            # What the names in its sums are is said by other fields.
            wrong = [violation for violation in broken if violation.code != "BP014"] or check_values(
                self.schema, stores
            )
            if wrong:
                return sentence(wrong[0].model_copy(update={"hint": ""}))
        return ""


@cache
def words_for(key: str) -> tuple[Word, ...]:
    """The words that say what stands under a key, the likeliest first."""
    named = _names().get(key, {})
    words = [Word(name, _schema(key, word), _marked_key(word) is not None) for name, word in named.items()]
    return tuple(sorted(words, key=lambda word: "..." in (word.field.places[0].dims or "")))  # the narrower ones first


@cache
def _names() -> Mapping[str, Mapping[str, Any]]:
    """The words of each key, under the names by which they are written."""
    found: dict[str, dict[str, Any]] = {}
    for module, prefix in ((fields, ""), (fields.jagged, "jagged."), (fields.tags, "tags.")):
        for name, word in vars(module).items():
            if name[0].isupper() and get_args(word):
                for key in _keys(name, word):
                    found.setdefault(key, {})[prefix + name] = word
    return found


def _keys(name: str, word: object) -> set[str]:
    """The keys that a word is for: an argument may be called like the key of the configuration that fills it."""
    marked = _marked_key(word)
    if marked is not None:
        return {marked}
    key = snake_case(name)
    plain = next((key.removeprefix(kind) for kind in _KINDS if key.startswith(kind)), key)
    paths = [mark.path for mark in get_args(word) if isinstance(mark, From)]
    return {plain, *(path.rpartition(".")[2] for path in paths if Placed("arg") in get_args(word))}


def _marked_key(word: object) -> str | None:
    return next((mark.key for mark in get_args(word) if isinstance(mark, Name)), None)


def _schema(key: str, word: Any) -> type[BatchSchema]:
    named = Annotated[word, Name(key)] if _marked_key(word) is None else word
    body = {"__module__": __name__, "__annotations__": {"field": named}}
    return new_class("Word", (BatchSchema,), exec_body=lambda namespace: namespace.update(body))
