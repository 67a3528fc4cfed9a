"""What the tests of this floor share: whole messages, batches of every kind, and a view that is not our code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchError, ContractError

# --- messages ---------------------------------------------------------------------------------------------------------


@contextmanager
def says(kind: type[ContractError], subject: str, *lines: str) -> Iterator[None]:
    """The block raises this error, of exactly this kind, with exactly this message."""
    with pytest.raises(ContractError) as caught:
        yield
    problems = "1 problem" if len(caught.value.violations) == 1 else f"{len(caught.value.violations)} problems"
    assert str(caught.value) == "\n".join(
        [f"{problems} {subject}", "", *(f"  {line}" if line else "" for line in lines)]
    )
    assert type(caught.value) is kind


@contextmanager
def refuses(operation: str, *lines: str, kind: type[ContractError] = BatchError) -> Iterator[None]:
    """The block is refused by an operation of `DataProto`, with these lines and no others."""
    with says(kind, f"in DataProto.{operation}; nothing was changed", *lines):
        yield


@contextmanager
def function_refuses(function: str, *lines: str) -> Iterator[None]:
    """The block is refused by a function of batches, with these lines and no others."""
    with says(BatchError, f"in {function}; nothing was changed", *lines):
        yield


# --- laws -----------------------------------------------------------------------------------------------------------

law = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The settings of the property tests; how fast they are depends on who else uses the machine."""


# --- batches ----------------------------------------------------------------------------------------------------------


def jagged(*rows: list[Any], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """`[batch, jagged]`: one row for each list."""
    values = torch.tensor([element for row in rows for element in row], dtype=dtype)
    return torch.nested.nested_tensor_from_jagged(values, offsets(len(row) for row in rows))


def jagged_on_2(*rows: list[list[int]]) -> torch.Tensor:
    """`[batch, n, jagged]`: for each row a matrix; as M-RoPE position ids are."""
    matrices = [torch.tensor(row, dtype=torch.int64) for row in rows]
    values = torch.cat(matrices, dim=1)
    return torch.nested.nested_tensor_from_jagged(values, offsets(m.shape[1] for m in matrices), jagged_dim=2)


def offsets(lengths: Any) -> torch.Tensor:
    return torch.tensor([0, *np.cumsum(list(lengths)).tolist()])


def small() -> DataProto:
    """Four rows with a field of each kind."""
    return DataProto.from_dict(
        tensors={"ids": torch.arange(8).reshape(4, 2), "reward": torch.tensor([0.5, -1.0, float("nan"), 2.0])},
        non_tensors={"uid": ["a", "b", "c", "d"], "score": np.array([1.5, 2.5, 3.5, 4.5], dtype=np.float32)},
        meta_info={"temperature": 0.7, "stop": ["x", "y", "z", "w"]},
    )


Maker = Callable[[np.random.Generator, int], Any]


def _lengths(rng: np.random.Generator, rows: int) -> list[int]:
    return rng.integers(0, 4, rows).tolist()


def _jagged(rng: np.random.Generator, rows: int) -> torch.Tensor:
    return jagged(*([*rng.integers(-9, 9, length).tolist()] for length in _lengths(rng, rows)))


def _jagged_floats(rng: np.random.Generator, rows: int) -> torch.Tensor:
    """`[batch, jagged, 2]` in bf16."""
    lengths = _lengths(rng, rows)
    values = torch.from_numpy(rng.normal(size=(sum(lengths), 2))).to(torch.bfloat16)
    return torch.nested.nested_tensor_from_jagged(values, offsets(lengths))


def _jagged_on_2(rng: np.random.Generator, rows: int) -> torch.Tensor:
    lengths = _lengths(rng, rows)
    values = torch.from_numpy(rng.integers(0, 99, (3, sum(lengths))))
    return torch.nested.nested_tensor_from_jagged(values, offsets(lengths), jagged_dim=2)


TENSORS: dict[str, Maker] = {
    "f32": lambda rng, rows: torch.from_numpy(rng.choice([0.5, -2.0, np.nan, np.inf], (rows, 3)).astype(np.float32)),
    "i64": lambda rng, rows: torch.from_numpy(rng.integers(-9, 9, rows)),
    "bool": lambda rng, rows: torch.from_numpy(rng.integers(0, 2, (rows, 2))).bool(),
    "bf16": lambda rng, rows: torch.from_numpy(rng.normal(size=(rows, 2, 1))).to(torch.bfloat16),
    "jagged": _jagged,
    "jagged_bf16": _jagged_floats,
    "jagged_on_2": _jagged_on_2,
}

COLUMNS: dict[str, Maker] = {
    "strings": lambda rng, rows: column(f"uid-{number}" for number in rng.integers(0, 3, rows)),
    "lists": lambda rng, rows: column(rng.integers(0, 9, (rows, 2)).tolist()),
    "dicts": lambda rng, rows: column({"score": float(x), "tags": [str(x)]} for x in rng.choice([1.5, np.nan], rows)),
    "arrays": lambda rng, rows: column(rng.normal(size=(rows, 2))),
    "nones": lambda rng, rows: column([None if x else "text" for x in rng.integers(0, 2, rows)]),
    "f32_column": lambda rng, rows: rng.choice([1.5, np.nan], rows).astype(np.float32),
    "i16_matrix": lambda rng, rows: rng.integers(0, 9, (rows, 2)).astype(np.int16),
    "text_column": lambda rng, rows: np.array([f"t{x}" for x in rng.integers(0, 99, rows)], dtype="U3"),
}

META: dict[str, Maker] = {
    "one_per_row": lambda rng, rows: list(range(rows)),
    "nan": lambda rng, rows: float("nan"),
    "nested": lambda rng, rows: {"a": [1, {"b": torch.arange(3)}]},
    "eos": lambda rng, rows: 7,
}


@st.composite
def batches(draw: st.DrawFn, *, least: int = 0, most: int = 5) -> DataProto:
    """Batches with any of these fields: no field at all, no tensor, no column, no row and one row are among them."""
    rows = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    chosen = [draw(st.sets(st.sampled_from(list(makers)))) for makers in (TENSORS, COLUMNS, META)]
    tensors, columns, meta = (
        {name: makers[name](rng, rows) for name in makers if name in names}
        for makers, names in zip((TENSORS, COLUMNS, META), chosen, strict=True)
    )
    if not tensors and draw(st.booleans()):
        return DataProto(TensorDict({}, batch_size=[rows]), columns, meta)  # what is left when all tensors are popped
    return DataProto.from_dict(tensors, columns, meta)


# --- a second opinion -------------------------------------------------------------------------------------------------


def plain(batch: Any) -> dict[str, str]:
    """Every field as text, with its dtype, row shape, layout and values; made without the code under test."""
    tensors = {} if batch.batch is None else dict(batch.batch.items())
    return {
        **{f"batch {key}": plain_tensor(value) for key, value in tensors.items()},
        **{f"column {key}": f"{c.dtype} {c.shape[1:]} {list(c)!r}" for key, c in batch.non_tensor_batch.items()},
        **{f"meta {key}": repr(value) for key, value in batch.meta_info.items()},
    }


def plain_tensor(value: torch.Tensor) -> str:
    ragged = value._ragged_idx if value.layout is torch.jagged else "-"
    dense = value.shape[1:] if not value.is_nested else "-"
    return f"{value.dtype} {value.device} {ragged} {dense} {[row.tolist() for row in value.unbind(0)]}"
