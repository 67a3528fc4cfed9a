"""The plain record: what a field, a schema, a stage and a pipeline declare, as data.

Declarations compile to it, and every tool (checks, docs, lock, diff, graph, reports) reads it and nothing else. The
canonical form is JSON with sorted keys and no Python reprs: `record.canonical()`.
"""

from __future__ import annotations

import json
import math
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

from batchpact.schemas.condition_specs import ConditionSpec, SubjectSpec
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.policies import MergeName, Side

Layout: TypeAlias = Literal["dense", "jagged"]


class Record(BaseModel):
    """Base of all records: frozen, closed, with one canonical JSON form."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical(self) -> str:
        """The record as JSON text: keys sorted, absent values left out."""
        plain = self.model_dump(mode="json", exclude_none=True)
        return json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)


class PlaceSpec(Record):
    """One way in which a field may be placed.

    A tensor has `dtype` (a torch name such as `float32`, or a family such as `float`), the `dtypes` that it admits
    (empty: any), `dims` as written, its `layout` and, when jagged, the `ragged` dim. Every other placement has `type`.
    """

    placement: PlacementName
    dtype: str | None = None
    dtypes: tuple[str, ...] = ()
    dims: str | None = None
    layout: Layout | None = None
    ragged: str | None = None
    type: str | None = None


def named(value: JsonValue) -> JsonValue:
    """A value with infinity and NaN by name: JSON has neither."""
    if isinstance(value, list):
        return [named(part) for part in value]
    if isinstance(value, dict):
        return {key: named(part) for key, part in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


class MergeSpec(Record):
    """How meta values of several parts become one; `policy_of` is the qualified name of what says a key's policy."""

    how: MergeName = "equal"
    rtol: float | None = None
    policy_of: str | None = None
    atol: float | None = None


class PadSpec(Record):
    """What stands where there is nothing, and on which side rows are made longer. Infinity and NaN stand by name."""

    value: JsonValue = None
    side: Side | dict[str, Side] = "right"


class FillSpec(Record):
    """What an optional field holds in the rows of parts that do not have it. Infinity and NaN stand by name."""

    value: JsonValue = None


class RuleSpec(Record):
    """A rule on the values of one field: `finite`, `binary`, or a pydantic bound such as `ge` with its value."""

    kind: str
    value: JsonValue = None


class RowRuleSpec(Record):
    """A rule over several fields: a method that says of each row whether it holds, by its qualified name."""

    name: str
    qualname: str
    description: str = ""


class FieldSpec(Record):
    """One declared field.

    `name` is the attribute of the schema class and `key` the name in the batch; `same_as` is the key of its twin, and
    `named_by` says where the names of open columns stand, of which there is one key for each.
    """

    name: str
    key: str
    places: tuple[PlaceSpec, ...]
    required: bool = True
    nullable: bool = False
    default: JsonValue = None
    description: str = ""
    rules: tuple[RuleSpec, ...] = ()
    source: str | None = None
    when: ConditionSpec | None = None
    merge: MergeSpec | None = None
    pad: PadSpec | None = None
    fill: FillSpec | None = None
    role: Literal["key", "group"] | None = None
    same_as: str | None = None
    named_by: SubjectSpec | None = None

    def place(self, placement: PlacementName) -> PlaceSpec | None:
        """How the field is declared in this placement, or None where it may not stand there."""
        for place in self.places:
            if place.placement == placement:
                return place
        return None


class SchemaSpec(Record):
    """The fields that a stage reads or writes. `axis` is the dim of axis 0 in every tensor, if there is a tensor.

    `columns` are open: each stands for any number of fields that are alike, named by meta or the configuration.
    """

    name: str
    qualname: str
    description: str = ""
    fields: tuple[FieldSpec, ...] = ()
    columns: tuple[FieldSpec, ...] = ()
    rules: tuple[RowRuleSpec, ...] = ()
    extra: Literal["forbid", "allow"] = "forbid"
    axis: str | None = None

    def field(self, key: str) -> FieldSpec | None:
        """The field with this key in the batch."""
        return next((field for field in self.fields if field.key == key), None)


class RowsSpec(Record):
    """What a stage does to the batch axis. `times` is set for `repeat`: a number, or a path into the configuration."""

    kind: Literal["same", "permute", "select", "repeat", "new"] = "same"
    times: int | str | None = None

    def __str__(self) -> str:
        return self.kind if self.times is None else f"{self.kind}({self.times})"


class StageSpec(Record):
    """What a stage reads and writes, and its facts. `qualname` names the class or function that declares it."""

    name: str
    qualname: str
    description: str = ""
    reads: SchemaSpec
    writes: SchemaSpec
    rows: RowsSpec = RowsSpec()
    drops: tuple[str, ...] = ()
    pad_safe: bool = False
    graph: Literal["refuse", "allow"] = "refuse"
    layouts: tuple[Layout, ...] = ("dense", "jagged")
    when: ConditionSpec | None = None


class PipelineSpec(Record):
    """Stages in the order in which they run, with what goes in and what is wanted at the end.

    `always` are conditions that hold in every configuration that anybody runs.
    """

    name: str
    inputs: SchemaSpec
    outputs: tuple[str, ...] = ()
    stages: tuple[StageSpec, ...] = ()
    always: tuple[ConditionSpec, ...] = ()
