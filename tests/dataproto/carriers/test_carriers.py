"""What every carrier does alike: our container, verl's by its structure, and a TensorDict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import LazyStackedTensorDict, TensorDict

from batchpact.dataproto import DataProto, DataProtoItem, column
from batchpact.dataproto.carriers import OURS, Carrier, carrier_for, carrier_of
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import Rows, plan_rows
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import UndeclaredReadError
from batchpact.schemas.stores import Stores
from tests.dataproto.carriers.kinds import KINDS, WHOLE, LooksLikeVerl, needs_columns_without_rows, ours, places, shown
from tests.dataproto.support import says


def carried(batch: Any) -> Carrier:
    found = carrier_of(batch)
    assert found is not None
    return found


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def batch(request: pytest.FixtureRequest) -> Any:
    return request.param()


# --- which values are carriers ----------------------------------------------------------------------------------------


def test_a_container_is_known_by_its_class() -> None:
    class Own(DataProto):
        pass

    names = {kind: type(carrier_for(kind)).__name__ for kind in (Own, LooksLikeVerl, TensorDict, LazyStackedTensorDict)}

    assert carrier_for(DataProto) is carrier_for(Own) is OURS
    assert names == {
        Own: "OurCarrier",
        LooksLikeVerl: "VerlCarrier",
        TensorDict: "TensorDictCarrier",
        LazyStackedTensorDict: "TensorDictCarrier",
    }


@dataclass
class TwoStores:
    batch: Any
    meta_info: Any


@pytest.mark.parametrize("value", [None, {}, {"batch": 1}, torch.ones(2), "text", TwoStores(1, 2), [ours()], DataProto])
def test_other_values_are_no_carriers(value: Any) -> None:
    assert carrier_of(value) is None


def test_a_single_row_is_no_carrier() -> None:
    assert carrier_of(ours()[0]) is None
    assert carrier_for(DataProtoItem) is None


# --- looking ----------------------------------------------------------------------------------------------------------


def test_the_stores_are_told_apart(batch: Any) -> None:
    stores = carried(batch).stores(batch)

    assert places(stores) == [{"ids", "flat"}, {"cells"}, {"three", "k"}]
    assert shown(stores) == WHOLE
    assert stores.columns["cells"].dtype == object  # type: ignore[attr-defined]
    assert stores.tensors["flat"].layout is torch.jagged  # type: ignore[attr-defined]


# --- making -----------------------------------------------------------------------------------------------------------

WRITTEN = Stores({"v": torch.tensor([1.0, 2.0])}, {"s": column(["x", "y"])}, {"m": [1, 2]})


def test_a_new_container_is_of_the_same_kind(batch: Any) -> None:
    carrier = carried(batch)

    made = carrier.make(batch, WRITTEN, 2)

    assert type(made) is type(batch)
    assert shown(carrier.stores(made)) == {"v": [1.0, 2.0], "s": ["x", "y"], "m": [1, 2]}
    assert carrier.stores(made).tensors["v"] is WRITTEN.tensors["v"]
    assert shown(carrier.stores(batch)) == WHOLE


def test_a_new_container_may_hold_meta_alone(batch: Any) -> None:
    carrier = carried(batch)

    assert shown(carrier.stores(carrier.make(batch, Stores({}, {}, {"m": 1}), None))) == {"m": 1}
    assert shown(carrier.stores(carrier.make(batch, Stores.empty(), None))) == {}


def test_a_copy_shares_values_and_nothing_else(batch: Any) -> None:
    carrier = carried(batch)

    copy = carrier.copy(batch)
    carrier.put(copy, Stores({"ids": torch.zeros(3)}, {"late": column("xyz")}, {"k": 1}), ["three"])

    assert type(copy) is type(batch)
    assert shown(carrier.stores(batch)) == WHOLE
    assert carrier.stores(copy).tensors["flat"] is carrier.stores(batch).tensors["flat"]


# --- changing ---------------------------------------------------------------------------------------------------------


def test_put_sets_fields_and_removes_others_in_place(batch: Any) -> None:
    carrier = carried(batch)
    values = torch.ones(3)

    carrier.put(
        batch, Stores({"values": values}, {"late": column([[1], [2], [3]])}, {"k": 7, "new": "m"}), ["ids", "three"]
    )

    stores = carrier.stores(batch)
    assert places(stores) == [{"flat", "values"}, {"cells", "late"}, {"k", "new"}]
    assert stores.tensors["values"] is values
    assert shown(stores)["late"] == [[1], [2], [3]]
    assert (stores.meta["k"], stores.meta["new"]) == (7, "m")


def test_a_field_can_move_to_another_store(batch: Any) -> None:
    carrier = carried(batch)

    carrier.put(batch, Stores({"cells": torch.arange(3)}, {}, {"ids": "meta now"}), ["cells", "ids"])

    assert places(carrier.stores(batch)) == [{"flat", "cells"}, set(), {"three", "k", "ids"}]


def test_dropping_a_name_that_is_not_there_is_nothing(batch: Any) -> None:
    carrier = carried(batch)

    carrier.put(batch, Stores.empty(), ["nowhere"])

    assert shown(carrier.stores(batch)) == WHOLE


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "rows"),
    [(slice(1, 3), [1, 2]), ([2, 0, 2, 1], [2, 0, 2, 1]), ([1], [1]), (slice(None, None, -1), [2, 1, 0])],
)
def test_all_fields_take_the_same_rows_and_meta_stays_whole(batch: Any, item: Any, rows: list[int]) -> None:
    assert_rows(batch, item, rows)


@pytest.mark.parametrize("kind", [*("ours", "verl"), pytest.param("TensorDict", marks=needs_columns_without_rows)])
def test_no_rows_are_taken_too(kind: str) -> None:
    assert_rows(KINDS[kind](), slice(0, 0), [])


def assert_rows(batch: Any, item: Any, rows: list[int]) -> None:
    carrier = carried(batch)

    taken = carrier.take(batch, plan_rows("op", item, 3))

    assert type(taken) is type(batch)
    assert shown(carrier.stores(taken)) == {
        **WHOLE,
        **{key: [WHOLE[key][row] for row in rows] for key in ("ids", "flat", "cells")},  # type: ignore[index]
    }
    assert places(carrier.stores(taken)) == places(carrier.stores(batch))
    assert shown(carrier.stores(batch)) == WHOLE


def test_rows_are_taken_again_from_what_was_taken(batch: Any) -> None:
    carrier = carried(batch)

    one = carrier.take(carrier.take(batch, Rows(index=np.array([2, 1]))), Rows.span(1, 2))

    assert shown(carrier.stores(one)) == {**WHOLE, "ids": [[2, 3]], "flat": [[]], "cells": [[]]}


# --- handing out ------------------------------------------------------------------------------------------------------


def hand_out(batch: Any, **extra: Any) -> Any:
    carrier = carried(batch)
    withheld = Withheld("score", {"ids", "cells", *extra}, lambda: carrier.stores(batch))
    return carrier.hand_out(batch, HandOut(("ids",), ("cells",), (), extra, (), withheld))


def test_the_declared_fields_are_handed_out_in_a_container_of_the_same_kind(batch: Any) -> None:
    carrier = carried(batch)

    handed = hand_out(batch, kl_coef=0.1)

    assert isinstance(handed, type(batch))
    assert carrier_of(handed) is carrier
    assert shown(carrier.stores(handed)) == {"ids": WHOLE["ids"], "cells": WHOLE["cells"], "kl_coef": 0.1}
    assert shown(carrier.stores(batch)) == WHOLE


LOOKS: dict[str, Callable[[Any], Any]] = {
    "three": lambda meta: meta.get("three", None),
    "k": lambda meta: "k" in meta,
    "flat": lambda meta: "flat" in meta.keys(),
}


@pytest.mark.parametrize(
    ("name", "where"),
    [("three", "list of 3 in meta_info"), ("k", "float in meta_info"), ("flat", "tensor i64[3, jagged]")],
)
def test_what_is_withheld_is_known(batch: Any, name: str, where: str) -> None:
    handed = hand_out(batch)
    store = handed if isinstance(handed, TensorDict) else handed.meta_info

    with says(
        UndeclaredReadError,
        "in stage 'score', which looked for a field it does not declare",
        f"BP002 withheld  {name}  the caller's batch holds {where}; the Reads of 'score' do not declare it; add {name} "
        "to them",
    ):
        LOOKS[name](store)


def test_what_a_stage_sets_does_not_reach_the_caller(batch: Any) -> None:
    carrier = carried(batch)
    handed = hand_out(batch)

    carrier.put(handed, Stores({"scratch": torch.ones(3)}, {"more": column("abc")}, {"m": 1}), [])

    assert shown(carrier.stores(batch)) == WHOLE


def test_everything_can_be_handed_out(batch: Any) -> None:
    carrier = carried(batch)

    handed = carrier.hand_out(batch, HandOut(None, None, None, {"kl_coef": 0.1}, (), None))

    assert type(handed) is type(batch)
    assert shown(carrier.stores(handed)) == {**WHOLE, "kl_coef": 0.1}
