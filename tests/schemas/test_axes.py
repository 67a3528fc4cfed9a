"""Which size of a tensor stands for which declared dim."""

import pytest
import torch

from batchpact.schemas.axes import (
    Lengths,
    Size,
    axes,
    expression_holds,
    is_dense,
    is_jagged,
    many_axes,
    offsets_of,
    ragged_axis,
    same_size,
)
from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import parse_dims

from .support import floats, jagged, jagged_on_2, strided_nested


def lengths(*offsets: int) -> Lengths:
    return Lengths(torch.tensor(offsets))


def expression(text: str) -> Expression:
    found = parse_dims(text)[0].expression
    assert found is not None
    return found


# --- which size stands for which dim ----------------------------------------------------------------------------------


def test_each_dim_has_the_size_of_its_axis() -> None:
    dims = parse_dims("batch _ 5")

    assert axes(dims, floats(3, 4, 5)) == list(zip(dims, (3, 4, 5), strict=True))


@pytest.mark.parametrize(("dims", "rank"), [("batch", 2), ("batch response", 1), ("batch response ...", 1)])
def test_another_rank_has_no_axes(dims: str, rank: int) -> None:
    assert axes(parse_dims(dims), floats(*[3] * rank)) is None


@pytest.mark.parametrize(
    ("dims", "sizes"),
    [
        ("batch ...", [2]),
        ("batch ... last", [2, 5]),
        ("batch second ... last", [2, 3, 5]),
        ("batch second third ... last", [2, 3, 4, 5]),
    ],
)
def test_dots_stand_for_the_axes_that_are_left(dims: str, sizes: list[int]) -> None:
    found = axes(parse_dims(dims), floats(2, 3, 4, 5))

    assert found is not None
    assert [size for _, size in found] == sizes


@pytest.mark.parametrize(
    ("dims", "many"),
    [
        ("batch *inner", ("inner", (3, 4))),
        ("batch *inner last", ("inner", (3,))),
        ("batch second last *inner", ("inner", ())),
        ("batch ...", None),
        ("batch second last", None),
    ],
)
def test_a_star_names_the_sizes_that_are_left(dims: str, many: object) -> None:
    assert many_axes(parse_dims(dims), floats(2, 3, 4)) == many


@pytest.mark.parametrize(("tensor", "axis"), [(jagged(2, 0, 3), 1), (jagged_on_2(4, 2, 0, 3), 2)], ids=["1", "2"])
def test_the_ragged_axis_of_a_jagged_tensor_is_given_by_its_offsets(tensor: torch.Tensor, axis: int) -> None:
    found = axes(parse_dims("batch second third")[: tensor.dim()], tensor)

    assert found is not None
    ragged = found[axis][1]
    assert isinstance(ragged, Lengths)
    assert ragged.offsets is offsets_of(tensor)
    assert ragged.per_row().tolist() == [2, 0, 3]
    assert ragged_axis(tensor) == axis
    assert [size for at, (_, size) in enumerate(found) if at != axis] == [3, 4][:axis]


def test_layouts_are_told_apart() -> None:
    assert is_dense(floats(2)) and not is_jagged(floats(2))
    assert is_jagged(jagged(1, 2)) and not is_dense(jagged(1, 2))
    for neither in (strided_nested(1, 2), floats(2, 2).to_sparse()):
        assert not is_dense(neither) and not is_jagged(neither)


# --- whether two sizes agree ------------------------------------------------------------------------------------------


def test_lengths_agree_by_identity_or_by_value() -> None:
    offsets = torch.tensor([0, 2, 5])

    assert Lengths(offsets).agrees(Lengths(offsets))
    assert Lengths(offsets).agrees(Lengths(offsets.clone()))
    assert not Lengths(offsets).agrees(lengths(0, 3, 5))
    assert not Lengths(offsets).agrees(lengths(0, 2, 5, 5)), "another number of rows"


def test_the_lengths_of_a_tensor_with_holes_are_those_of_its_rows() -> None:
    dense = torch.arange(8).reshape(2, 4)
    holed = torch.nested.narrow(dense, 1, torch.tensor([0, 1]), torch.tensor([3, 2]), layout=torch.jagged)
    (_, whole), (_, ragged) = axes(parse_dims("batch length"), holed) or ()

    assert (whole, ragged.per_row().tolist()) == (2, [3, 2])
    assert ragged.agrees(lengths(0, 3, 5)) and lengths(0, 3, 5).agrees(ragged)
    assert not ragged.agrees(Lengths(ragged.offsets)), "the rows that its offsets alone would tell"
    assert not ragged.agrees(lengths(0, 2, 5))


