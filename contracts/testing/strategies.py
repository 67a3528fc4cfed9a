"""Samples for hypothesis, the awkward ones first: what it shrinks to is one row without anything optional.

hypothesis is imported here and nowhere else: `pip install hypothesis`.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from batchpact.contracts.testing.manner import Manner
from batchpact.contracts.testing.overrides import Given
from batchpact.contracts.testing.sampler import Sample, Sampler
from batchpact.dataproto import DataProto
from batchpact.schemas.batch import BatchSchema

ROWS = st.sampled_from([1, 0, 2, 3, 4, 7])
"""One row, no row, and then some."""


def batches(
    schema: type[BatchSchema],
    rows: st.SearchStrategy[int] | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    overrides: Given | None = None,
) -> st.SearchStrategy[DataProto]:
    """Batches that keep to a schema, in every manner that it leaves open.

    They have one row or none, rows that are equally long, or lack every optional field; other ones are bfloat16 where a
    family of dtypes is declared, not contiguous, or have their fields in another order. A failure shrinks towards one
    row, equally long rows, no optional field, and everything else as declared.

    Args:
        schema: what the batches keep to.
        rows: how many rows they have.
        dims: sizes of dims.
        overrides: what fields hold, as in `sample`; fields that are given as a whole leave the rows no choice.

    Raises:
        SampleError: if this is no schema, or it has no such dim; when a batch is drawn, if there is none.
    """
    drawn = samples(schema, rows, dims=dims, overrides=overrides)

    @st.composite
    def batch(draw: st.DrawFn) -> DataProto:
        return draw(drawn).batch

    return batch()


def samples(
    schema: type[BatchSchema],
    rows: st.SearchStrategy[int] | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    overrides: Given | None = None,
) -> st.SearchStrategy[Sample]:
    """The same with the arguments of the call, for functions that take some."""
    sampler = Sampler(schema, dims=dims, overrides=overrides)
    if rows is None and not sampler.tells_rows:
        rows = ROWS

    @st.composite
    def drawn(draw: st.DrawFn) -> Sample:
        batch = None if rows is None else draw(rows)
        return sampler.draw(batch, seed=draw(_SEEDS), manner=draw(_manners(sampler)))

    return drawn()


_SEEDS = st.integers(0, 2**32 - 1)
_LATER = st.sampled_from([False, True])
_FIRST = st.sampled_from([True, False])


def _manners(sampler: Sampler) -> st.SearchStrategy[Manner]:
    kept = st.sets(st.sampled_from(sampler.optional)) if sampler.optional else st.just(set[str]())
    return st.builds(
        Manner,
        even=_FIRST,
        without=kept.map(lambda keys: frozenset(sampler.optional) - keys),
        bfloat16=_LATER,
        strided=_LATER,
        reordered=_LATER,
    )
