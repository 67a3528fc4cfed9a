"""A schema bound to a batch."""

from __future__ import annotations

from collections.abc import Mapping

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.errors import contract_error
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values


def check_bound(stores: Stores, schema: type[BatchSchema], history: Mapping[str, str], *, values: bool) -> None:
    """Check a batch against its bound schema; fields that the schema does not declare are free.

    Raises:
        ContractError: with every violation.
    """
    compiled = schema.__batchpact__
    plan = compiled.plan
    if plan.sizes(stores) is None or values:
        found = diagnose(plan, stores, Context(history=history, values=values))
        violations = found.violations or (check_values(schema, stores) if values else [])
        if violations:
            raise contract_error(f"where a batch is bound to {compiled.spec.name}", violations, found.dims)
