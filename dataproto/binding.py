"""A schema bound to a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from batchpact.dataproto.refusal import refuse
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import describe
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.errors import contract_error
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import quoted
from batchpact.schemas.values import check_values


def bound(schema: type[BatchSchema], dims: Mapping[str, int]) -> Bound:
    """A schema with sizes of its dims, to be bound.

    Raises:
        BatchError: if it is no schema, or has no such dim.
    """
    if not (isinstance(schema, type) and issubclass(schema, BatchSchema)):
        shown = getattr(schema, "__qualname__", describe(schema))
        raise refuse("bind", "BP036", "schema", f"{shown} is no BatchSchema", "bind the Reads or the Writes of a stage")
    places = schema.__batchpact__.plan.tensor_places.values()
    axes = (dim.as_expression() for place in places for dim in place.dims)
    known = dict.fromkeys(["batch"] if schema.__batchpact__.spec.axis is None else [])
    known.update(dict.fromkeys(name for axis in axes if axis is not None for name in axis.names()))
    unknown = [name for name in dims if name not in known]
    if unknown:
        actual = f"{schema.__qualname__} has no dim {quoted(unknown)}"
        raise refuse("bind", "BP036", "dims", actual, f"its dims are {quoted(known)}")
    return Bound(schema, dict(dims))


class Bound(NamedTuple):
    """A schema that a batch keeps to, and sizes that its dims must have."""

    schema: type[BatchSchema]
    dims: Mapping[str, int]

    def for_fields(self, stores: Stores) -> Bound | None:
        """The same for a batch that fields were taken from: none where it no longer has what the schema requires."""
        required = (field for field in self.schema.__batchpact__.spec.fields if field.required)
        whole = all(stores.find(field.key) is not None for field in required if field.places[0].placement != "arg")
        return self if whole else None

    def check(self, stores: Stores, history: Mapping[str, str], *, values: bool = False) -> None:
        """Check a batch; fields that the schema does not declare are free.

        Raises:
            ContractError: with every violation.
        """
        compiled = self.schema.__batchpact__
        if compiled.plan.sizes(stores, self.dims) is not None and not values:
            return
        context = Context(given=self.dims, given_from="the bound dims", history=history, values=values)
        found = diagnose(compiled.plan, stores, context)
        violations = found.violations or (check_values(self.schema, stores) if values else [])
        if violations:
            raise contract_error(f"where a batch is bound to {compiled.spec.name}", violations, found.dims)
