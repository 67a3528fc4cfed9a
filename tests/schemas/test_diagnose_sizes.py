"""What is said of sizes: ranks, fixed sizes, dims that disagree, expressions that do not hold."""

from typing import Any

import pytest
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor
from batchpact.schemas.diagnose import Context, diagnose

from .support import complaint, floats, ids, objects, stores


class Tokens(BatchSchema):
    a: Float32[Tensor, "batch response"]
    b: Float32[Tensor, "batch response"]
    c: Float32[Tensor, "batch response"] | None = None
    d: Float32[Tensor, "batch response"] | None = None
    uid: NonTensor[str] | None = None


def tokens(**sizes: tuple[int, int]) -> dict[str, Tensor]:
    return {name: floats(*size) for name, size in sizes.items()}


# --- BP011: rank ------------------------------------------------------------------------------------------------------


class Rows(BatchSchema):
    values: Float32[Tensor, "batch"]
    returns: Float32[Tensor, "batch"]


def test_a_column_vector_where_a_vector_is_declared_is_never_squeezed() -> None:
    assert complaint(Rows, stores({"values": floats(4), "returns": floats(4, 1)})) == (
        '  BP011 rank  returns  f32[4, 1], declared "batch"; '
        "2 axes where 1 is declared; nothing is squeezed or expanded\n"
        "\n"
        "  dims  batch=4 (values)"
    )


def test_a_scalar_is_no_vector() -> None:
    assert complaint(Rows, stores({"values": floats(4), "returns": floats()})).startswith(
        '  BP011 rank  returns  f32[], declared "batch"; 0 axes where 1 is declared; '
    )


def test_fewer_axes_than_the_plain_ones_beside_dots_are_refused() -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch ... last"]

    assert complaint(Reads, stores({"x": floats(4)})) == (
        '  BP011 rank  x  f32[4], declared "batch ... last"; '
        "1 axis where at least 2 are declared; nothing is squeezed or expanded"
    )


# --- BP012: fixed sizes and many axes ---------------------------------------------------------------------------------


def test_a_fixed_size_is_held() -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch 4 chan=3"]

    assert complaint(Reads, stores({"x": floats(2, 5, 6)})) == (
        '  BP012 shape  x  f32[2, 5, 6], declared "batch 4 chan=3"; 4 is 5, chan=3 is 6\n\n  dims  batch=2 (x)'
    )


def test_the_axes_under_a_star_agree() -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch *inner"]
        y: Float32[Tensor, "batch *inner last"]

    assert complaint(Reads, stores({"x": floats(2, 3, 4), "y": floats(2, 3, 4, 9)})) == ""
    assert complaint(Reads, stores({"x": floats(2, 3, 4), "y": floats(2, 3, 5, 9)})) == (
        '  BP012 shape  y  f32[2, 3, 5, 9], declared "batch *inner last"; *inner is [3, 5] here and [3, 4] in x\n'
        "\n"
        "  dims  batch=2 (x, y)  last=9 (y)"
    )


def test_underscores_and_dots_take_any_size() -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch _ ..."]
        y: Float32[Tensor, "batch _"]

    assert complaint(Reads, stores({"x": floats(2, 3, 4, 5), "y": floats(2, 9)})) == ""


# --- BP012 and BP013: dims that disagree ------------------------------------------------------------------------------


def test_the_minority_is_blamed() -> None:
    assert complaint(Tokens, stores(tokens(a=(4, 6), b=(4, 5), c=(4, 6)))) == (
        '  BP012 shape  b  f32[4, 5], declared "batch response"; response=6 in a and c\n'
        "\n"
        "  dims  batch=4 (a, b, c)  response=6 (a, c) 5 (b)"
    )


def test_a_field_that_is_wrong_on_two_axes_is_blamed_once() -> None:
    assert complaint(Tokens, stores(tokens(a=(4, 6), b=(3, 5), c=(4, 6)))) == (
        '  BP012 shape  b  f32[3, 5], declared "batch response"; batch=4 in a and c, response=6 in a and c\n'
        "\n"
        "  dims  batch=4 (a, c) 3 (b)  response=6 (a, c) 5 (b)"
    )


