"""`infer`: readable schema source from one or several batches."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Any

from tensordict import TensorDictBase

from batchpact.contracts.inferring.drafted import SCHEMAS, name_attributes
from batchpact.contracts.inferring.drafting import draft
from batchpact.contracts.inferring.seen import Unread, seen_in
from batchpact.contracts.inferring.source import imports_source, schema_source
from batchpact.dataproto.build import check_stores
from batchpact.dataproto.carriers import carrier_of
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.files.reading import opened
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


def infer(*batches: Any, name: str = "Batch") -> str:
    """Write down what batches hold, as the source of a schema that all of them keep to.

    Fields that `batchpact.schemas.rl.fields` declares are imported from there where the data agrees with them. Of the
    others, axes of equal size share a name, and types are the narrowest that fit. What is a guess has a comment, and so
    has a field that only some of the batches hold, which is optional.

    Args:
        batches: one or several: our `DataProto`, verl's, a `TensorDict`, or a dict of tensors and numpy columns. Their
            values are read.
        name: the name of the class.

    Returns:
        Python source: imports and one class.

    Raises:
        ContractError: if something is no batch, the rows of one do not fit together, or no class can have this name.
    """
    if not batches:
        raise _refused("batches", "none", "at least one batch")
    return source_of([_stores(batch) for batch in batches], name)


def source_of(batches: Sequence[Stores], name: str) -> str:
    """The source of a schema that all of these batches keep to.

    Raises:
        ContractError: if no class can have this name.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or not name[0].isupper():
        raise _refused("name", repr(name), "the name of a class, as in RolloutBatch")
    fields = draft(seen_in(batches))
    name_attributes(fields)
    lines = schema_source(name, f"What {_counted(len(batches))} held: a draft, to be looked over.", fields)
    imports = {pair for field in fields for pair in field.imports}
    return "\n".join([*imports_source({*imports, (SCHEMAS, "BatchSchema")}), "", "", *lines]).rstrip() + "\n"


def saved(path: str) -> Stores:
    """What a file of `save_to_disk` holds; what is pickled in it is not read.

    Raises:
        BatchError: if this is no such file, or it is damaged.
        OSError: as the operating system says.
    """
    with opened("load_from_disk", path) as file:
        header = file.header
    plain = [field.key for field in header.fields if not field.pickled]
    stores = DataProto.load_from_disk(path, fields=plain).stores()
    unread = {
        placement: {field.key: Unread() for field in header.fields if field.pickled and field.placement == placement}
        for placement in ("tensor", "non_tensor", "meta")
    }
    return Stores(*({**dict(held), **unread.get(place, {})} for place, held in stores.by_placement()))


def _stores(batch: Any) -> Stores:
    batch = DataProto.from_single_dict(batch) if isinstance(batch, dict) else batch
    carrier = carrier_of(batch)
    if carrier is None:
        expected = "a DataProto, a TensorDict, verl's DataProto, or a dict of tensors and columns"
        raise _refused("batch", describe(batch), expected)
    if not isinstance(batch, TensorDictBase):
        check_stores("check_consistency", batch.batch, batch.non_tensor_batch, batch.meta_info)
    return carrier.stores(batch)


def _counted(number: int) -> str:
    return "a batch" if number == 1 else f"{number} batches"


def _refused(field: str, actual: str, expected: str) -> ContractError:
    violation = Violation(code="BP036", field=field, actual=actual, expected=expected)
    return ContractError("where a schema is inferred", [violation])
