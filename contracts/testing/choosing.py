"""What stands in a sample, before its rows are drawn: meta, arguments, which fields are there, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from torch import Tensor

from batchpact.contracts.configuration import ABSENT, config_in_use, config_value, of_batch
from batchpact.contracts.testing.dice import Dice
from batchpact.contracts.testing.manner import Manner
from batchpact.contracts.testing.overrides import Overrides
from batchpact.contracts.testing.python_values import python_value
from batchpact.contracts.testing.unmeetable import SampleError, Unmeetable, unmeetable
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import look_up_names, names_in
from batchpact.schemas.condition_specs import UNKNOWN, SubjectSpec, holds, subjects_in, words
from batchpact.schemas.dim_names import binds_dim, dims_of
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.narrowing import conditions_of, narrowed
from batchpact.schemas.python_types import mismatch
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a sample consists of.

    Attributes:
        schema: the schema under the answers to its conditions, with open columns as fields.
        places: where each of its fields stands that is there, by key.
        meta: the meta values.
        args: the arguments of the call.
        told: the keys of meta values and arguments that were not drawn.
        open: integers that are sizes of dims, and get their value with these.
    """

    schema: type[BatchSchema]
    places: Mapping[str, PlacementName]
    meta: dict[str, object]
    args: dict[str, object]
    told: frozenset[str]
    open: tuple[FieldSpec, ...]

    @property
    def fields(self) -> list[FieldSpec]:
        """The fields that are there."""
        return [field for field in self.schema.__batchpact__.spec.fields if field.key in self.places]


def choose(schema: type[BatchSchema], overrides: Overrides, manner: Manner, dice: Dice) -> Chosen:
    """Choose what a sample consists of.

    Raises:
        SampleError: for a value that cannot be made, names of columns that nobody tells, or an override of a field
            whose condition does not hold.
    """
    return _Choice(schema, overrides, manner, dice).run()


