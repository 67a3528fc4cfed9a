"""Numbers that rules leave."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from batchpact.contracts.testing.numbers import integer_range, tensor
from batchpact.contracts.testing.unmeetable import Unmeetable
from batchpact.schemas.dtypes import dtype_name
from batchpact.schemas.record import RuleSpec


def rules(**kinds: float | None) -> list[RuleSpec]:
    return [RuleSpec(kind=kind, value=value) for kind, value in kinds.items()]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (rules(), (-100, 100)),
        (rules(ge=0), (0, 99)),
        (rules(gt=2.5), (3, 102)),
        (rules(lt=0), (-100, -1)),
        (rules(ge=3, lt=4), (3, 3)),
        (rules(binary=None, gt=0), (1, 1)),
    ],
)
def test_the_range_of_integers(limits: list[RuleSpec], expected: tuple[int, int]) -> None:
    assert integer_range(limits) == expected


def test_the_range_stays_within_the_dtype() -> None:
    assert integer_range(rules(), 0, 255) == (0, 100)
    assert integer_range(rules(ge=200), 0, 255) == (200, 255)
    with pytest.raises(Unmeetable, match="no number is >= 300"):
        integer_range(rules(ge=300), 0, 255)


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool],
    ids=dtype_name,
)
def test_every_dtype_is_drawn(dtype: torch.dtype) -> None:
    made = tensor([RuleSpec(kind="binary")], dtype, (3, 40), np.random.default_rng(0))

    assert made.dtype is dtype and made.shape == (3, 40)
    assert set(made.to(torch.float64).unique().tolist()) == {0.0, 1.0}


def test_a_bound_that_a_dtype_rounds_away_is_kept_or_refused() -> None:
    half = tensor(rules(gt=1, lt=1.02), torch.bfloat16, (50,), np.random.default_rng(0))

    assert set(half.tolist()) == {1.0078125, 1.015625}
    with pytest.raises(Unmeetable, match=r"no number in bfloat16 is > 1 and < 1\.001"):
        tensor(rules(gt=1, lt=1.001), torch.bfloat16, (50,), np.random.default_rng(0))
