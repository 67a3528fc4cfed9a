"""Rules on the values of columns, meta and arguments: the types of cells, and bounds."""

from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from batchpact.schemas import Arg, BatchSchema, Binary, Finite, Key, Meta, NonTensor
from batchpact.schemas.text import sentence
from batchpact.schemas.values import check_values

from .support import objects, stores


class Turn(TypedDict):
    role: str
    content: str


class Image(BaseModel):
    width: int


def said(annotation: Any, value: object, store: str = "columns", sample: int | None = None) -> str:
    """The violation of one field as `code sentence`; empty where there is none."""

    class Made(BatchSchema):
        x: annotation

    found = check_values(Made, stores(**{store: {"x": value}}), sample)
    assert len(found) < 2
    return "".join(f"{wrong.code} {sentence(wrong)}" for wrong in found)


# --- cells ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "cells"),
    [
        (NonTensor[str], ["a", "b"]),
        (NonTensor[float], [0.5, 1]),
        (NonTensor[str | None], ["a", None]),
        (NonTensor[list[dict[str, int]]], [[], [{"a": 1}, {"b": 2}]]),
        (NonTensor[list[Turn]], [[{"role": "user", "content": "hi"}]]),
        (NonTensor[Image], [Image(width=1)]),
        (NonTensor[np.ndarray], [np.zeros(2), np.zeros(3)]),
        (NonTensor[Any], [object(), None]),
        (NonTensor[str], []),
    ],
    ids=str,
)
def test_cells_of_the_declared_type_are_right(annotation: Any, cells: list[object]) -> None:
    assert said(annotation, objects(*cells)) == ""


def test_an_array_is_refused_where_a_list_is_declared() -> None:
    cells = objects([{"a": 1}], np.array([{"a": 1}], dtype=object))

    assert said(NonTensor[list[dict]], cells) == (
        "BP006 row 1: ndarray, Input should be a valid list, declared list[dict] per row"
    )


@pytest.mark.parametrize(
    ("annotation", "cells", "text"),
    [
        (NonTensor[str], ["a", 1, None], "rows 1, 2: int, Input should be a valid string, declared str per row"),
        (NonTensor[int], [np.int64(1)], "row 0: int64, Input should be a valid integer, declared int per row"),
        (
            NonTensor[list[Turn]],
            [[{"role": "user"}]],
            "row 0: list, [0]['content'] Field required, declared list[{module}.Turn] per row",
        ),
        (
            NonTensor[Literal["math", "code"]],
            ["math", "chat"],
            "row 1: str, Input should be 'math' or 'code', declared Literal['math', 'code'] per row",
        ),
        (
            NonTensor[str],
            [None] * 5,
            "rows 0, 1, 2 and 2 more: NoneType, Input should be a valid string, declared str per row",
        ),
    ],
    ids=["strings", "numpy scalars", "typed dicts", "literals", "many"],
)
def test_cells_of_another_type_are_named_by_row(annotation: Any, cells: list[object], text: str) -> None:
    assert said(annotation, objects(*cells)) == f"BP006 {text.format(module=__name__)}"


def test_cells_are_held_to_bounds_and_rules() -> None:
    annotation = Annotated[NonTensor[float], Finite(), Field(ge=0)]

    assert said(annotation, objects(0.5, 1)) == ""
    assert said(annotation, objects(0.5, -1.0)) == (
        "BP021 row 1: float, Input should be greater than or equal to 0; declared float per row finite, >= 0"
    )
    assert said(annotation, objects(0.5, float("inf"))) == (
        "BP021 row 1: float, Input should be a finite number; declared float per row finite, >= 0"
    )
    assert said(Annotated[NonTensor[int], Binary()], objects(0, 1, 2)) == (
        "BP021 row 2: int, Input should be 0 or 1; declared int per row binary"
    )


# --- numeric columns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "column"),
    [
        (NonTensor[float], np.array([0.5, 1.5], dtype=np.float32)),
        (NonTensor[float], np.array([1, 2])),
        (NonTensor[int], np.array([1, 2], dtype=np.uint8)),
        (NonTensor[bool], np.array([True, False])),
        (NonTensor[str], np.array(["a", "bc"])),
        (NonTensor[Any], np.array([1, 2])),
        (NonTensor[int | str], np.array([1, 2])),
    ],
    ids=str,
)
def test_a_numeric_column_of_the_declared_kind_is_right(annotation: Any, column: Any) -> None:
    assert said(annotation, column) in (
        "",
        "BP006 rows 0, 1: ndarray, Input should be a valid list; declared list[int] per row",
    )


@pytest.mark.parametrize(
    ("annotation", "column", "text"),
    [
        (NonTensor[int], np.array([0.5]), "a column of float64, declared int per row"),
        (NonTensor[bool], np.array([1, 0]), "a column of int64, declared bool per row"),
        (NonTensor[str], np.array([1, 0]), "a column of int64, declared str per row"),
        (NonTensor[float], np.array(["a"]), "a column of str32, declared float per row"),
        (
            NonTensor[list[int]],
            np.array([[1, 2], [3, 4]]),
            "rows 0, 1: ndarray, Input should be a valid list, declared list[int] per row",
        ),
        (
            NonTensor[dict[str, int]],
            np.array([1, 2]),
            "rows 0, 1: int, Input should be a valid dictionary, declared dict[str, int] per row",
        ),
    ],
    ids=str,
)
def test_a_numeric_column_of_another_kind_is_refused(annotation: Any, column: Any, text: str) -> None:
    assert said(annotation, column) == f"BP006 {text}"


