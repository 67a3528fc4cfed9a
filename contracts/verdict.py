"""What is wrong with the fields on one side of a call: with what a stage reads, or with what it wrote."""

from __future__ import annotations

from collections.abc import Mapping

from batchpact.contracts.passage import Passage
from batchpact.dataproto.row_marks import Mask
from batchpact.schemas.axes import Size
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values
from batchpact.schemas.violations import DimSizes, Violation


def verdict(
    schema: type[BatchSchema],
    stores: Stores,
    passage: Passage,
    given: Mapping[str, Size] | None,
    pads: Mask | None,
) -> tuple[dict[str, Size], list[Violation], list[DimSizes]]:
    """The plan first; the careful look only where it says no, or where values are to be read.

    Args:
        schema: what is declared.
        stores: what is there.
        passage: the call.
        given: the dims that the reads bound, where it is the result that is checked.
        pads: which rows are padding, where that is known.

    Returns:
        The sizes of the dims, the violations, and the dims that have several sizes.
    """
    plan = schema.__batchpact__.plan
    sizes = plan.sizes(stores, given)
    values = passage.level == "values"
    if sizes is not None and not values:
        return sizes, [], []
    if given is not None:
        context = Context(given=given, given_from="what the stage read", holder="result", values=values)
    else:
        history = {} if passage.carrier is None else passage.carrier.history(passage.batch)
        context = Context(history=history, values=values)
    found = diagnose(plan, stores, context)
    violations = found.violations
    if values and not violations:
        violations = check_values(schema, stores, passage.settings.sample, pads)
    return found.sizes, violations, found.dims
