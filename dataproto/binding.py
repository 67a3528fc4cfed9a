"""A schema bound to a batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from torch import Tensor

from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.row_marks import Mask
from batchpact.schemas.axes import Size, readable
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Names, look_up_names, names_in
from batchpact.schemas.describe import describe
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.dim_names import dims_of
from batchpact.schemas.errors import contract_error
from batchpact.schemas.keys import key_fields, repeated_key
from batchpact.schemas.merging import DEFAULTS
from batchpact.schemas.narrowing import narrowed
from batchpact.schemas.policies import Merge
from batchpact.schemas.policy_specs import Policies
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import quoted
from batchpact.schemas.values import check_values
from batchpact.schemas.violations import DimSizes, Violation


def bound(schema: type[BatchSchema], dims: Mapping[str, int]) -> Bound:
    """A schema with sizes of its dims, to be bound.

    Raises:
        BatchError: if it is no schema, or has no such dim.
    """
    if not (isinstance(schema, type) and issubclass(schema, BatchSchema)):
        shown = getattr(schema, "__qualname__", describe(schema))
        raise refuse("bind", "BP036", "schema", f"{shown} is no BatchSchema", "bind the Reads or the Writes of a stage")
    known = dims_of(schema.__batchpact__.spec)
    unknown = [name for name in dims if name not in known]
    if unknown:
        actual = f"{schema.__qualname__} has no dim {quoted(unknown)}"
        raise refuse("bind", "BP036", "dims", actual, f"its dims are {quoted(known)}")
    return Bound(schema, dict(dims))


class _Declared(NamedTuple):
    merges: Mapping[str, Merge]
    counted: Collection[str]
    keys: Sequence[FieldSpec]


_KNOWN: WeakKeyDictionary[type, _Declared] = WeakKeyDictionary()


def _declared(schema: type[BatchSchema]) -> _Declared:
    """What derived batches ask for again and again, made once for each schema."""
    known = _KNOWN.get(schema)
    if known is not None:
        return known
    compiled = schema.__batchpact__
    merges = {key: policies.merge for key, policies in compiled.policies.items() if policies.merge is not None}
    every = {**DEFAULTS, **merges}
    counted = frozenset(key for key, merge in every.items() if merge.how not in ("equal", "close", "first", "max"))
    made = _KNOWN[schema] = _Declared(merges, counted, key_fields(compiled.spec))
    return made


class Bound(NamedTuple):
    """A schema that a batch keeps to, and sizes that its dims must have."""

    schema: type[BatchSchema]
    dims: Mapping[str, int]

    @property
    def policies(self) -> Mapping[str, Policies]:
        """The policies of the fields that have any."""
        return self.schema.__batchpact__.policies

    @property
    def merges(self) -> Mapping[str, Merge]:
        """How values become one, by key, where this is declared."""
        return _declared(self.schema).merges

    @property
    def counted(self) -> Collection[str]:
        """The meta keys whose value is another one when it is merged with itself: each part counts in it."""
        return _declared(self.schema).counted

    @property
    def keys(self) -> Sequence[FieldSpec]:
        """The fields that say which row is which."""
        return _declared(self.schema).keys

    def named_by(self, metas: Iterable[Mapping[str, object]]) -> Bound:
        """The same, with the open columns as fields that one of these metas, or the configuration in use, names."""
        if not self.schema.__batchpact__.unnamed:
            return self
        names: dict[str, Names] = {}
        for meta in metas:
            for name, found in self._names(meta).items():
                before = names.get(name, ())
                if isinstance(before, tuple) and isinstance(found, tuple):
                    names[name] = tuple(dict.fromkeys((*before, *found)))
        return Bound(narrowed(self.schema, {}, names), self.dims)

    def _names(self, meta: Mapping[str, object]) -> dict[str, Names]:
        compiled = self.schema.__batchpact__
        unnamed = compiled.unnamed
        return names_in(compiled.spec, unnamed, partial(look_up_names, meta)) if unnamed else {}

    def sizes(self, stores: Stores) -> dict[str, Size]:
        """The size of each dim, as most fields have it, also of a batch that does not keep to the schema."""
        plan = self.named_by([stores.meta]).schema.__batchpact__.plan
        found = plan.sizes(stores, self.dims)
        return diagnose(plan, stores, Context(given=self.dims)).sizes if found is None else found

    def for_fields(self, stores: Stores) -> Bound | None:
        """The same for a batch that fields were taken from: none where it no longer has what the schema requires."""
        named = self.named_by([stores.meta]).schema.__batchpact__
        if any(isinstance(found, Violation) for found in self._names(stores.meta).values()):
            return None
        required = (field for field in named.spec.fields if field.required and field.when is None)
        whole = all(stores.find(field.key) is not None for field in required if field.places[0].placement != "arg")
        return self if whole else None

    def check(
        self,
        stores: Stores,
        history: Mapping[str, str],
        *,
        values: bool = False,
        pads: Mask | None = None,
        part: int | None = None,
    ) -> dict[str, Size]:
        """Check a batch; fields that the schema does not declare are free.

        Args:
            stores: the batch.
            history: what is known of its fields, in words.
            values: whether the rules on values are checked, too. That keys do not repeat is checked in any case, unless
                they are on a device, which would synchronise.
            pads: which rows are padding.
            part: the number of the part of a concat that this is.

        Returns:
            The size of each dim.

        Raises:
            ContractError: with every violation.
        """
        schema = self.named_by([stores.meta]).schema
        compiled = schema.__batchpact__
        sizes = compiled.plan.sizes(stores, self.dims)
        dims: list[DimSizes] = []
        violations: list[Violation] = []
        misnamed = [wrong for wrong in self._names(stores.meta).values() if isinstance(wrong, Violation)]
        if sizes is None or values:
            context = Context(given=self.dims, given_from="the bound dims", history=history, values=values)
            found = diagnose(compiled.plan, stores, context)
            sizes, dims, violations = found.sizes, found.dims, found.violations
        if not violations and values:
            violations = check_values(schema, stores, pads=pads)
        elif not violations and self._keys_are_readable(stores):
            repeated = repeated_key(compiled.spec, stores, pads)
            violations = [] if repeated is None else [repeated]
        violations = [*misnamed, *violations]
        if violations:
            holder = "a batch" if part is None else f"part {part}"
            raise contract_error(f"where {holder} is bound to {compiled.spec.name}", violations, dims)
        return sizes

    def _keys_are_readable(self, stores: Stores) -> bool:
        values = [stores.tensors.get(field.key) for field in self.keys]
        return readable(*(value for value in values if isinstance(value, Tensor)))