def test_lengths_on_a_device_agree_if_they_have_as_many_rows() -> None:
    """Their values may not be read at level structure."""
    on_device = Lengths(torch.empty(3, dtype=torch.int64, device="meta"))

    assert on_device.agrees(lengths(0, 2, 5))
    assert not on_device.agrees(lengths(0, 2))


def test_a_ragged_axis_never_agrees_with_a_dense_one() -> None:
    assert not same_size(lengths(0, 3, 6), 3)
    assert not same_size(3, lengths(0, 3, 6))
    assert same_size(3, 3)
    assert same_size(lengths(0, 3, 6), lengths(0, 3, 6))


# --- arithmetic -------------------------------------------------------------------------------------------------------


def test_an_expression_over_known_names_holds_or_does_not() -> None:
    assert expression_holds(expression("a+b"), 5, {"a": 2, "b": 3}) is True
    assert expression_holds(expression("a+b"), 6, {"a": 2, "b": 3}) is False
    assert expression_holds(expression("a//b"), 6, {"a": 2, "b": 0}) is False


def test_a_single_unknown_name_follows_from_the_size_and_is_bound() -> None:
    sizes: dict[str, Size] = {"prompt": 3}

    assert expression_holds(expression("prompt+2*response"), 11, sizes) is True
    assert sizes == {"prompt": 3, "response": 4}


def test_a_single_unknown_name_that_no_whole_size_fits_is_wrong() -> None:
    sizes: dict[str, Size] = {"prompt": 3}

    assert expression_holds(expression("prompt+2*response"), 10, sizes) is False
    assert expression_holds(expression("prompt+2*response"), 1, sizes) is False
    assert sizes == {"prompt": 3}


@pytest.mark.parametrize("text", ["a+b", "a*a", "a//2"])
def test_what_cannot_be_solved_is_not_known(text: str) -> None:
    sizes: dict[str, Size] = {}

    assert expression_holds(expression(text), 4, sizes) is None
    assert sizes == {}


def test_arithmetic_on_ragged_dims_holds_row_by_row() -> None:
    prompts, responses = lengths(0, 2, 5), lengths(0, 1, 4)
    sizes: dict[str, Size] = {"prompt": prompts, "response": responses}

    assert expression_holds(expression("prompt+response"), lengths(0, 3, 9), sizes) is True
    assert expression_holds(expression("prompt+response"), lengths(0, 4, 9), sizes) is False, "the sum alone fits"
    assert expression_holds(expression("prompt+1"), lengths(0, 3, 7), sizes) is True
    assert expression_holds(expression("prompt//2"), lengths(0, 1, 2), sizes) is True
    assert expression_holds(expression("prompt//2"), lengths(0, 1, 3), sizes) is False


def test_ragged_dims_of_different_row_counts_do_not_hold() -> None:
    sizes: dict[str, Size] = {"prompt": lengths(0, 2)}

    assert expression_holds(expression("prompt+1"), lengths(0, 3, 6), sizes) is False


def test_a_ragged_size_of_dense_names_holds_where_every_row_has_it() -> None:
    assert expression_holds(expression("a+1"), lengths(0, 3, 6), {"a": 2}) is True
    assert expression_holds(expression("a+1"), lengths(0, 3, 7), {"a": 2}) is False


def test_ragged_arithmetic_on_a_device_is_not_known_without_reading() -> None:
    sizes: dict[str, Size] = {"a": Lengths(torch.empty(3, dtype=torch.int64, device="meta"))}

    assert expression_holds(expression("a+1"), lengths(0, 3, 6), sizes) is None


def test_an_unknown_name_beside_ragged_lengths_follows_row_by_row() -> None:
    sizes: dict[str, Size] = {"prompt": lengths(0, 2, 5)}

    assert expression_holds(expression("prompt+2*response"), lengths(0, 4, 13), sizes) is True
    assert isinstance(found := sizes["response"], Lengths)
    assert found.per_row().tolist() == [1, 3]
    assert expression_holds(expression("prompt+2*response"), lengths(0, 4, 15), sizes) is False


@pytest.mark.parametrize("offsets", [(0, 1, 7), (0, 3, 9)], ids=["shorter than its part", "no whole number"])
def test_an_unknown_name_that_no_lengths_fit_is_refused(offsets: tuple[int, ...]) -> None:
    sizes: dict[str, Size] = {"prompt": lengths(0, 2, 5)}

    assert expression_holds(expression("prompt+2*response"), lengths(*offsets), sizes) is False
    assert "response" not in sizes
