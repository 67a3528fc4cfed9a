"""Layout is declared, never guessed: what is said of dense, jagged and other tensors."""

from typing import Annotated

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Jagged
from batchpact.schemas.axes import Lengths, offsets_of
from batchpact.schemas.diagnose import Context, diagnose

from .support import complaint, ids, jagged, jagged_on_2, stores, strided_nested


class Dense(BatchSchema):
    ids: Int64[Tensor, "batch length"]


class Ragged(BatchSchema):
    ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]


class On2(BatchSchema):
    position_ids: Annotated[Int64[Tensor, "batch 4 length"], Jagged("length")]


# --- BP015: layout ----------------------------------------------------------------------------------------------------


def test_a_dense_tensor_where_a_jagged_one_is_declared_is_refused_though_all_rows_have_one_length() -> None:
    assert complaint(Ragged, stores({"ids": ids(3, 4)})) == (
        '  BP015 layout  ids  i64[3, 4], declared jagged on "length"'
    )


def test_a_jagged_tensor_where_a_dense_one_is_declared_is_refused_though_all_rows_have_one_length() -> None:
    assert complaint(Dense, stores({"ids": jagged(4, 4, 4)})) == (
        '  BP015 layout  ids  jagged, i64[3, jagged], declared dense "batch length"'
    )


def test_a_tensor_that_is_ragged_on_another_axis_is_refused() -> None:
    class On1(BatchSchema):
        position_ids: Annotated[Int64[Tensor, "batch length 4"], Jagged("length")]

    assert complaint(On1, stores({"position_ids": jagged_on_2(4, 2, 3)})) == (
        '  BP015 layout  position_ids  jagged, i64[2, 4, jagged], declared jagged on "length"'
    )


def test_a_strided_nested_tensor_is_neither_dense_nor_jagged() -> None:
    class Scores(BatchSchema):
        dense: Float32[Tensor, "batch length"]
        ragged: Annotated[Float32[Tensor, "batch length"], Jagged("length")]
        optional: Float32[Tensor, "batch length"] | None = None

    nested = strided_nested(2, 3)
    assert complaint(Scores, stores({"dense": nested, "ragged": nested, "optional": nested})) == (
        '  BP015 layout  dense     f32 strided nested, declared dense "batch length"\n'
        '  BP015 layout  ragged    f32 strided nested, declared jagged on "length"\n'
        '  BP015 layout  optional  f32 strided nested, declared dense "batch length"'
    )


def test_a_sparse_tensor_is_not_dense() -> None:
    assert complaint(Dense, stores({"ids": ids(2, 3).to_sparse()})) == (
        '  BP015 layout  ids  torch.sparse_coo, i64[2, 3], declared dense "batch length"'
    )


# --- ragged axes ------------------------------------------------------------------------------------------------------


def test_a_dense_axis_of_a_jagged_tensor_is_checked_like_any() -> None:
    assert complaint(On2, stores({"position_ids": jagged_on_2(4, 2, 3)})) == ""
    assert complaint(On2, stores({"position_ids": jagged_on_2(3, 2, 3)})) == (
        '  BP012 shape  position_ids  i64[2, 3, jagged], declared "batch 4 length"; 4 is 3\n'
        "\n"
        "  dims  batch=2 (position_ids)"
    )


def test_a_jagged_tensor_of_another_rank_is_refused() -> None:
    deep = torch.nested.nested_tensor_from_jagged(ids(5, 4), torch.tensor([0, 2, 5]))

    assert complaint(Ragged, stores({"ids": deep})) == (
        '  BP011 rank  ids  i64[2, jagged, 4], declared "batch length"; '
        "3 axes where 2 are declared; nothing is squeezed or expanded"
    )


class Three(BatchSchema):
    ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]
    mask: Annotated[Int64[Tensor, "batch length"], Jagged("length")]
    position_ids: Annotated[Int64[Tensor, "batch 4 length"], Jagged("length")]


def test_the_minority_of_ragged_lengths_is_blamed_without_printing_them() -> None:
    batch = stores({"ids": jagged(2, 3), "mask": jagged(3, 2), "position_ids": jagged_on_2(4, 2, 3)})

    assert complaint(Three, batch) == (
        '  BP012 shape  mask  i64[2, jagged], declared "batch length"; '
        "length=ragged lengths in ids and position_ids\n"
        "\n"
        "  dims  batch=2 (ids, mask, position_ids)"
    )