def test_a_numeric_column_is_held_to_bounds_like_a_tensor() -> None:
    annotation = Annotated[NonTensor[float], Finite(), Field(le=1)]

    assert said(annotation, np.array([0.5, 2.5, 1.5], dtype=np.float32)) == (
        "BP021 2 elements in rows 1, 2; the extreme is 2.5; declared <= 1"
    )


# --- keys -------------------------------------------------------------------------------------------------------------


class Keyed(BatchSchema):
    uid: Annotated[NonTensor[str], Key()]
    score: Annotated[NonTensor[float], Field(ge=0)]


def found(uid: object, score: object, **options: Any) -> list[str]:
    wrong = check_values(Keyed, stores(columns={"uid": uid, "score": score}), **options)
    return [f"{violation.code} {violation.field} {sentence(violation)}" for violation in wrong]


def test_cells_are_named_by_the_key_of_their_row() -> None:
    uid = objects("a", "b", "c", "d", "e")

    assert found(uid, objects(0.5, -1.0, 1.0, None, 2.0)) == [
        "BP021 score rows 1 (uid 'b'), 3 (uid 'd'): float, Input should be greater than or equal to 0; "
        "declared float per row >= 0"
    ]
    assert found(uid, np.array([0.5, -1.0, 1.0, -2.0, 2.0])) == [
        "BP021 score 2 elements in rows 1 (uid 'b'), 3 (uid 'd'); the extreme is -2; declared >= 0"
    ]


def test_a_key_of_the_wrong_type_names_itself() -> None:
    assert found(objects("a", 3), objects(0.5, 0.5)) == [
        "BP006 uid row 1 (uid 3): int, Input should be a valid string, declared str per row"
    ]


def test_a_repeated_key_is_said_after_the_fields() -> None:
    repeated = (
        "BP023 uid 'a' in rows 0, 2; one row for one key; where rows may be copies of one another, it is a Group()"
    )

    assert found(objects("a", "b", "a"), objects(0.5, 0.5, 0.5)) == [repeated]
    assert found(objects("a", "b", "a"), objects(0.5, 0.5, -0.5)) == [
        "BP021 score row 2 (uid 'a'): float, Input should be greater than or equal to 0; declared float per row >= 0",
        repeated,
    ]


def test_a_repeated_key_is_found_in_rows_of_which_a_sample_sees_none() -> None:
    uid, score = objects("a", "b", "c", "b", "d"), objects(0.5, -1.0, 0.5, -1.0, 0.5)

    assert found(uid, score, sample=3) == [
        "BP023 uid 'b' in rows 1, 3; one row for one key; where rows may be copies of one another, it is a Group()"
    ]


def test_pad_rows_may_have_the_key_of_another_row_and_are_held_to_rules() -> None:
    pads = np.array([False, False, True])

    assert found(objects("a", "b", "a"), objects(0.5, 0.5, 0.5), pads=pads) == []
    assert found(objects("a", "b", "a"), objects(0.5, 0.5, -0.5), pads=pads) == [
        "BP021 score row 2 (uid 'a'): float, Input should be greater than or equal to 0; declared float per row >= 0"
    ]


# --- meta and arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("store", "kind"), [("meta", Meta), ("args", Arg)])
def test_a_value_for_the_batch_is_held_to_its_type_and_its_bounds(store: str, kind: Any) -> None:
    bounded = Annotated[kind[float], Field(gt=0, le=2)]

    assert said(bounded, 1, store) == ""
    assert said(bounded, 0.0, store) == "BP021 Input should be greater than 0; declared float > 0, <= 2"
    assert said(bounded, "1", store) == "BP006 Input should be a valid number, declared float > 0, <= 2"
    assert said(kind[list[int]], [1, "2"], store) == "BP006 [1] Input should be a valid integer, declared list[int]"


def test_a_value_for_the_batch_is_held_to_the_rules_of_a_tensor() -> None:
    assert said(Annotated[Meta[float], Finite()], float("nan"), "meta") == (
        "BP021 Input should be a finite number; declared float finite"
    )
    assert said(Annotated[Meta[int], Binary()], 2, "meta") == "BP021 Input should be 0 or 1; declared int binary"
    assert said(Annotated[Meta[int], Finite(), Binary()], 1, "meta") == ""


def test_an_array_for_the_batch_is_a_value_and_no_column() -> None:
    assert said(Meta[np.ndarray], np.array([0.5, 1.5]), "meta") == ""
    assert said(Meta[list[float]], np.array([0.5, 1.5]), "meta") == (
        "BP006 Input should be a valid list, declared list[float]"
    )


def test_a_truth_value_is_no_integer_where_values_are_read() -> None:
    assert said(Meta[int], True, "meta") == "BP006 Input should be a valid integer, declared int"


# --- samples ----------------------------------------------------------------------------------------------------------


def test_a_sample_looks_at_some_cells() -> None:
    cells = objects("a", 1, 2, "d", 3, 4, "g")

    assert said(NonTensor[str], cells, sample=3) == ""
    assert said(NonTensor[str], cells, sample=4).startswith("BP006 rows 2, 4: int")
