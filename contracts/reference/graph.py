"""The lineage of a pipeline: a card for each stage with what it writes, and who reads what of whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from batchpact.contracts.proof.open_columns import columns_key
from batchpact.contracts.reference.view import View, declared, name_of
from batchpact.schemas.condition_specs import words
from batchpact.schemas.declared import type_and_shape
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec

NodeKind: TypeAlias = Literal["inputs", "stage", "outputs"]


class Item(NamedTuple):
    """A field on a card: its name, as what it is declared, and whether that depends on the configuration."""

    name: str
    declared: str
    conditional: bool


class Node(NamedTuple):
    """A card.

    Attributes:
        kind: what it stands for.
        at: the number of the stage; -1 for the inputs, and the number after the last stage for the outputs.
        name: the name of the stage; `inputs`, `outputs`.
        description: what its authors say of it.
        when: the condition under which it runs, in words; empty where it always does.
        items: what it writes, holds at the start, or delivers at the end.
        drops: the fields that it drops.
    """

    kind: NodeKind
    at: int
    name: str
    description: str
    when: str
    items: tuple[Item, ...]
    drops: tuple[str, ...] = ()


class Edge(NamedTuple):
    """What one stage reads of another.

    Attributes:
        writer: the number of the writer, as of its card.
        reader: the number of the reader.
        fields: the fields, in the order in which they are declared.
        conditional: whether nothing flows here in some configurations.
    """

    writer: int
    reader: int
    fields: tuple[str, ...]
    conditional: bool


class Graph(NamedTuple):
    """Cards and what flows between them. Inputs that nobody takes, and outputs that nobody wants, have no card."""

    pipeline: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph(view: View) -> Graph:
    """The lineage of a pipeline."""
    return Graph(view.pipeline.name, tuple(_nodes(view)), tuple(_edges(view)))


def _nodes(view: View) -> Iterator[Node]:
    pipeline = view.pipeline
    inputs = tuple(map(_item, declared(pipeline.inputs)))
    if inputs:
        yield Node("inputs", -1, "inputs", pipeline.inputs.description, "", inputs)
    for at, stage in enumerate(pipeline.stages):
        items = tuple(map(_item, declared(stage.writes)))
        when = "" if stage.when is None else words(stage.when)
        yield Node("stage", at, stage.name, stage.description, when, items, stage.drops)
    if pipeline.outputs:
        outputs = tuple(Item(key, "", False) for key in pipeline.outputs)
        yield Node("outputs", len(pipeline.stages), "outputs", "", "", outputs)


def _item(field: FieldSpec) -> Item:
    return Item(name_of(field), " or ".join(map(type_and_shape, field.places)), field.when is not None)


def _edges(view: View) -> Iterator[Edge]:
    stages = view.pipeline.stages
    flows: dict[tuple[int, int], list[FieldSpec]] = {}
    reads = [_by_key(stage.reads) for stage in stages]
    for writer, reader, key in view.flow.edges:
        if key in reads[reader]:
            flows.setdefault((writer, reader), []).append(reads[reader][key])
    for writer, schema in enumerate((view.pipeline.inputs, *(stage.writes for stage in stages)), start=-1):
        out = [field for field in declared(schema) if view.is_delivered(writer, field)]
        if out:
            flows[writer, len(stages)] = out
    for (writer, reader), fields in sorted(flows.items(), key=lambda flow: flow[0]):
        names = tuple(dict.fromkeys(map(name_of, fields)))
        switched = any(_switched(stages, at) for at in (writer, reader))
        yield Edge(writer, reader, names, switched or all(field.when is not None for field in fields))


def _by_key(schema: SchemaSpec) -> dict[str, FieldSpec]:
    return {columns_key(field): field for field in declared(schema)}


def _switched(stages: tuple[StageSpec, ...], at: int) -> bool:
    return 0 <= at < len(stages) and stages[at].when is not None