@pytest.mark.parametrize("rows", [1, 3])
def test_other_rows_of_a_jagged_tensor_are_blamed_on_the_batch_axis(rows: int) -> None:
    batch = stores({"ids": jagged(2, 3), "mask": jagged(*[2] * rows), "position_ids": jagged_on_2(4, 2, 3)})

    assert complaint(Three, batch) == (
        f'  BP012 shape  mask  i64[{rows}, jagged], declared "batch length"; batch=2 in ids and position_ids, '
        "length=ragged lengths in ids and position_ids\n"
        "\n"
        f"  dims  batch=2 (ids, position_ids) {rows} (mask)"
    )


def test_one_name_cannot_be_ragged_here_and_dense_there() -> None:
    class Both(BatchSchema):
        ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]
        mask: Int64[Tensor, "batch length"]

    assert complaint(Both, stores({"ids": jagged(3, 3), "mask": ids(2, 3)})) == (
        "  BP013 dims  length  ragged lengths in ids, 3 in mask; all must agree, and no size is in the majority\n"
        "\n"
        "  dims  batch=2 (ids, mask)  length=3 (mask)"
    )


def test_lengths_that_are_given_are_held() -> None:
    read = offsets_of(jagged(2, 3))
    context = Context(given={"length": Lengths(read)}, given_from="what the stage read")

    assert complaint(Ragged, stores({"ids": jagged(2, 3, offsets=read)}), context) == ""
    assert complaint(Ragged, stores({"ids": jagged(2, 3)}), context) == ""
    assert complaint(Ragged, stores({"ids": jagged(3, 2)}), context) == (
        '  BP012 shape  ids  i64[2, jagged], declared "batch length"; length=ragged lengths in what the stage read\n'
        "\n"
        "  dims  batch=2 (ids)"
    )


# --- arithmetic on ragged dims ----------------------------------------------------------------------------------------


class Sequence(BatchSchema):
    input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Jagged("prompt+response")]
    prompts: Annotated[Int64[Tensor, "batch prompt"], Jagged("prompt")]
    responses: Annotated[Int64[Tensor, "batch response"], Jagged("response")]


def test_arithmetic_on_ragged_dims_holds_row_by_row() -> None:
    parts = {"prompts": jagged(2, 3), "responses": jagged(1, 4)}

    assert complaint(Sequence, stores({"input_ids": jagged(3, 7), **parts})) == ""
    assert complaint(Sequence, stores({"input_ids": jagged(4, 6), **parts})) == (
        '  BP012 shape  input_ids  i64[2, jagged], declared "batch prompt+response"; '
        "prompt+response is ragged lengths, with prompt=ragged lengths, response=ragged lengths\n"
        "\n"
        "  dims  batch=2 (input_ids, prompts, responses)"
    )


def test_arithmetic_on_ragged_dims_of_different_rows_is_refused_and_not_broadcast() -> None:
    batch = stores({"input_ids": jagged(3), "prompts": jagged(2, 2), "responses": jagged(1, 1)})

    found = diagnose(Sequence.__batchpact__.plan, batch)
    assert [(wrong.code, wrong.field) for wrong in found.violations] == [("BP012", "input_ids"), ("BP012", "input_ids")]
    assert "batch=2 in prompts and responses" in found.violations[0].hint


def test_a_response_may_be_ragged_behind_a_prompt_of_one_length() -> None:
    class Mixed(BatchSchema):
        input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Jagged("prompt+response")]
        prompts: Int64[Tensor, "batch prompt"]
        responses: Annotated[Int64[Tensor, "batch response"], Jagged("response")]

    parts = {"prompts": ids(2, 3), "responses": jagged(1, 4)}
    assert complaint(Mixed, stores({"input_ids": jagged(4, 7), **parts})) == ""
    assert complaint(Mixed, stores({"input_ids": jagged(5, 6), **parts})).startswith("  BP012 shape  input_ids  ")


def test_empty_rows_and_no_rows_are_healthy() -> None:
    for lengths in ((0, 0), ()):
        batch = stores({name: jagged(*lengths) for name in ("input_ids", "prompts", "responses")})
        assert complaint(Sequence, batch) == ""
