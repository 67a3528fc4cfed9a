"""Votes: the minority is blamed, at a tie nobody is."""

import torch

from batchpact.schemas.axes import Lengths
from batchpact.schemas.dims import Disagreement, Votes, size_text
from batchpact.schemas.violations import DimSizes


def votes(**sizes: int) -> Votes:
    """Each field with its size of the dim `n`."""
    found = Votes(None, "", values=False)
    for field, size in sizes.items():
        found.add("n", size, field)
    return found


def test_fields_that_agree_give_the_size() -> None:
    agreed = votes(a=4, b=4)

    assert agreed.disagreements() == []
    assert agreed.sizes() == {"n": 4}
    assert agreed.report() == [DimSizes(name="n", sizes=((4, ("a", "b")),))]


def test_the_minority_is_blamed() -> None:
    (found,) = votes(a=5, b=4, c=4, d=3).disagreements()

    assert found.blamed == ["a", "d"]
    assert found.majority() == "n=4 in b and c"


def test_the_size_is_the_one_of_the_majority() -> None:
    split = votes(a=5, b=4, c=4)

    assert split.sizes() == {"n": 4}
    assert split.report() == [DimSizes(name="n", sizes=((4, ("b", "c")), (5, ("a",))))]


def test_at_a_tie_all_are_listed_and_nobody_is_blamed() -> None:
    (found,) = votes(a=5, b=4, c=4, d=5).disagreements()

    assert found.right is None
    assert found.blamed == []
    assert found.listing() == "5 in a and d, 4 in b and c"


def test_a_tie_among_the_largest_groups_blames_nobody_though_others_are_fewer() -> None:
    (found,) = votes(a=5, b=5, c=4, d=4, e=3).disagreements()

    assert found.blamed == []


def test_a_size_that_is_given_is_right_whatever_the_majority_says() -> None:
    known = Votes({"n": 8}, "the call", values=False)
    for field, size in {"a": 4, "b": 4, "c": 8}.items():
        known.add("n", size, field)
    (found,) = known.disagreements()

    assert found == Disagreement("n", ((8, ()), (4, ("a", "b"))), right=0, source="the call")
    assert found.blamed == ["a", "b"]
    assert found.majority() == "n=8 in the call"
    assert known.sizes() == {"n": 8}


def test_columns_that_agree_are_not_counted() -> None:
    agreed = votes(tensor=4)
    agreed.join("n", [("uid", 4), ("text", 4)])

    assert agreed.disagreements() == []
    assert agreed.report() == [DimSizes(name="n", sizes=((4, ("tensor",)),))]


def test_columns_are_counted_where_there_is_nothing_else() -> None:
    alone = votes()
    alone.join("n", [("uid", 4), ("text", 4)])

    assert alone.sizes() == {"n": 4}
    assert alone.disagreements() == []


def test_every_column_counts_as_soon_as_one_disagrees() -> None:
    """In any order: the columns before the odd one stand for the majority, too."""
    for columns in ([("uid", 4), ("text", 4), ("odd", 3)], [("odd", 3), ("uid", 4), ("text", 4)]):
        split = votes(tensor=4)
        split.join("n", columns)
        (found,) = split.disagreements()

        assert found.blamed == ["odd"]
        assert found.majority() == "n=4 in tensor, uid and text"


def test_columns_can_outvote_a_tensor() -> None:
    split = votes(tensor=3)
    split.join("n", [("uid", 4), ("text", 4)])
    (found,) = split.disagreements()

    assert found.blamed == ["tensor"]


def test_columns_are_held_against_a_size_that_is_given() -> None:
    known = Votes({"n": 8}, "the call", values=False)
    known.add("n", 4, "tensor")
    known.join("n", [("uid", 4)])
    (found,) = known.disagreements()

    assert found.blamed == ["tensor", "uid"]


def test_ragged_lengths_are_compared_and_never_printed() -> None:
    short, other = Lengths(torch.tensor([0, 2, 5])), Lengths(torch.tensor([0, 3, 5]))
    ragged = Votes(None, "", values=False)
    for field, size in (("a", short), ("b", Lengths(torch.tensor([0, 2, 5]))), ("c", other)):
        ragged.add("n", size, field)
    (found,) = ragged.disagreements()

    assert found.blamed == ["c"]
    assert found.listing() == "ragged lengths in a and b, ragged lengths in c"
    assert ragged.report() == []
    assert size_text(short) == "ragged lengths"
