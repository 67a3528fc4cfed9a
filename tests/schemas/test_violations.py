"""A violation is a record: it knows where, and stays data."""

from batchpact.schemas import DimSizes, Violation, Where

WRONG = Violation(code="BP005", field="scores", actual="f64", expected="f32", where=Where(stage="critic", part=1))


def test_what_is_known_of_the_place_is_added_to_what_was_known() -> None:
    placed = WRONG.at(Where(boundary="reads", part=2, rank=0))

    assert placed.where == Where(stage="critic", boundary="reads", part=2, rank=0)
    assert placed.model_copy(update={"where": WRONG.where}) == WRONG


def test_the_violation_itself_is_left_as_it_is() -> None:
    WRONG.at(Where(stage="actor"))

    assert WRONG.where == Where(stage="critic", part=1)


def test_violations_are_errors_unless_something_else_is_said() -> None:
    assert WRONG.severity == "error"
    assert (WRONG.hint, WRONG.placement) == ("", None)


def test_violations_have_a_canonical_form() -> None:
    assert WRONG.canonical() == (
        '{"actual": "f64", "code": "BP005", "expected": "f32", "field": "scores", "hint": "", "severity": "error", '
        '"where": {"part": 1, "stage": "critic"}}'
    )
    assert Violation.model_validate_json(WRONG.canonical()) == WRONG


def test_sizes_read_back_as_they_were() -> None:
    sizes = DimSizes(name="batch", sizes=((8, ("a", "b")), (7, ("c",))))

    assert DimSizes.model_validate_json(sizes.canonical()) == sizes
