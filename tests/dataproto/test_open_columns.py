"""Open columns in a bound schema: each is a field for checks and policies, under the names that the batch brings."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import use_config
from batchpact.dataproto import DataProto, collate_fn, column, pad_dataproto_to_divisor, size_report
from batchpact.schemas import (
    BatchSchema,
    Columns,
    ContractError,
    Fill,
    Finite,
    Merge,
    Meta,
    NonTensor,
    Pad,
    config,
    meta,
    named_by,
)


class Scored(BatchSchema):
    x: Annotated[Float32[Tensor, "batch n"], Pad(0.0)]
    keys: Annotated[Meta[list[str]], Merge("set_union")]
    scores: Annotated[Columns[NonTensor[float]], Fill(-1.0), Pad(-2.0)] = named_by(meta("keys"), optional=True)


class Tokens(BatchSchema):
    x: Float32[Tensor, "batch n"]
    tokens: Columns[Annotated[Float32[Tensor, "batch n"], Pad(0.0), Finite()]] = named_by(config("tokens", default=[]))


class Configured(BatchSchema):
    x: Float32[Tensor, "batch n"]
    scores: Annotated[Columns[NonTensor[float]], Fill(-1.0)] = named_by(config("keys"), optional=True)


class Close(BatchSchema):
    scores: Annotated[Columns[Float32[Tensor, "batch"]], Merge.close(rtol=0.1)] = named_by(meta("keys"))


def scored(rows: int, *names: str, n: int = 2) -> DataProto:
    columns = {name: column([float(at) for at in range(rows)]) for name in names}
    return DataProto.from_dict({"x": torch.ones(rows, n)}, columns, {"keys": [*names]})


def refusal(call: object) -> list[str]:
    with pytest.raises(ContractError) as caught:
        call()  # type: ignore[operator]
    return str(caught.value).splitlines()[2:]


def test_a_batch_is_bound_with_the_columns_that_its_meta_names() -> None:
    scored(2, "acc").bind(Scored)

    wrong = scored(2, "acc")
    wrong.non_tensor_batch["acc"] = column(["a", "b"])
    assert refusal(lambda: wrong.bind(Scored))[0].startswith("  BP006 type  acc  rows 0, 1: str")
    nameless = scored(2, "acc")
    del nameless.meta_info["keys"]
    assert refusal(lambda: nameless.bind(Scored))[0].startswith("  BP056 columns  scores  meta keys is not there")


def test_names_of_the_configuration_count_where_one_is_in_use() -> None:
    data = DataProto.from_dict({"x": torch.ones(2, 3), "t": torch.full((2, 3), torch.nan)})

    data.bind(Tokens)
    with use_config({"tokens": ["t"]}):
        assert refusal(lambda: data.bind(Tokens))[0].startswith("  BP021 values  t  6 elements in rows 0, 1")


def test_a_change_is_checked_with_the_names_that_the_batch_has_then() -> None:
    data = scored(2, "acc").bind(Scored)
    other = DataProto.from_dict({}, {"f1": column(["a"])}, {"keys": ["f1"]})

    with pytest.raises(ContractError):
        data.union(other)
    assert set(data.non_tensor_batch) == {"acc"}


def test_columns_that_only_some_parts_have_are_filled() -> None:
    parts = [scored(2, "acc").bind(Scored), scored(1, "acc", "f1").bind(Scored)]
    whole = DataProto.concat(parts)

    assert sorted(whole.meta_info["keys"]) == ["acc", "f1"]
    assert whole.non_tensor_batch["f1"].tolist() == [-1.0, -1.0, 0.0]


def test_columns_are_padded_and_have_neutral_pad_rows_as_declared() -> None:
    with use_config({"tokens": ["t"]}):
        parts = [
            DataProto.from_dict({"x": torch.ones(1, 3), "t": torch.ones(1, 3)}).bind(Tokens),
            DataProto.from_dict({"x": torch.ones(1, 3), "t": torch.ones(1, 3)}).bind(Tokens),
        ]
        assert DataProto.concat(parts, pad=True).batch["t"].shape == (2, 3)
    padded, _ = pad_dataproto_to_divisor(scored(3, "acc").bind(Scored), 2)

    assert padded.non_tensor_batch["acc"].tolist() == [0.0, 1.0, 2.0, -2.0]


def test_columns_are_merged_in_a_union_as_declared() -> None:
    left = DataProto.from_dict({"a": torch.ones(2)}, meta_info={"keys": ["a"]}).bind(Close)
    right = DataProto.from_dict({"a": torch.full((2,), 1.01)}, meta_info={"keys": ["a"]})

    assert left.union(right).batch["a"].tolist() == [1.0, 1.0]


def test_a_report_of_sizes_counts_the_named_columns_among_what_is_shipped() -> None:
    report = size_report(scored(2, "acc").union(DataProto.from_dict({}, {"other": column([1, 2])})), Scored)

    assert {field.field for field in report.fields if field.shipped} == {"x", "acc", "keys"}


def test_a_batch_that_lost_its_names_is_bound_no_more() -> None:
    data = scored(2, "acc").bind(Scored)

    assert data.select(meta_info_keys=["keys"])._bound is not None
    assert data.select(batch_keys=["x"], meta_info_keys=[])._bound is None


def test_rows_that_lack_optional_columns_are_collated() -> None:
    """Rows have no meta, so the configuration has to name them."""
    one, two = scored(1, "acc"), scored(1, "acc", "f1")
    with use_config({"keys": ["acc", "f1"]}):
        whole = collate_fn([one[0], two[0]], schema=Configured)

    assert whole.non_tensor_batch["f1"].tolist() == [-1.0, 0.0]


NAMES = st.lists(st.sampled_from("abcd"), unique=True)


@settings(max_examples=60)
@given(names=NAMES, extra=NAMES, rows=st.integers(1, 7), parts=st.integers(1, 7))
def test_chunks_of_a_bound_batch_put_together_are_the_batch(
    names: list[str], extra: list[str], rows: int, parts: int
) -> None:
    """Whatever the columns are called, and whatever others there are beside them."""
    data = scored(rows, *names)
    others = {f"other_{name}": column(list(range(rows))) for name in extra}
    data = data.union(DataProto.from_dict({}, others)) if others else data
    data.bind(Scored)
    whole = DataProto.concat(data.chunk(min(parts, rows), uneven=True))

    assert whole == data
    assert whole._bound == data._bound
    assert all(np.array_equal(whole.non_tensor_batch[key], data.non_tensor_batch[key]) for key in data.non_tensor_batch)
