"""Whatever the batches are, the schema that is written declares all of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.contracts import infer
from batchpact.dataproto import DataProto
from tests.contracts.inferring.drafts import complaint, schema_of
from tests.dataproto.support import batches, law

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

KEYS = st.one_of(
    st.sampled_from(["prompts", "responses", "input_ids", "position_ids", "old_log_probs", "uid", "length", "size"]),
    st.sampled_from(["batch", "copy", "class", "__x__", "model_dump_x", "Tensor", "None", "index", "prompt", "a b"]),
    st.text(max_size=4),
)
DTYPES = st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool])


@law
@given(st.lists(batches(), min_size=1, max_size=3))
def test_batches_of_every_kind_keep_to_the_schema(data: list[DataProto]) -> None:
    schema = schema_of(infer(*data))

    assert [complaint(schema, batch.stores()) for batch in data] == [""] * len(data)


@st.composite
def tensors(draw: st.DrawFn, rows: int) -> torch.Tensor:
    sizes = draw(st.lists(st.integers(0, 4), max_size=3))
    return torch.zeros(rows, *sizes).to(draw(DTYPES))


CELLS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=2), st.binary(max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.tuples(inner), st.dictionaries(st.text(max_size=1), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def odd_batches(draw: st.DrawFn) -> DataProto:
    """Batches whose fields have any names, sizes and values."""
    rows = draw(st.integers(0, 3))
    keys = draw(st.lists(KEYS, min_size=1, max_size=7, unique=True))
    places = [draw(st.sampled_from(["tensor", "column", "meta"])) for _ in keys]
    held: dict[str, dict[str, Any]] = {"tensor": {}, "column": {}, "meta": {}}
    for key, place in zip(keys, places, strict=True):
        value = draw(
            tensors(rows)
            if place == "tensor"
            else CELLS
            if place == "meta"
            else st.lists(CELLS, min_size=rows, max_size=rows)
        )
        held[place][key] = value
    return DataProto.from_dict(held["tensor"], held["column"], held["meta"])


@law
@given(st.lists(odd_batches(), min_size=1, max_size=3))
def test_fields_of_any_name_and_value_keep_to_the_schema(data: list[DataProto]) -> None:
    source = infer(*data)
    schema = schema_of(source)

    assert [complaint(schema, batch.stores()) for batch in data] == [""] * len(data), source
    assert not schema.__batchpact__.columns
