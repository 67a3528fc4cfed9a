"""Dims of two versions: which shapes one admits beside the other; names mean nothing by themselves."""

from __future__ import annotations

import pytest

from batchpact.contracts.lock.dims import Dims
from batchpact.schemas import FieldSpec, PlaceSpec


def tensor(key: str, dims: str) -> FieldSpec:
    place = PlaceSpec(placement="tensor", dtype="float32", dtypes=("float32",), dims=dims, layout="dense")
    return FieldSpec(name=key, key=key, places=(place,))


def size(key: str) -> FieldSpec:
    return FieldSpec(name=key, key=key, places=(PlaceSpec(placement="meta", type="int"),))


def compared(old: list[str], new: list[str], *counted: str) -> Dims:
    """The fields `a`, `b`, ... with these dims, and integers in meta that bind dims."""
    sides = (
        {(0, key): tensor(key, dims) for key, dims in zip("abcdef", texts, strict=False)}
        | {(0, key): size(key) for key in counted}
        for texts in (old, new)
    )
    return Dims(*sides)


def words(old: list[str], new: list[str], *counted: str) -> list[str]:
    """How each field stands to its old version."""
    dims = compared(old, new, *counted)
    keys = "abcdef"[: min(len(old), len(new))]
    return [dims.relation((0, key)).value if not dims.follows((0, key)) else "follows" for key in keys]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["batch r"], ["batch r"], ["follows"]),
        (["batch r"], ["batch t"], ["follows"]),
        (["batch r", "batch r"], ["batch t", "batch t"], ["follows", "follows"]),
        (["batch p", "batch r"], ["batch r", "batch p"], ["follows", "follows"]),
        (["batch p+r", "batch p", "batch r"], ["batch y+x", "batch x", "batch y"], ["follows"] * 3),
        (["batch 4"], ["batch heads=4"], ["follows"]),
        (["batch *inner", "batch *inner"], ["batch *more", "batch *more"], ["follows", "follows"]),
        # an axis is tied to another one, or no longer
        (["batch r", "batch t"], ["batch r", "batch r"], ["follows", "narrowed"]),
        (["batch r", "batch r"], ["batch r", "batch t"], ["follows", "widened"]),
        (["batch r", "batch t", "batch t"], ["batch r", "batch r", "batch t"], ["follows", "replaced", "follows"]),
        (["batch n n"], ["batch n m"], ["widened"]),
        (["batch *inner", "batch *inner"], ["batch ...", "batch *inner"], ["widened", "follows"]),
        # sizes
        (["batch 4"], ["batch 8"], ["replaced"]),
        (["batch 4"], ["batch r"], ["widened"]),
        (["batch r"], ["batch 4"], ["narrowed"]),
        (["batch 4", "batch 4"], ["batch r", "batch r"], ["widened", "widened"]),
        (["batch r", "batch r"], ["batch 4", "batch 4"], ["narrowed", "narrowed"]),
        (["batch r", "batch r"], ["batch 4", "batch r"], ["replaced", "follows"]),
        (["batch 4", "batch 4"], ["batch r", "batch t"], ["widened", "widened"]),
        # any size
        (["batch _"], ["batch r"], ["same"]),
        (["batch r"], ["batch _"], ["same"]),
        (["batch _", "batch r"], ["batch r", "batch r"], ["narrowed", "follows"]),
        (["batch r", "batch r"], ["batch _", "batch r"], ["widened", "follows"]),
        # any number of axes
        (["batch ..."], ["batch r"], ["narrowed"]),
        (["batch r"], ["batch ..."], ["widened"]),
        (["batch ... x"], ["batch r x"], ["narrowed"]),
        (["batch ... 4"], ["batch r 8"], ["replaced"]),
        (["batch r 4"], ["batch ... 4"], ["widened"]),
        (["batch x ..."], ["batch ... x"], ["replaced"]),
        (["batch x y ..."], ["batch x"], ["replaced"]),
        (["batch ..."], ["batch ... 4"], ["replaced"]),
        # ranks
        (["batch"], ["batch 1"], ["replaced"]),
        (["batch r t"], ["batch r"], ["replaced"]),
        # arithmetic
        (
            ["batch p+r", "batch p", "batch r"],
            ["batch p+r+1", "batch p", "batch r"],
            ["replaced", "follows", "follows"],
        ),
        (["batch p+r", "batch p", "batch r"], ["batch _", "batch p", "batch r"], ["widened", "follows", "follows"]),
        (["batch t", "batch p", "batch r"], ["batch p+r", "batch p", "batch r"], ["narrowed", "follows", "follows"]),
        (["batch r", "batch r+1"], ["batch r+1", "batch r+1"], ["replaced", "follows"]),
        (["batch r", "batch r+1"], ["batch r", "batch r"], ["follows", "replaced"]),
        (["batch 2*r", "batch r"], ["batch r+r", "batch r"], ["follows", "follows"]),
        (["batch p+r", "batch p", "batch r"], ["batch p+r", "batch p", "batch t"], ["follows", "follows", "widened"]),
    ],
)
def test_relations(old: list[str], new: list[str], expected: list[str]) -> None:
    assert words(old, new) == expected


def test_an_integer_in_meta_is_one_of_the_axes_of_its_name() -> None:
    assert words(["batch r"], ["batch t"], "r") == ["widened"]
    assert words(["batch r"], ["batch r"], "r") == ["follows"]


def test_names_that_were_changed_everywhere() -> None:
    assert compared(["batch p+r", "batch r"], ["rows p+t", "rows t"]).renamed == {"batch": "rows", "r": "t"}


def test_a_name_that_still_stands_somewhere_was_not_changed() -> None:
    assert compared(["batch r", "batch r", "batch r"], ["batch r", "batch t", "batch t"]).renamed == {}
