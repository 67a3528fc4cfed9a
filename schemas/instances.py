"""Instances of `BatchSchema`: their values sorted into stores, and stores made into an instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from batchpact.schemas.batch import WITHHELD, BatchSchema, Looked, fill
from batchpact.schemas.columns import NamedColumns, by_name, field_name
from batchpact.schemas.compiled import Compiled
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores, read_only


def instance_stores(instance: BatchSchema, schema: type[BatchSchema] | None = None) -> Stores:
    """The values of an instance as stores. None where None is a default counts as absent.

    Args:
        instance: the instance.
        schema: a class with the same attributes whose keys count; the instance's own where None.
    """
    compiled = (type(instance) if schema is None else schema).__batchpact__
    homes = compiled.homes
    tensors: dict[str, object] = {}
    columns: dict[str, object] = {}
    meta: dict[str, object] = {}
    args: dict[str, object] = {}
    by_placement = {"tensor": tensors, "non_tensor": columns, "tag": columns, "meta": meta, "arg": args}
    for name, value in instance.__dict__.items():
        home = homes.get(name)
        if home is None:
            if name != WITHHELD and value is not None and name not in compiled.columns:
                by_placement[_kind(value)][name] = value
            continue
        field, placement = home
        if value is not None or (field.required and field.when is None):
            by_placement[placement or _place_by_kind(field, value)][field.key] = value
    if compiled.columns:
        for key, column, place in _named_columns(instance, compiled):
            by_placement[place][key] = column
    return Stores(tensors, columns, meta, args)


def _named_columns(instance: BatchSchema, compiled: Compiled) -> Iterator[tuple[str, object, PlacementName]]:
    """The columns that an instance holds by their names."""
    taken = {field.key for field, _ in compiled.homes.values()}
    for name, declared in compiled.columns.items():
        field = declared.spec
        only = field.places[0].placement if len(field.places) == 1 else None
        for key, column in by_name(type(instance).__qualname__, field, instance.__dict__.get(name, {}), taken).items():
            taken.add(key)
            yield key, column, only or _place_by_kind(field, column)


def _kind(value: object) -> PlacementName:
    """Where a value of this kind stands, when nothing declares its place."""
    return "tensor" if isinstance(value, torch.Tensor) else "non_tensor" if isinstance(value, np.ndarray) else "meta"


def _place_by_kind(field: FieldSpec, value: object) -> PlacementName:
    kind = _kind(value)
    if kind == "non_tensor" and field.place("tag") is not None:
        return kind  # a tag stands among the columns
    return kind if field.place(kind) is not None else field.places[0].placement


def make_instance(
    schema: type[BatchSchema], stores: Stores, given: Mapping[str, object], withheld: Looked | None
) -> BatchSchema:
    """An instance of a schema with the values that stand in the stores, and defaults for the rest.

    Args:
        schema: the class.
        stores: what the batch holds.
        given: arguments and meta values that come with the call; they count before the stores.
        withheld: what is told about names that the instance does not have.
    """
    compiled = schema.__batchpact__
    values: dict[str, Any] = compiled.new_defaults()
    for field in compiled.spec.fields:
        for place in field.places:
            value = given.get(field.key) if place.placement in ("arg", "meta") else None
            if value is None:
                value = stores.store(place.placement).get(field.key)
            if value is not None:
                values[field.name] = _guarded(value)
                break
        else:
            if field.when is not None:  # nobody knows whether it should be there
                values.setdefault(field.name, None)
    if compiled.spec.extra == "allow":
        declared = {field.key for field in compiled.spec.fields}
        for _, held in stores.by_placement():
            values.update({key: _guarded(value) for key, value in held.items() if key not in declared})
    for name in compiled.columns:
        keys = {key: field_name(name, key) for key in compiled.named.get(name, ())}
        held = {key: found for key, each in keys.items() if (found := values.pop(each, None)) is not None}
        values[name] = NamedColumns(held, withheld)
    if withheld is not None:
        values[WITHHELD] = withheld
    made = object.__new__(schema)
    fill(made, values)
    return made


def _guarded(value: object) -> object:
    """A value into which nobody writes by mistake, where it is a column."""
    return read_only(value) if isinstance(value, np.ndarray) else value


def copy_instance(instance: BatchSchema) -> BatchSchema:
    """An instance of the same kind with the same values."""
    made = object.__new__(type(instance))
    fill(made, dict(instance.__dict__))
    return made
