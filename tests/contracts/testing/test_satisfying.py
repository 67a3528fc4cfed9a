"""Rules over several fields: rows are drawn until they hold, makers help, and those that cannot hold are named."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from pydantic import Field
from torch import Tensor

from batchpact.contracts.testing import SampleError, sample
from batchpact.schemas import BatchSchema, Binary, Meta, NonTensor, SameAs, rule
from batchpact.schemas.rl.rules import JaggedTexts, WholeTexts


class Below(BatchSchema):
    size: Annotated[Meta[int], Field(ge=1, le=3)]
    ids: Annotated[Int64[Tensor, "batch length"], Field(ge=0)]

    @rule(make={"ids": lambda self: self.ids % self.size})
    def ids_are_below_size(self) -> Tensor:
        """The ids are below size."""
        return (self.ids < self.size).all(dim=1)


def test_a_maker_keeps_to_a_range_that_meta_says() -> None:
    batch = sample(Below, batch=50, seed=1).bind(Below)

    assert (batch.batch["ids"] < batch.meta_info["size"]).all()


def test_makers_are_asked_in_their_order_and_never_change_what_is_given() -> None:
    ids = torch.randint(0, 90, (2, 7), generator=torch.Generator().manual_seed(0))
    parts = sample(WholeTexts, overrides={"input_ids": ids}, dims={"prompt": 3}).bind(WholeTexts)

    assert torch.equal(parts.batch["input_ids"], ids)
    assert torch.equal(parts.batch["prompts"], ids[:, :3])
    assert torch.equal(parts.batch["responses"], ids[:, 3:])


def test_a_row_that_is_given_reaches_the_fields_that_follow_from_it() -> None:
    given = torch.arange(5)
    batch = sample(JaggedTexts, overrides={2: {"responses": given}}).bind(JaggedTexts)

    assert torch.equal(batch.batch["responses"][2], given)
    assert torch.equal(batch.batch["input_ids"][2][-5:], given)


def test_a_twin_follows_what_a_maker_made() -> None:
    class Twins(BatchSchema):
        mask: Annotated[Int64[Tensor, "batch length"], Binary()]
        copy_: Annotated[Int64[Tensor, "batch length"], SameAs("mask")]

        @rule(make={"mask": lambda self: torch.ones_like(self.mask)})
        def mask_is_1(self) -> Tensor:
            return (self.mask == 1).all(dim=1)

    batch = sample(Twins)

    assert batch.batch["mask"].all() and batch.batch["copy_"].all()


def test_a_rule_may_make_a_column_and_meta() -> None:
    class Counted(BatchSchema):
        mask: Annotated[Int64[Tensor, "batch length"], Binary()]
        lengths: NonTensor[int]
        total: Meta[int]

        @rule(
            make={
                "lengths": lambda self: self.mask.sum(dim=1).tolist(),
                "total": lambda self: int(self.mask.sum()),
            }
        )
        def lengths_count(self) -> Tensor:
            same = torch.tensor(self.lengths.tolist(), dtype=torch.int64) == self.mask.sum(dim=1)
            return same & (self.total == int(self.mask.sum()))

    batch = sample(Counted).bind(Counted)

    assert batch.meta_info["total"] == sum(batch.non_tensor_batch["lengths"])


class Contrary(BatchSchema):
    x: Float32[Tensor, "batch"]
    y: Float32[Tensor, "batch"]

    @rule
    def x_is_larger(self) -> Tensor:
        """x is larger than y."""
        return self.x > self.y

    @rule
    def y_is_larger(self) -> Tensor:
        """y is larger than x."""
        return self.y > self.x


def test_rules_that_hold_alone_and_not_together_are_named() -> None:
    with pytest.raises(SampleError) as error:
        sample(Contrary)

    found = error.value.violations
    assert [violation.code for violation in found] == ["BP057"]
    assert found[0].actual == "no draw of 50 keeps to all of x_is_larger and y_is_larger; each holds alone"


def test_a_rule_that_no_draw_keeps_to_is_named_with_what_is_given() -> None:
    class Never(BatchSchema):
        x: Float32[Tensor, "batch"]

        @rule
        def x_is_7(self) -> Tensor:
            """x is 7."""
            return self.x == 7

    with pytest.raises(SampleError, match=r"x_is_7  no draw of 50 keeps to it; x is 7\.; make= on the rule says how"):
        sample(Never)
    with pytest.raises(SampleError, match=r"x_is_7  no draw of 50 keeps to it; x is 7\.; given: x"):
        sample(Never, overrides={"x": torch.ones(2)})
    assert sample(Never, overrides={"x": torch.full((2,), 7.0)}).batch["x"].tolist() == [7, 7]


def test_a_maker_that_fails_or_names_no_field_is_refused() -> None:
    class Failing(BatchSchema):
        x: Float32[Tensor, "batch"]

        @rule(make={"x": lambda self: self.nothing})
        def x_is_7(self) -> Tensor:
            return self.x == 7

    class Misnamed(BatchSchema):
        x: Float32[Tensor, "batch"]

        @rule(make={"z": lambda self: self.x})
        def x_is_7(self) -> Tensor:
            return self.x == 7

    with pytest.raises(SampleError, match="x_is_7  make= of x raised AttributeError: "):
        sample(Failing)
    with pytest.raises(SampleError, match="x_is_7  make= names 'z'; the attribute of a field"):
        sample(Misnamed)


@pytest.mark.parametrize(
    ("made", "told"),
    [(None, "None"), ("text", "str"), (torch.ones(1, 1), r"f32\[1, 1\]"), ([1.0] * 4, "list of 4")],
)
def test_a_maker_that_gives_something_else_is_refused(made: Any, told: str) -> None:
    class Odd(BatchSchema):
        x: Float32[Tensor, "batch"]

        @rule(make={"x": lambda self: made})
        def x_is_7(self) -> Tensor:
            return self.x == 7

    with pytest.raises(SampleError, match=rf"x_is_7  make= of x gives {told}; as it is now: f32\[4\]"):
        sample(Odd)


def test_a_rule_that_raises_is_shown_with_what_it_raised() -> None:
    class Raising(BatchSchema):
        x: Float32[Tensor, "batch"]

        @rule
        def x_is_7(self) -> Tensor:
            """x is 7."""
            raise RuntimeError("too early")

    with pytest.raises(SampleError, match=r"x_is_7  the rule raised RuntimeError: too early; x is 7\.$"):
        sample(Raising)
