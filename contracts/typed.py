"""Instances of `BatchSchema` at a boundary: their values sorted into stores, and stores made into an instance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from batchpact.dataproto.withheld import Withheld
from batchpact.schemas.batch import WITHHELD, BatchSchema, fill
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores


def instance_stores(instance: BatchSchema) -> Stores:
    """The values of an instance as stores. None where None is a default counts as absent."""
    sorted_values = Stores({}, {}, {}, {})
    by_name = {field.name: field for field in type(instance).__batchpact__.spec.fields}
    for name, value in instance.__dict__.items():
        if name == WITHHELD:
            continue
        field = by_name.get(name)
        if value is None and (field is None or not field.required):
            continue
        key = name if field is None else field.key
        sorted_values.store(_placement(field, value))[key] = value  # type: ignore[index]
    return sorted_values


def _placement(field: FieldSpec | None, value: object):  # type: ignore[no-untyped-def]
    """Where a value belongs: as declared, and where several places are, or none is, by its kind."""
    if field is not None and len(field.places) == 1:
        return field.places[0].placement
    kind = "tensor" if isinstance(value, torch.Tensor) else "non_tensor" if isinstance(value, np.ndarray) else "meta"
    if field is None or field.place(kind) is not None:  # type: ignore[arg-type]
        return kind
    return field.places[0].placement


def make_instance(
    schema: type[BatchSchema], stores: Stores, extra_meta: Mapping[str, object], withheld: Withheld | None
) -> BatchSchema:
    """An instance of a schema with the values that stand in the stores, and defaults for the rest."""
    compiled = schema.__batchpact__
    values = compiled.new_defaults()
    for field in compiled.spec.fields:
        for place in field.places:
            value = extra_meta.get(field.key) if place.placement in ("arg", "meta") else None
            if value is None:
                value = stores.store(place.placement).get(field.key)
            if value is not None:
                if place.placement == "non_tensor" and isinstance(value, np.ndarray):
                    value = value.view()
                    value.flags.writeable = False
                values[field.name] = value
                break
    if compiled.spec.extra == "allow":
        declared = {field.key for field in compiled.spec.fields}
        values.update(
            {key: value for _, held in stores.by_placement() for key, value in held.items() if key not in declared}
        )
    if withheld is not None:
        values[WITHHELD] = withheld
    made = object.__new__(schema)
    fill(made, values)
    return made
