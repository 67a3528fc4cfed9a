"""Rows as one batch: structure from the schema, whatever the rows are and in any order; rows at fault are named."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float, Float32, Int64, Shaped
from torch import Tensor

from batchpact.schemas import (
    Arg,
    BatchSchema,
    ContractError,
    Fill,
    Group,
    Jagged,
    Key,
    Merge,
    Meta,
    Name,
    NonTensor,
    Pad,
    Tag,
)
from batchpact.schemas.axes import offsets_of
from tests.dataproto.support import plain_tensor, says
from tests.schemas.rows import Rollout, row, without


def refused(schema: type[BatchSchema], rows: list[Any], *lines: str, **options: Any) -> None:
    """The rows are refused with exactly these lines."""
    are = "1 row of {} is collated" if len(rows) == 1 else f"{len(rows)} rows of {{}} are collated"
    with says(ContractError, f"where {are.format(schema.__name__)}", *lines):
        schema.collate(rows, **options)


def lists(instance: BatchSchema) -> dict[str, Any]:
    """The values of an instance, plainly."""
    return {
        name: [row.tolist() for row in value.unbind(0)] if isinstance(value, Tensor) else list(value)
        if isinstance(value, np.ndarray) else value
        for name, value in vars(instance).items()
    }  # fmt: skip


# --- structure from the schema ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [[2, 2], [1, 3], [2], [0], [0, 0]], ids=repr)
def test_a_jagged_field_is_jagged_whatever_its_lengths_are(turns: list[int]) -> None:
    """Case J3: also with equal lengths, and with one row."""
    made = Rollout.collate([row(turns=length) for length in turns])

    assert made.turns.layout is torch.jagged
    assert offsets_of(made.turns).diff().tolist() == turns
    assert made.responses.layout is torch.strided
    assert made.responses.shape == (len(turns), 3)


def test_a_tensor_may_be_ragged_on_an_axis_behind_others() -> None:
    class Positions(BatchSchema):
        position_ids: Annotated[Int64[Tensor, "batch 2 length"], Jagged("length")]
        input_ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]

    ids = [torch.arange(length) for length in (2, 0, 3)]
    made = Positions.collate([{"position_ids": torch.stack([one, -one]), "input_ids": one} for one in ids])

    assert [part.tolist() for part in made.position_ids.unbind(0)] == [
        [[0, 1], [0, -1]],
        [[], []],
        [[0, 1, 2], [0, -1, -2]],
    ]
    assert offsets_of(made.position_ids) is offsets_of(made.input_ids)


def test_no_row_gives_tensors_without_rows_in_the_declared_dtype_and_rank() -> None:
    class Declared(BatchSchema):
        ids: Int64[Tensor, "batch prompt+response"]
        logits: Float[Tensor, "batch response 7"]
        anything: Shaped[Tensor, "batch ..."]
        turns: Annotated[Int64[Tensor, "batch 3 turn"], Jagged("turn")]
        score: Float32[Tensor, "batch"] | None = None
        uid: NonTensor[str]
        host: Tag[str]
        step: Meta[int]
        scale: Arg[float] = 1.0

    made = Declared.collate([], dims={"response": 5})

    assert {name: plain_tensor(value) for name, value in vars(made).items() if isinstance(value, Tensor)} == {
        "ids": "torch.int64 cpu - torch.Size([5]) []",
        "logits": "torch.float32 cpu - torch.Size([5, 7]) []",
        "anything": "torch.float32 cpu - torch.Size([]) []",
        "turns": "torch.int64 cpu 2 - []",
    }
    assert made.score is None
    assert [(column.dtype, column.shape) for column in (made.uid, made.host)] == [(np.dtype(object), (0,))] * 2
    assert not hasattr(made, "step"), "nobody has said it; the caller may set it"
    assert Declared.collate([]).logits.shape == (0, 0, 7)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]], ids=repr)
def test_a_field_that_some_rows_lack_is_filled_in_any_order(order: list[int]) -> None:
    """Case M3: the keys of the first row decide nothing."""
    rows = [row("a"), row("b", rollout_log_probs=torch.zeros(3)), row("c", rollout_log_probs=None)]

    made = Rollout.collate([rows[at] for at in order])

    log_probs = [[-1.0] * 3, [0.0] * 3, [-1.0] * 3]
    assert made.rollout_log_probs is not None
    assert made.rollout_log_probs.tolist() == [log_probs[at] for at in order]
    assert made.uid.tolist() == ["abc"[at] for at in order]


def test_cells_are_the_objects_that_were_given() -> None:
    """Cases P1 and P3: lists of one length are no matrix."""
    rows = [row("a", messages=[{"role": "user"}]), row("b", messages=[{"role": "tool"}])]

    made = Rollout.collate(rows)

    assert made.messages.shape == (2,)
    assert all(cell is given["messages"] for cell, given in zip(made.messages, rows, strict=True))


def test_a_column_of_what_may_be_none_keeps_it() -> None:
    class Tools(BatchSchema):
        tool: NonTensor[str | None]
        other: Annotated[NonTensor[str], Fill("none")] | None = None

    made = Tools.collate([{"tool": None, "other": None}, {"tool": "calculator", "other": "x"}])

    assert lists(made) == {"tool": [None, "calculator"], "other": ["none", "x"]}


def test_keys_become_attributes_and_free_fields_go_along() -> None:
    class Open(BatchSchema, extra="allow"):
        num_turns: Annotated[NonTensor[int], Name("__num_turns__")]

    made = Open.collate([{"__num_turns__": 1, "extra": torch.tensor([1, 2]), "note": "x"}] * 2)

    assert lists(made) == {"num_turns": [1, 1], "extra": [[1, 2], [1, 2]], "note": ["x", "x"]}


def test_rows_are_not_changed_and_an_iterator_of_them_will_do() -> None:
    rows = [row("a", rollout_log_probs=torch.zeros(3)), row("b", response=1)]
    before = [dict(one) for one in rows]

    Rollout.collate(iter(rows), pad=True)

    assert all(
        one.keys() == was.keys() and all(one[key] is was[key] for key in was)
        for one, was in zip(rows, before, strict=True)
    )


# --- meta -------------------------------------------------------------------------------------------------------------


def test_meta_is_merged_by_its_policy_as_in_a_concat() -> None:
    class Figures(BatchSchema):
        uid: NonTensor[str]
        temperature: Meta[float]
        tokens: Annotated[Meta[int], Merge("sum")]
        timing: Annotated[Meta[dict[str, float]], Merge("max")] | None = None
        metrics: Meta[dict[str, Any]] | None = None

    made = Figures.collate(
        [
            {"uid": "a", "temperature": 0.7, "tokens": 3, "metrics": {"loss": 1.0}},
            {"uid": "b", "tokens": 4, "timing": None, "metrics": {"loss": 2.0}},
            {"uid": "c", "temperature": 0.7, "timing": {"s": 1.5}},
        ]
    )

    assert {name: value for name, value in vars(made).items() if name != "uid"} == {
        "temperature": 0.7,
        "tokens": 7,
        "timing": {"s": 1.5},
        "metrics": {"loss": [1.0, 2.0]},
    }


def test_different_values_where_no_policy_is_declared_are_named_with_their_rows() -> None:
    refused(
        Rollout,
        [row("a"), without(row("b"), "step"), row("c", step=8)],
        "BP041 conflict  step  row 0 and row 2 differ: 7 against 8; one value for the batch",
    )


# --- lengths ----------------------------------------------------------------------------------------------------------


def test_rows_of_different_lengths_are_padded_on_request() -> None:
    """Case R6: every field that has the dim gets longer, each on its own side."""
    made = Rollout.collate([row("a", prompt=1, response=2), row("b", prompt=2, response=1)], pad=True)

    assert made.prompts.tolist() == [[0, 1], [1, 2]]
    assert made.responses.tolist() == [[1, 2], [1, 0]]
    assert made.input_ids.tolist() == [[0, 1, 1, 2], [1, 2, 1, 0]]
    assert made.response_mask.tolist() == [[1, 1], [1, 0]]


def test_a_filled_field_is_padded_with_its_row() -> None:
    made = Rollout.collate([row("a", response=1), row("b", response=2, rollout_log_probs=torch.zeros(2))], pad=True)

    assert made.rollout_log_probs is not None
    assert made.rollout_log_probs.tolist() == [[-1.0, -1.0], [0.0, 0.0]]


def test_rows_are_made_as_long_as_dims_say() -> None:
    made = Rollout.collate([row(response=1)], dims={"response": 4, "prompt": 2}, pad=True)

    assert made.responses.tolist() == [[1, 0, 0, 0]]
    assert made.input_ids.tolist() == [[1, 2, 1, 0, 0, 0]]


def test_a_row_that_is_longer_than_dims_say_is_not_cut() -> None:
    refused(
        Rollout,
        [row("a", response=1), row("b", response=3), row("c", response=3)],
        "BP012 shape  response  response=3 in rows 1 (uid 'b'), 2 (uid 'c'), declared response=2 by dims; rows are "
        "never cut",
        dims={"response": 2},
        pad=True,
    )


def test_without_pad_lengths_are_told_with_the_way_out() -> None:
    class Scored(BatchSchema):
        ids: Annotated[Int64[Tensor, "batch response"], Pad(0)]
        scores: Float32[Tensor, "batch response"]
        uid: Annotated[NonTensor[str], Group()]

    rows = [{"ids": torch.arange(n), "scores": torch.zeros(n), "uid": uid} for uid, n in (("a", 2), ("b", 1), ("c", 2))]
    where = "{0}[2] in rows 0 (uid 'a'), 2 (uid 'c'), {0}[1] in row 1 (uid 'b')"

    refused(
        Scored,
        rows,
        f"BP042 parts  ids     {where.format('i64')}; one dtype and shape in all rows; collate(rows, pad=True) makes "
        "rows equally long",
        f"BP042 parts  scores  {where.format('f32')}; one dtype and shape in all rows; declare Pad(value, side) and "
        "collate(rows, pad=True), or declare Jagged(dim)",
    )
    refused(
        Scored,
        rows,
        f"BP042 parts  scores  {where.format('f32')}; one row shape; nothing says how to fill up response: declare "
        "Pad(value, side)",
        pad=True,
    )


def test_dims_hold_for_every_row_and_have_to_be_known() -> None:
    refused(
        Rollout,
        [row("a"), row("b", response=2)],
        "BP012 shape  responses      row 0 (uid 'a'): i64[3], declared \"response\"; response=2 in dims",
        "BP012 shape  input_ids      row 0 (uid 'a'): i64[5], declared \"prompt+response\"; prompt+response is 5, with "
        "prompt=2, response=2",
        "BP012 shape  response_mask  row 0 (uid 'a'): i64[3], declared \"response\"; response=2 in dims",
        dims={"response": 2},
    )
    refused(
        Rollout,
        [row()],
        "BP036 call  dims  Rollout has no dim 'respons'; its dims are 'batch', 'prompt', 'response' and 'turn'",
        dims={"respons": 2},
    )


def test_what_only_all_rows_together_can_break_is_found() -> None:
    class Pairs(BatchSchema):
        wins: Int64[Tensor, "batch batch"]

    assert Pairs.collate([{"wins": torch.arange(2)}] * 2, dims={"batch": 2}).wins.shape == (2, 2)
    refused(
        Pairs,
        [{"wins": torch.arange(3)}] * 2,
        "BP013 dims  batch  2 in wins, 3 in wins; all must agree, and no size is in the majority",
        "",
        "dims  batch=2 (wins) 3 (wins)",
    )


# --- rows at fault ----------------------------------------------------------------------------------------------------


def test_every_broken_row_is_named_and_like_ones_share_a_line() -> None:
    refused(
        Rollout,
        [
            row("a"),
            row("b", score=[1.0]),
            row("c", score=[2.0]),
            without(row("d"), "input_ids"),
            without(row("e"), "uid"),
            3,
        ],
        "BP006 type     score      rows 1 (uid 'b'), 2 (uid 'c'): list of 1, declared f32 \"\"; convert it where it is "
        "made: torch.tensor(x, dtype=...)",
        "BP001 missing  input_ids  declared i64 \"prompt+response\"; not in row 3 (uid 'd'); no name in the row is "
        "close",
        "BP001 missing  uid        declared non-tensor str; not in row 4; no name in the row is close",
        "BP006 type     row        row 5: int 3, declared a mapping by the keys of the fields",
    )


def test_a_field_that_only_some_rows_have_needs_a_fill_in_any_order() -> None:
    """Case M3."""

    class Scored(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        acc: Float32[Tensor, "batch"] | None = None
        pred: NonTensor[str] | None = None

    rows = [{"uid": "a", "acc": torch.tensor(1.0), "pred": "x"}, {"uid": "b", "acc": torch.tensor(0.0)}, {"uid": "c"}]

    for order in ([0, 1, 2], [2, 1, 0]):
        a, b, c = (order.index(at) for at in range(3))
        first, second = sorted((a, b)), sorted((b, c))
        name = {a: "a", b: "b", c: "c"}
        shown = [f"{at} (uid '{name[at]}')" for at in range(3)]
        hint = "every row has the same fields; write it in every row, or declare Fill(value) for those that have none"
        acc = f"BP042 parts  acc   not in row {shown[c]}, present in rows {shown[first[0]]}, {shown[first[1]]}; {hint}"
        pred = (
            f"BP042 parts  pred  not in rows {shown[second[0]]}, {shown[second[1]]}, present in row {shown[a]}; {hint}"
        )
        refused(Scored, [rows[at] for at in order], acc, pred)


def test_rows_of_several_dtypes_are_named() -> None:
    class Family(BatchSchema):
        x: Annotated[Float[Tensor, "batch n"], Pad(0)]

    refused(
        Family,
        [{"x": torch.ones(2)}, {"x": torch.ones(2).double()}, {"x": torch.ones(1)}],
        "BP042 parts  x  f32[2] in row 0, f64[2] in row 1, f32[1] in row 2; one dtype and shape in all rows",
    )
    refused(
        Family,
        [{"x": torch.ones(2)}, {"x": torch.ones(2, device="meta")}],
        "BP042 parts  x  cpu in row 0, meta in row 1; one device",
    )


def test_a_fill_that_the_dtype_cannot_hold_is_refused() -> None:
    class Small(BatchSchema):
        uid: NonTensor[str]
        x: Annotated[Shaped[Tensor, "batch"], Fill(300)] | None = None

    refused(
        Small,
        [{"uid": "a", "x": torch.tensor(1, dtype=torch.uint8)}, {"uid": "b"}],
        "BP045 store  x  Fill(300) for u8[]; a value that the field can hold as it is",
    )