def test_at_a_tie_all_are_listed_and_none_is_blamed() -> None:
    assert complaint(Tokens, stores(tokens(a=(4, 6), b=(4, 5), c=(4, 5), d=(4, 6)))) == (
        "  BP013 dims  response  6 in a and d, 5 in b and c; all must agree, and no size is in the majority\n"
        "\n"
        "  dims  batch=4 (a, b, c, d)  response=6 (a, d) 5 (b, c)"
    )


def test_a_tie_stands_after_the_fields() -> None:
    found = diagnose(Tokens.__batchpact__.plan, stores(tokens(a=(4, 6), b=(4, 5)), {"uid": ["a"]}))

    assert [(wrong.code, wrong.field) for wrong in found.violations] == [("BP006", "uid"), ("BP013", "response")]


def test_a_column_with_other_rows_than_most_fields_is_blamed() -> None:
    assert complaint(Tokens, stores(tokens(a=(4, 6), b=(4, 6)), {"uid": objects(*"abc")})) == (
        "  BP012 shape  uid  3 objects, declared non-tensor str; batch=4 in a and b\n"
        "\n"
        "  dims  batch=4 (a, b) 3 (uid)  response=6 (a, b)"
    )


def test_columns_count_like_tensors_where_rows_disagree() -> None:
    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch"]
        uid: NonTensor[str]
        source: NonTensor[str]
        answer: NonTensor[str]

    columns = {"uid": objects(*"abcd"), "source": objects(*"abcd"), "answer": objects(*"abc")}
    assert complaint(Reads, stores({"scores": floats(4)}, columns)) == (
        "  BP012 shape  answer  3 objects, declared non-tensor str; batch=4 in scores, uid and source\n"
        "\n"
        "  dims  batch=4 (scores, uid, source) 3 (answer)"
    )


def test_columns_without_tensors_agree_among_themselves() -> None:
    class Reads(BatchSchema):
        uid: NonTensor[str]
        source: NonTensor[str]

    assert complaint(Reads, stores(columns={"uid": objects(*"abc"), "source": objects(*"ab")})) == (
        "  BP013 dims  batch  3 in uid, 2 in source; all must agree, and no size is in the majority\n"
        "\n"
        "  dims  batch=3 (uid) 2 (source)"
    )


@pytest.mark.parametrize(
    ("annotation", "store", "word"), [(Meta[int], "meta", "meta"), (Arg[int], "args", "argument")], ids=["meta", "arg"]
)
def test_an_integer_field_has_a_vote_on_the_dim_of_its_name(annotation: Any, store: str, word: str) -> None:
    class Reads(BatchSchema):
        n: annotation
        a: Float32[Tensor, "batch n"]
        b: Float32[Tensor, "batch n"]

    batch = stores(tokens(a=(2, 3), b=(2, 3)))
    assert complaint(Reads, batch._replace(**{store: {"n": 3}})) == ""
    assert complaint(Reads, batch._replace(**{store: {"n": 4}})) == (
        f"  BP012 shape  n  int 4, declared {word} int; n=3 in a and b\n\n  dims  n=3 (a, b) 4 (n)  batch=2 (a, b)"
    )


def test_a_size_that_is_given_is_right() -> None:
    context = Context(given={"response": 5}, given_from="what the stage read")

    assert complaint(Tokens, stores(tokens(a=(4, 6), b=(4, 6))), context) == (
        '  BP012 shape  a  f32[4, 6], declared "batch response"; response=5 in what the stage read\n'
        '  BP012 shape  b  f32[4, 6], declared "batch response"; response=5 in what the stage read\n'
        "\n"
        "  dims  response=6 (a, b)  batch=4 (a, b)"
    )


# --- BP012 and BP014: expressions -------------------------------------------------------------------------------------


class Sequence(BatchSchema):
    input_ids: Int64[Tensor, "batch prompt+response"]
    prompts: Int64[Tensor, "batch prompt"]
    responses: Int64[Tensor, "batch response"] | None = None


