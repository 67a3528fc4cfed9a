"""The three stores of a batch and the arguments, as one."""

from batchpact.schemas.stores import Stores, rows_of

from .support import floats, objects, stores

BATCH = stores(
    tensors={"scores": floats(3, 2)}, columns={"uid": objects("a", "b", "c")}, meta={"step": 7}, args={"coef": 0.1}
)


def test_a_name_is_found_with_its_placement_and_value() -> None:
    assert BATCH.find("scores") == ("tensor", BATCH.tensors["scores"])
    assert BATCH.find("uid") == ("non_tensor", BATCH.columns["uid"])
    assert BATCH.find("step") == ("meta", 7)
    assert BATCH.find("coef") == ("arg", 0.1)
    assert BATCH.find("other") is None


def test_a_name_that_holds_none_is_found() -> None:
    assert stores(meta={"step": None}).find("step") == ("meta", None)


def test_each_placement_has_its_store() -> None:
    assert [placement for placement, _ in BATCH.by_placement()] == ["tensor", "non_tensor", "meta", "arg"]
    assert all(BATCH.store(placement) is store for placement, store in BATCH.by_placement())


def test_tags_stand_among_the_columns() -> None:
    assert BATCH.store("tag") is BATCH.columns


def test_names_come_in_the_order_of_the_stores() -> None:
    assert BATCH.names() == ["scores", "uid", "step", "coef"]
    assert Stores.empty().names() == []


def test_rows_are_those_of_the_first_tensor_or_else_of_the_first_column() -> None:
    assert rows_of(BATCH) == 3
    assert rows_of(stores(columns={"uid": objects("a", "b")})) == 2
    assert rows_of(stores(meta={"step": 7})) is None
    assert rows_of(stores(tensors={"scores": floats(0, 2)})) == 0
