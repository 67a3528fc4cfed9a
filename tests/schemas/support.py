"""What the tests of this floor share: whole messages, small stores, and batches that are not ours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from batchpact.schemas import BatchSchema, DeclarationError
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.errors import contract_error
from batchpact.schemas.stores import Stores

# --- messages ---------------------------------------------------------------------------------------------------------


@contextmanager
def refused(subject: str, *lines: str) -> Iterator[None]:
    """The block declares something wrongly, and exactly these lines say so."""
    with pytest.raises(DeclarationError) as caught:
        yield
    problems = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    expected = [f"{problems} in the declaration of {subject}", "", *(f"  BP051 declared  {line}" for line in lines)]
    assert str(caught.value) == "\n".join(expected)


def complaint(schema: type[BatchSchema], stores: Stores, context: Context | None = None) -> str:
    """Everything that is said about a batch, without the headline; empty for a healthy one.

    The plan is asked as well: it must not pass what the diagnosis complains of.
    """
    given = {} if context is None else context.given
    plan = schema.__batchpact__.plan
    found = diagnose(plan, stores, context)
    if not found.violations:
        assert found.dims == []
        return ""
    assert plan.sizes(stores, given) is None
    return str(contract_error("here", found.violations, found.dims)).partition("\n\n")[2]


# --- batches ----------------------------------------------------------------------------------------------------------


def stores(
    tensors: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    args: Mapping[str, Any] | None = None,
) -> Stores:
    """A batch, with what is left out empty."""
    return Stores(tensors or {}, columns or {}, meta or {}, args or {})


def objects(*cells: object) -> np.ndarray[Any, np.dtype[Any]]:
    """A column with one cell per row."""
    column = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        column[row] = cell
    return column


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, 100, shape)


def jagged(*lengths: int, offsets: torch.Tensor | None = None) -> torch.Tensor:
    """Token ids, `[batch, jagged]`, with rows of these lengths."""
    return torch.nested.nested_tensor_from_jagged(ids(sum(lengths)), _offsets(lengths) if offsets is None else offsets)


def jagged_on_2(inner: int, *lengths: int) -> torch.Tensor:
    """`[batch, inner, jagged]`, as the position ids of several sections are."""
    return torch.nested.nested_tensor_from_jagged(ids(inner, sum(lengths)), _offsets(lengths), jagged_dim=2)


def strided_nested(*lengths: int) -> torch.Tensor:
    """A nested tensor of the old layout, about which torch warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.nested.nested_tensor([floats(length) for length in lengths])


def _offsets(lengths: tuple[int, ...]) -> torch.Tensor:
    return torch.tensor([0, *np.cumsum(lengths).tolist()])
