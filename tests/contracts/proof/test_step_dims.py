"""The static check of dims: a name stands for the axis that a stage made, and keeps one meaning."""

from __future__ import annotations

from typing import Any

import pytest
from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import Arg, Meta, NonTensor, Repeat
from tests.contracts.plans import PerPromptToken, PerRow, PerToken, declare, findings, report

Whole = Float32[Tensor, "batch prompt+response"]


def two(left: str, right: str) -> dict[str, Any]:
    return {"left": Float32[Tensor, left], "right": Float32[Tensor, right]}


# --- names -----------------------------------------------------------------------------------------------------------


def test_a_reader_may_name_the_axes_as_it_likes() -> None:
    assert report(two("batch x y", "batch x"), declare("Use", two("rows time width", "rows time"))).findings == ()


def test_one_name_for_two_axes() -> None:
    assert findings(two("batch response", "batch prompt"), declare("Use", two("batch time", "batch time"))) == [
        'BP012 shape  use: right  the inputs hold f32 "batch prompt", declared f32 "batch time"; '
        "time is inputs.response elsewhere in what it reads, and inputs.prompt here"
    ]


def test_axes_in_another_order() -> None:
    assert findings(two("batch x y", "batch y x"), declare("Use", two("batch p q", "batch p q"))) == [
        'BP012 shape  use: right  the inputs hold f32 "batch y x", declared f32 "batch p q"; '
        "p is inputs.x elsewhere in what it reads, and inputs.y here",
        'BP012 shape  use: right  the inputs hold f32 "batch y x", declared f32 "batch p q"; '
        "q is inputs.y elsewhere in what it reads, and inputs.x here",
    ]


def test_a_name_that_a_stage_did_not_read_is_an_axis_of_its_own() -> None:
    judge = declare("Judge", {"uid": NonTensor[str]}, {"notes": PerToken})
    inputs = {"scores": PerToken, "uid": NonTensor[str]}

    assert report(inputs, judge, declare("Use", {"notes": PerToken})).findings == ()
    assert findings(inputs, judge, declare("Use", {"scores": PerToken, "notes": PerToken})) == [
        'BP012 shape  use: notes  \'judge\' writes f32 "batch response", declared f32 "batch response"; '
        "response is inputs.response elsewhere in what it reads, and judge.response here"
    ]


def test_an_integer_meta_field_names_a_dim() -> None:
    count = declare("Count", {}, {"turns": Meta[int], "rewards": Float32[Tensor, "batch turns"]})
    use = declare("Use", {"turns": Meta[int], "rewards": Float32[Tensor, "batch turns"]})

    assert report({"x": PerRow}, count, use).findings == ()
    assert findings({"turns": Meta[int], "rewards": PerToken}, use) == [
        'BP012 shape  use: rewards  the inputs hold f32 "batch response", declared f32 "batch turns"; '
        "turns is inputs.turns elsewhere in what it reads, and inputs.response here"
    ]


# --- fixed sizes and arithmetic --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"), [("batch 4", "batch x"), ("batch x", "batch 4"), ("batch 4", "batch k=4")]
)
def test_a_fixed_size_may_be_read_under_a_name_and_the_other_way_round(written: str, read: str) -> None:
    assert report({"x": Float32[Tensor, written]}, declare("Use", {"x": Float32[Tensor, read]})).findings == ()


@pytest.mark.parametrize("dim", ["3", "heads=3"])
def test_two_fixed_sizes(dim: str) -> None:
    wide = Float32[Tensor, f"batch {dim}"]

    assert findings({"x": Float32[Tensor, "batch 4"]}, declare("Use", {"x": wide})) == [
        f'BP012 shape  use: x  the inputs hold f32 "batch 4", declared f32 "batch {dim}"; '
        f"the axis {dim} has size 4 here"
    ]


def test_arithmetic_that_means_the_same() -> None:
    inputs = {"ids": PerPromptToken, "responses": PerToken, "whole": Whole}
    turned = Float32[Tensor, "rows r+p"]
    use = declare("Use", {"ids": Float32[Tensor, "rows p"], "responses": Float32[Tensor, "rows r"], "whole": turned})

    assert report(inputs, use).findings == ()


