"""A batch from a schema: `sample` makes one, a `Sampler` as many as wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from batchpact.contracts.testing.asked import Asked
from batchpact.contracts.testing.choosing import Chosen, choose
from batchpact.contracts.testing.dice import Dice
from batchpact.contracts.testing.draft import Draft
from batchpact.contracts.testing.manner import PLAIN, Manner
from batchpact.contracts.testing.overrides import Given, Overrides
from batchpact.contracts.testing.satisfying import Satisfying, stores_of
from batchpact.contracts.testing.unmeetable import SampleError, unmeetable
from batchpact.dataproto import DataProto
from batchpact.schemas.axes import is_dense
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import describe
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.dim_names import dims_of
from batchpact.schemas.names import closest
from batchpact.schemas.stores import Stores, column
from batchpact.schemas.text import join_names
from batchpact.schemas.values import check_values
from batchpact.schemas.violations import DimSizes

_ATTEMPTS = 4
"""How often everything is drawn anew, meta and sizes too, where rules do not hold."""


class Sample(NamedTuple):
    """A batch, and the arguments of the call that goes with it: no argument enters a batch."""

    batch: DataProto
    args: dict[str, Any]


def sample(
    schema: type[BatchSchema],
    batch: int | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    overrides: Given | None = None,
) -> DataProto:
    """Make a batch that keeps to a schema, values included.

    Optional fields are in it. Fields that depend on the configuration follow the one of `use_config(...)`, and so do
    meta fields with `From(...)`. Arguments of a Reads are chosen, as rules and conditions may look at them, and never
    enter a batch: `Sampler(schema).draw().args` has them.

    Args:
        schema: what the batch keeps to: the Reads or the Writes of a stage, or any schema.
        batch: the number of rows; where axis 0 is arithmetic ("batch*n"), the size of its first dim. Without it,
            as many as `overrides` have, or 4.
        dims: sizes of dims.
        seed: the same one gives the same batch.
        overrides: what fields hold: by key a whole field (a tensor, one object per row as a list or an array, a meta
            value or an argument, None to leave an optional field out), by number a row, as in `{0: {"uid": "a"}}`, with
            tensors without their batch axis. Other fields follow: dims, twins, and rules that say how.

    Returns:
        A new batch, its tensors on the CPU.

    Raises:
        SampleError: with the fields and rules that no batch can keep to together, or what is wrong with an override.
    """
    return Sampler(schema, dims=dims, overrides=overrides).draw(batch, seed=seed).batch


class Sampler:
    """A schema, and what is wanted of batches that are drawn from it.

    Args:
        schema: what the batches keep to.
        dims: sizes of dims.
        overrides: what fields hold, as in `sample`.

    Raises:
        SampleError: if this is no schema, or it has no such dim.
    """

    def __init__(
        self, schema: type[BatchSchema], *, dims: Mapping[str, int] | None = None, overrides: Given | None = None
    ) -> None:
        if not (isinstance(schema, type) and issubclass(schema, BatchSchema)):
            shown = getattr(schema, "__qualname__", describe(schema))
            raise _wrong("a schema", "schema", f"{shown} is no BatchSchema", "the Reads or the Writes of a stage")
        self._schema = schema
        self._spec = schema.__batchpact__.spec
        self._dims = dict(dims or {})
        self._overrides = Overrides.of(overrides)
        known = dims_of(self._spec)
        unknown = [name for name in self._dims if name not in known]
        if unknown:
            expected = f"its dims are {join_names(known)}"
            raise _wrong(self._spec.name, "dims", f"it has no dim {join_names(unknown)}", expected)
        for name, size in self._dims.items():
            self._check_number(f"dims[{name!r}]", size)
        for key in self._overrides.rows:
            field = self._spec.field(key)
            if field is not None and all(place.placement in ("meta", "arg") for place in field.places):
                raise _wrong(self._spec.name, key, "it is given by rows", "one value for the batch, under its key")

    @property
    def optional(self) -> list[str]:
        """The keys of fields that a batch may lack, as far as the schema alone says it."""
        fields = (field for field in self._spec.fields if not field.required or field.when is not None)
        return [field.key for field in fields if field.key not in self._overrides.whole]

    @property
    def tells_rows(self) -> bool:
        """Whether the number of rows follows from fields that are given as a whole."""
        return not self._overrides.whole.keys().isdisjoint(
            field.key for field in self._spec.fields for place in field.places if place.placement not in ("meta", "arg")
        )

    def draw(self, batch: int | None = None, *, seed: int = 0, manner: Manner = PLAIN) -> Sample:
        """Draw a batch, and the arguments that go with it.

        Args:
            batch: the number of rows, as in `sample`.
            seed: the same one gives the same sample.
            manner: what the schema leaves open. A field that the schema requires is never left out.

        Raises:
            SampleError: with the fields and rules that no batch can keep to together.
        """
        if batch is not None:
            self._check_number("batch", batch)
        return self._draw(Asked(batch, self._dims, self._overrides, manner), Dice(seed))

    def _check_number(self, name: str, number: object) -> None:
        if not isinstance(number, (int, np.integer)) or number < 0:
            raise _wrong(self._spec.name, name, f"it is {number!r}", "a whole number, 0 or more")

    def _draw(self, asked: Asked, dice: Dice) -> Sample:
        chosen = choose(self._schema, self._overrides, asked.manner, dice)
        extra = self._extra(chosen)
        draft = Draft(chosen, asked, dice)
        satisfying = Satisfying(draft, chosen)
        values, broken = satisfying.run()
        stores = stores_of(chosen, values)
        if not broken:
            self._check(chosen, draft, stores)
            return Sample(_laid_out(stores, extra, asked.manner, dice), dict(chosen.args))
        if dice.attempt + 1 < _ATTEMPTS:
            return self._draw(asked, dice._replace(attempt=dice.attempt + 1))
        self._check(chosen, draft, stores, but="BP022")  # what is given may be wrong by itself
        given = self._overrides.names()
        raise SampleError(f"where {self._spec.name} is sampled", satisfying.explain(broken, given))

    def _check(self, chosen: Chosen, draft: Draft, stores: Stores, but: str = "") -> None:
        """Hold a sample against its schema, as a boundary does: overrides may be wrong."""
        plan = chosen.schema.__batchpact__.plan
        given = {**draft.unbound_sizes(), **self._dims}
        if plan.sizes(stores, given) is not None:
            violations, dims = check_values(chosen.schema, stores), list[DimSizes]()
        else:
            found = diagnose(plan, stores, Context(given, "dims", values=True))
            violations, dims = found.violations, found.dims
        if any(violation.code != but for violation in violations):
            raise SampleError(f"where a sample of {self._spec.name} is checked", violations, dims)

    def _extra(self, chosen: Chosen) -> Stores:
        """Overrides of fields that the schema does not declare and allows."""
        declared = {field.key for field in self._spec.fields} | chosen.places.keys() | chosen.meta.keys()
        unknown = [name for name in self._overrides.names() if name not in declared]
        if unknown and (self._spec.extra != "allow" or unknown[0] not in self._overrides.whole):
            match = closest(unknown[0], declared)
            hint = "" if match is None else f"closest name: {match!r}"
            raise _wrong(
                self._spec.name, unknown[0], "it is given, and declared nowhere", "a field of the schema", hint
            )
        values = {name: self._overrides.whole[name] for name in unknown}
        tensors = {key: value for key, value in values.items() if isinstance(value, Tensor)}
        columns = {key: value for key, value in values.items() if isinstance(value, (list, np.ndarray))}
        return Stores(tensors, columns, {k: v for k, v in values.items() if k not in tensors and k not in columns})


def _laid_out(stores: Stores, extra: Stores, manner: Manner, dice: Dice) -> DataProto:
    """The batch of a sample, in a manner."""
    tensors: dict[str, Any] = {**stores.tensors, **extra.tensors}
    if manner.strided:
        tensors = {key: _strided(value) for key, value in tensors.items()}
    columns = {**stores.columns, **{key: _as_column(value) for key, value in extra.columns.items()}}
    meta = {**stores.meta, **extra.meta}
    if manner.reordered:
        tensors, columns, meta = (_reordered(each, dice.of("order")) for each in (tensors, columns, meta))
    return DataProto.from_dict(tensors, columns, meta)


def _as_column(value: Any) -> Any:
    return column(value) if isinstance(value, list) else value


def _strided(value: Tensor) -> Tensor:
    """The same tensor, with a gap behind each element, and a wider one behind each row."""
    if not is_dense(value):
        return value
    wider = torch.cat([value, value[:, :1]], dim=1) if value.dim() > 1 else value
    gapped = torch.stack([wider, wider], dim=-1)[..., 0]
    return gapped[:, : value.shape[1]] if value.dim() > 1 else gapped


def _reordered(values: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    keys = [*values]
    return {keys[at]: values[keys[at]] for at in rng.permutation(len(keys))}


def _wrong(name: str, field: str, actual: str, expected: str, hint: str = "") -> SampleError:
    return SampleError(f"where {name} is sampled", [unmeetable(field, actual, expected, hint)])