class _Choice:
    def __init__(self, schema: type[BatchSchema], overrides: Overrides, manner: Manner, dice: Dice) -> None:
        self._schema = schema
        self._compiled = schema.__batchpact__
        self._overrides = overrides
        self._left_out = overrides.absent | manner.without
        self._dice = dice
        self._conditions = conditions_of(self._compiled.spec)
        self._meta: dict[str, object] = {}
        self._args: dict[str, object] = {}
        self._told: set[str] = set()
        self._open: dict[str, FieldSpec] = {}
        self._places: dict[str, PlacementName] = {}

    def run(self) -> Chosen:
        spec = self._compiled.spec
        self._places = {field.key: self._placement(field) for field in spec.fields}
        for field in spec.fields:
            if self._places[field.key] in ("meta", "arg"):
                self._choose_value(field)
        self._name_columns()
        answers = self._answers()
        names = names_in(spec, self._compiled.unnamed, partial(look_up_names, self._meta))
        wrong = [
            found for name, found in names.items() if isinstance(found, Violation) and answers.get(name) is not False
        ]
        if wrong:
            raise SampleError(f"where columns of {spec.name} are named", wrong)
        schema = narrowed(self._schema, answers, names)
        fields = schema.__batchpact__.spec.fields
        places: dict[str, PlacementName] = {f.key: self._placement(f) for f in fields if self._is_there(f)}
        self._refuse_overrides(places)
        meta = {key: value for key, value in self._meta.items() if key in places or spec.field(key) is None}
        args = {key: value for key, value in self._args.items() if key in places}
        open_ones = tuple(field for key, field in self._open.items() if key in places)
        return Chosen(schema, places, meta, args, frozenset(self._told), open_ones)

    def _placement(self, field: FieldSpec) -> PlacementName:
        """Where a field stands: as its override says, or in any of its places."""
        if len(field.places) == 1:
            return field.places[0].placement
        given = self._overrides.whole.get(field.key)
        kinds: tuple[PlacementName, ...] = ("meta", "arg") if given is not None else ("tensor", "non_tensor", "tag")
        if isinstance(given, Tensor):
            kinds = ("tensor",)
        elif isinstance(given, (np.ndarray, list)):
            kinds = ("non_tensor", "tag")
        fitting = [place for place in field.places if place.placement in kinds]
        if fitting and (given is not None or field.key in self._overrides.rows):
            return fitting[0].placement
        return field.places[int(self._dice.of(f"place of {field.key}").integers(len(field.places)))].placement

    def _choose_value(self, field: FieldSpec) -> None:
        """Give a meta field or an argument its value; nothing where it is left out."""
        value = self._told_value(field)
        if value is not ABSENT:
            self._told.add(field.key)
        elif not field.required and field.key in self._left_out:
            return
        elif binds_dim(field) and field.key in dims_of(self._compiled.spec) and not self._is_asked_for(field.key):
            self._open[field.key] = field
            return
        else:
            value = self._drawn_value(field)
        if value is not None or (field.required and field.nullable):
            store = self._meta if self._places[field.key] == "meta" else self._args
            store[field.key] = value

    def _told_value(self, field: FieldSpec) -> object:
        """The value of an override, of the configuration, or the default."""
        if field.key in self._overrides.whole:
            return self._overrides.whole[field.key]
        if field.source is not None and (configured := config_value(field.source)) is not ABSENT:
            return configured
        if field.required or field.key in self._left_out:
            return ABSENT
        default = self._compiled.new_defaults().get(field.name)
        return ABSENT if default is None else default

    def _drawn_value(self, field: FieldSpec) -> object:
        live = self._compiled.plan.types[field.key][self._places[field.key]]
        if self._names_columns(field.key):
            names = _two_names(field.key)
            value = next((made for made in (names, tuple(names), set(names)) if mismatch(live, made) is None), None)
            if value is not None:
                return value
        try:
            return python_value(live, field.rules, self._dice.of(field.key))
        except Unmeetable as error:
            found = unmeetable(field.key, str(error), "a value to choose", "give it in overrides")
            raise SampleError(f"where {self._compiled.spec.name} is sampled", [found]) from None

    def _names_columns(self, key: str) -> bool:
        """Whether open columns are called what a meta value says."""
        sources = (column.named_by for column in self._compiled.unnamed)
        return any(by is not None and by.source == "meta" and by.name == key for by in sources)

    def _name_columns(self) -> None:
        """Name the columns that a meta value names which the schema does not declare."""
        for column in self._compiled.unnamed:
            by = column.named_by
            if by is None or by.source != "meta" or self._compiled.spec.field(by.name) is not None:
                continue
            given = self._overrides.whole.get(by.name)
            if given is not None or by.default is None:
                self._meta[by.name] = _two_names(by.name) if given is None else given

    def _is_asked_for(self, key: str) -> bool:
        """Whether a condition depends on a meta value or an argument."""
        asked = (subject for condition in self._conditions.values() for subject in subjects_in(condition))
        return any(subject.name == key and subject.source != "config" for subject in asked)

    def _answers(self) -> dict[str, bool | None]:
        """Whether each condition holds, also of those that depend on what is there by other conditions."""
        fields = self._compiled.spec.fields
        answers: dict[str, bool | None] = {}
        for _ in range(len(self._conditions) + 1):
            there = [field.key for field in fields if answers.get(field.name) is not False and self._is_there(field)]
            look_up = partial(self._look_up, Stores(dict.fromkeys(there), {}, self._meta))
            found = {name: holds(condition, look_up) for name, condition in self._conditions.items()}
            if found == answers:
                break
            answers = found
        return answers

    def _look_up(self, held: Stores, subject: SubjectSpec) -> object:
        if subject.source == "arg":
            return self._args.get(subject.name, subject.default)
        if subject.name in self._open and subject.source in ("meta", "step"):
            return UNKNOWN
        return of_batch(config_in_use(), held, subject)

    def _is_there(self, field: FieldSpec) -> bool:
        if self._compiled.spec.field(field.key) is not None and self._places.get(field.key) in ("meta", "arg"):
            return field.key in self._meta or field.key in self._args or field.key in self._open
        return (field.required and field.when is None) or field.key not in self._left_out

    def _refuse_overrides(self, places: Mapping[str, PlacementName]) -> None:
        declared = self._compiled.spec.fields
        off = [field for field in declared if field.key not in places and field.name in self._conditions]
        for field in off:
            if field.key in self._overrides.whole or field.key in self._overrides.rows:
                found = unmeetable(field.key, "it is given", f"it is there if {words(self._conditions[field.name])}")
                raise SampleError(f"where {self._compiled.spec.name} is sampled", [found])


def _two_names(source: str) -> list[str]:
    """Names for open columns that nobody has named."""
    return [f"{source}_a", f"{source}_b"]