def test_arithmetic_that_means_something_else() -> None:
    inputs = {"ids": PerPromptToken, "responses": PerToken, "whole": Whole}
    twice = Float32[Tensor, "batch prompt+2*response"]

    assert findings(inputs, declare("Use", {**inputs, "whole": twice})) == [
        'BP012 shape  use: whole  the inputs hold f32 "batch prompt+response", '
        'declared f32 "batch prompt+2*response"; '
        "prompt+2*response is inputs.prompt+2*inputs.response, and inputs.prompt+inputs.response here"
    ]


def test_what_nothing_else_binds_is_the_rest_of_the_axis() -> None:
    """A stage that reads responses and whole texts knows the prompts, and may write them."""
    cut = declare("Cut", {"responses": PerToken, "whole": Whole}, {"heads": PerPromptToken})
    inputs = {"ids": PerPromptToken, "responses": PerToken, "whole": Whole}

    assert report(inputs, cut, declare("Use", {"ids": PerPromptToken, "heads": PerPromptToken})).findings == ()
    assert findings(inputs, cut, declare("Use", {"responses": PerToken, "heads": PerToken})) == [
        'BP012 shape  use: heads  \'cut\' writes f32 "batch prompt", declared f32 "batch response"; '
        "response is inputs.response elsewhere in what it reads, and inputs.prompt here"
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("batch ...", "batch x"),
        ("batch _", "batch x"),
        ("batch x", "batch _"),
        ("batch x y", "batch *shape"),
        ("batch x", "batch a+b"),
        ("batch x", "batch 2*a"),
        ("batch 4*x", "batch 4*a"),
    ],
)
def test_what_cannot_be_known_is_no_finding(written: str, read: str) -> None:
    one, two = Float32[Tensor, written], Float32[Tensor, read]
    free = {"a": Meta[int], "b": Meta[int]}

    assert report({"x": one, **free}, declare("Use", {"x": two, **free})).findings == ()


# --- the batch axis --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["same", "permute"])
def test_a_stage_that_reads_columns_alone_writes_the_rows_that_are_there(rows: Any) -> None:
    judge = declare("Judge", {"uid": NonTensor[str]}, {"notes": PerRow}, rows=rows)
    inputs = {"scores": PerRow, "uid": NonTensor[str]}

    assert report(inputs, judge, declare("Use", {"scores": PerRow, "notes": PerRow})).findings == ()


@pytest.mark.parametrize(
    ("rows", "axis"),
    [
        ("select", "batch"),
        (Repeat(2), "batch"),
        (Repeat(2), "rows"),
        (Repeat("rollout.n"), "batch*n"),
        ("new", "batch"),
    ],
)
def test_new_rows_are_the_rows_of_everything_that_is_there(rows: Any, axis: str) -> None:
    """Fields that the stage did not see follow; after new rows there are none."""
    made = Float32[Tensor, axis]
    sample = declare("Sample", {"x": PerRow, "n": Arg[int]}, {"made": made, "more": made}, rows=rows)
    use = declare("Use", {"made": PerRow, "more": PerRow} if rows == "new" else {"made": PerRow, "y": PerRow})
    again = declare("Again", {"made": PerRow}, {"z": PerRow})

    assert report({"x": PerRow, "y": PerRow}, sample, use, again, declare("End", {"made": PerRow, "z": PerRow})).ok


def test_two_selections_are_two_batch_axes_and_both_are_everybodys() -> None:
    first = declare("First", {"x": PerRow}, {"a": PerRow}, rows="select")
    second = declare("Second", {"y": PerRow}, {"b": PerRow}, rows="select")

    assert report({"x": PerRow, "y": PerRow}, first, second, declare("Use", {"a": PerRow, "b": PerRow})).findings == ()


def test_the_old_number_of_rows_is_no_longer_the_batch() -> None:
    """A square that was as wide as the batch is not, after rows were selected."""
    square = Float32[Tensor, "batch batch"]
    choose = declare("Choose", {"x": PerRow}, {"a": PerRow}, rows="select")
    use = declare("Use", {"square": square})

    assert report({"x": PerRow, "square": square}, use).findings == ()
    assert findings({"x": PerRow, "square": square}, choose, use) == [
        'BP012 shape  use: square  the inputs hold f32 "batch batch", declared f32 "batch batch"; '
        "batch is choose.batch elsewhere in what it reads, and inputs.batch here"
    ]
