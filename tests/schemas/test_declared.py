"""Declared places in words."""

import pytest

from batchpact.schemas.declared import either, placement_words, type_and_shape
from batchpact.schemas.record import FieldSpec, PlaceSpec

TENSOR = PlaceSpec(placement="tensor", dtype="float32", dtypes=("float32",), dims="batch response", layout="dense")
JAGGED = PlaceSpec(placement="tensor", dtype="int64", dims="batch length", layout="jagged", ragged="length")
META = PlaceSpec(placement="meta", type="float")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (TENSOR, 'f32 "batch response"'),
        (JAGGED, 'i64 "batch length" jagged on length'),
        (PlaceSpec(placement="tensor", dtype="float", dims="batch"), 'float "batch"'),
        (PlaceSpec(placement="tensor", dtype="any", dims="batch ..."), 'any "batch ..."'),
        (PlaceSpec(placement="non_tensor", type="list[str]"), "non-tensor list[str]"),
        (META, "meta float"),
        (PlaceSpec(placement="arg", type="bool"), "argument bool"),
        (PlaceSpec(placement="tag", type="int"), "tag int"),
    ],
    ids=str,
)
def test_a_place_in_words(place: PlaceSpec, text: str) -> None:
    assert type_and_shape(place) == text


def test_all_placements_of_a_field_are_said() -> None:
    field = FieldSpec(name="temperature", key="temperature", places=(META, TENSOR))

    assert either(field) == 'meta float or f32 "batch response"'


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ((TENSOR,), 'f32 "batch response"'),
        ((PlaceSpec(placement="non_tensor", type="str"),), "non-tensor, one per row"),
        ((META,), "meta, one for the batch"),
        ((PlaceSpec(placement="arg", type="str"),), "argument, passed with the call"),
        ((PlaceSpec(placement="tag", type="str"),), "tag, one per row"),
        ((META, TENSOR), 'meta, one for the batch or f32 "batch response"'),
    ],
    ids=str,
)
def test_where_a_field_belongs_says_what_the_batch_axis_does(places: tuple[PlaceSpec, ...], text: str) -> None:
    assert placement_words(FieldSpec(name="x", key="x", places=places)) == text