def test_an_expression_that_does_not_hold_shows_what_it_was_computed_from() -> None:
    batch = stores({"input_ids": ids(2, 9), "prompts": ids(2, 3), "responses": ids(2, 5)})

    assert complaint(Sequence, batch) == (
        '  BP012 shape  input_ids  i64[2, 9], declared "batch prompt+response"; '
        "prompt+response is 9, with prompt=3, response=5\n"
        "\n"
        "  dims  batch=2 (input_ids, prompts, responses)  prompt=3 (prompts)  response=5 (responses)"
    )


def test_a_single_unknown_name_is_solved_and_known_afterwards() -> None:
    found = diagnose(Sequence.__batchpact__.plan, stores({"input_ids": ids(2, 9), "prompts": ids(2, 3)}))

    assert found.violations == []
    assert found.sizes == {"batch": 2, "prompt": 3, "response": 6}


def test_a_single_unknown_name_that_no_size_fits_is_wrong() -> None:
    assert complaint(Sequence, stores({"input_ids": ids(2, 2), "prompts": ids(2, 3)})) == (
        '  BP012 shape  input_ids  i64[2, 2], declared "batch prompt+response"; prompt+response is 2, with prompt=3\n'
        "\n"
        "  dims  batch=2 (input_ids, prompts)  prompt=3 (prompts)"
    )


def test_an_expression_over_names_that_nothing_binds_cannot_be_computed() -> None:
    class Reads(BatchSchema):
        input_ids: Int64[Tensor, "batch prompt+response"]

    assert complaint(Reads, stores({"input_ids": ids(2, 9)})) == (
        "  BP014 unbound  input_ids  prompt+response cannot be computed; nothing has a size for prompt or response; "
        "declare an integer meta field or an argument of that name\n"
        "\n"
        "  dims  batch=2 (input_ids)"
    )
    assert complaint(Reads, stores({"input_ids": ids(2, 9)}), Context(given={"prompt": 4, "response": 5})) == ""


def test_a_label_and_a_star_bind_no_name() -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch n=4"]
        y: Float32[Tensor, "batch *m"]
        z: Float32[Tensor, "batch n*m"]

    found = diagnose(Reads.__batchpact__.plan, stores({"x": floats(2, 4), "y": floats(2, 3), "z": floats(2, 12)}))
    assert [(wrong.code, wrong.field) for wrong in found.violations] == [("BP014", "z")]


@pytest.mark.parametrize("kind", [Meta[float], NonTensor[int], Meta[int] | NonTensor[int]], ids=str)
def test_other_fields_of_that_name_bind_nothing(kind: Any) -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch n//2"]
        n: kind | None = None

    found = diagnose(Reads.__batchpact__.plan, stores({"x": floats(2, 2)}))
    assert [(wrong.code, wrong.field) for wrong in found.violations] == [("BP014", "x")]


def test_an_absent_optional_field_leaves_an_expression_unchecked() -> None:
    """Its prompt and response would have been bound by a field that may be left out."""

    class Reads(BatchSchema):
        input_ids: Int64[Tensor, "batch prompt*response"]
        prompts: Int64[Tensor, "batch prompt"] | None = None
        n: Meta[int] | None = None
        responses: Int64[Tensor, "batch response"]

    assert diagnose(Reads.__batchpact__.plan, stores({"input_ids": ids(2, 9), "responses": ids(2, 4)})).violations == []


def test_a_column_is_held_against_a_batch_axis_that_is_an_expression() -> None:
    class Writes(BatchSchema):
        responses: Int64[Tensor, "batch*n response"]
        uid: NonTensor[str]
        source: NonTensor[str]

    context = Context(given={"batch": 3, "n": 2})
    columns = {"uid": objects(*"abcdef"), "source": objects(*"abc")}
    assert complaint(Writes, stores({"responses": ids(6, 5)}, columns), context) == (
        "  BP012 shape  source  3 objects, declared non-tensor str; batch*n=6 in responses and uid\n"
        "\n"
        "  dims  response=5 (responses)  batch*n=6 (responses, uid) 3 (source)"
    )
