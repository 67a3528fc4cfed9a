"""Rows taken out of a batch make it again, in every layout and order; collating is a concat of batches of one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import BFloat16, Bool, Float32, Int64
from torch import Tensor

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, ContractError, Jagged, Meta, NonTensor
from batchpact.schemas.axes import offsets_of
from batchpact.schemas.equality import difference
from batchpact.schemas.instances import instance_stores
from tests.dataproto.policies import Rollout, rollout
from tests.dataproto.support import COLUMNS, TENSORS, law
from tests.schemas.rows import rows_of


class Everything(BatchSchema):
    """A field for each kind of tensor and column that `support` makes; any of them may be left out."""

    f32: Float32[Tensor, "batch three"] | None = None
    i64: Int64[Tensor, "batch"] | None = None
    bool: Bool[Tensor, "batch two"] | None = None
    bf16: BFloat16[Tensor, "batch two one"] | None = None
    jagged: Annotated[Int64[Tensor, "batch a"], Jagged("a")] | None = None
    jagged_bf16: Annotated[BFloat16[Tensor, "batch b 2"], Jagged("b")] | None = None
    jagged_on_2: Annotated[Int64[Tensor, "batch three c"], Jagged("c")] | None = None
    strings: NonTensor[str] | None = None
    lists: NonTensor[list[int]] | None = None
    dicts: NonTensor[dict[str, Any]] | None = None
    arrays: NonTensor[np.ndarray] | None = None
    nones: NonTensor[str | None] | None = None
    step: Meta[int] | None = None
    text: Meta[list[str]] | None = None


NAMES = [name for name in (*TENSORS, *COLUMNS) if name in Everything.model_fields]


@st.composite
def instances(draw: st.DrawFn) -> BatchSchema:
    rows, rng = draw(st.integers(1, 5)), np.random.default_rng(draw(st.integers(0, 999)))
    names = draw(st.sets(st.sampled_from(NAMES), min_size=1))
    made = {name: (TENSORS | COLUMNS)[name](rng, rows) for name in NAMES if name in names}
    return Everything(**made, **draw(st.sampled_from([{}, {"step": 3}, {"text": ["a"] * rows}])))


def values(instance: BatchSchema) -> dict[str, Any]:
    return {key: value for store in instance_stores(instance)[:3] for key, value in store.items()}


@law
@given(instances())
def test_the_rows_of_an_instance_make_it_again(instance: BatchSchema) -> None:
    rows = list(rows_of(instance_stores(instance)))

    for row in rows:
        Everything.check_row(row)
        Everything.check_row(row, level="values")
    made = Everything.collate(rows)

    assert difference(values(made), values(instance)) is None


@law
@given(instances(), st.randoms())
def test_the_order_of_the_rows_is_the_order_of_the_batch_and_nothing_else(instance: BatchSchema, random: Any) -> None:
    rows = list(rows_of(instance_stores(instance)))
    order = list(range(len(rows)))
    random.shuffle(order)

    made = Everything.collate([rows[at] for at in order])

    for row, at in zip(rows_of(instance_stores(made)), order, strict=True):
        assert difference(row, rows[at]) is None
    assert values(made).keys() == values(instance).keys()


def declared(data: DataProto) -> dict[str, Any]:
    keys = {field.key for field in Rollout.__batchpact__.spec.fields}
    held = data.stores()
    return {key: value for store in held[:3] for key, value in store.items() if key in keys}


@law
@given(st.data())
def test_collating_is_a_concat_of_batches_with_one_row(draw: st.DataObject) -> None:
    """By another way: every row as a batch that is bound to the schema, with its own lengths and optional fields."""
    optional = st.sets(st.sampled_from(["scores", "turn_scores", "tool", "acc"]))
    sizes = st.tuples(st.integers(0, 3), st.integers(0, 3), optional)
    parts = [
        rollout(1, prompt=prompt, response=response, seed=seed, optional=sorted(names))
        for seed, (prompt, response, names) in enumerate(draw.draw(st.lists(sizes, min_size=1, max_size=4)))
    ]
    batches = []
    for part in parts:
        made = DataProto.from_dict(
            {key: part.batch[key] for key in part.batch.keys() if key != "extra"},
            {key: column(cells.tolist()) for key, cells in part.non_tensor_batch.items()},
            {key: value for key, value in part.meta_info.items() if key not in ("metrics", "free")},
        )
        batches.append(made.bind(Rollout))
    rows = [row for batch in batches for row in rows_of(batch.stores())]

    collated = values(Rollout.collate(rows, pad=True))

    expected = declared(DataProto.concat(batches, pad=True))
    assert difference(collated, expected) is None
    for key, value in collated.items():
        if isinstance(value, Tensor) and value.is_nested:
            assert offsets_of(value).tolist() == offsets_of(expected[key]).tolist()


class Tokens(BatchSchema):
    prompts: Int64[Tensor, "batch prompt"]
    responses: Int64[Tensor, "batch response"]
    input_ids: Int64[Tensor, "batch prompt+response"]


CHANGES: dict[str, Callable[[Tensor], object]] = {
    "none": lambda x: x,
    "dtype": lambda x: x.float(),
    "rank": lambda x: x[None],
    "length": lambda x: torch.cat([x, x.new_zeros(1)]),
    "list": lambda x: x.tolist(),
    "None": lambda x: None,
}


@law
@given(
    st.integers(0, 3),
    st.integers(0, 3),
    st.dictionaries(st.sampled_from(["prompts", "input_ids"]), st.sampled_from(list(CHANGES))),
)
def test_a_row_is_healthy_exactly_where_its_batch_is(prompt: int, response: int, changes: dict[str, str]) -> None:
    prompts, responses = torch.arange(prompt), torch.arange(response)
    row: dict[str, Any] = {"prompts": prompts, "responses": responses, "input_ids": torch.cat([prompts, responses])}
    for key, change in changes.items():
        row[key] = CHANGES[change](row[key])
    batch = Tokens(**{key: value[None] if isinstance(value, Tensor) else value for key, value in row.items()})

    try:
        Tokens.check_row(row)
        healthy = True
    except ContractError:
        healthy = False

    assert healthy is (Tokens.__batchpact__.plan.sizes(instance_stores(batch)) is not None)
