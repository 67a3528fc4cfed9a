"""A plain TensorDict: a column is a stack of cells, meta is one value; neither is told from the other by its length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import column
from batchpact.dataproto.carriers import Carrier, carrier_for
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import plan_rows
from batchpact.dataproto.withheld import HandedTensorDict, Withheld
from batchpact.schemas.stores import Stores
from tests.dataproto.carriers.kinds import needs_columns_without_rows, places, tensor_dict

found = carrier_for(TensorDict)
assert found is not None
CARRIER: Carrier = found

CELLS: list[list[Any]] = [
    [[], [0.5], [{"a": 1}]],
    [[1, 2], [3, 4], [5, 6]],
    [None, "text", 3],
    ["same", "same", "same"],
    [{"a": [1]}, {}, {"b": None}],
    [(1, 2), (3,), ()],
]


def with_column(cells: list[Any]) -> TensorDict:
    return CARRIER.make(TensorDict({}, batch_size=[len(cells)]), Stores({}, {"c": column(cells)}, {}), len(cells))


def cells_of(batch: TensorDict) -> list[Any]:
    return list(CARRIER.stores(batch).columns["c"])  # type: ignore[call-overload]


@pytest.mark.parametrize("cells", CELLS, ids=repr)
@pytest.mark.parametrize("rows", [3, 1, pytest.param(0, marks=needs_columns_without_rows)])
def test_cells_come_back_with_the_type_that_went_in(cells: list[Any], rows: int) -> None:
    back = cells_of(with_column(cells[:rows]))

    assert back == cells[:rows]
    assert [type(cell) for cell in back] == [type(cell) for cell in cells[:rows]]


def test_arrays_and_tensors_in_cells_come_back() -> None:
    back = cells_of(with_column([np.arange(2), torch.arange(2), np.arange(2)]))

    assert [type(cell) for cell in back] == [np.ndarray, torch.Tensor, np.ndarray]
    assert [cell.tolist() for cell in back] == [[0, 1]] * 3


@pytest.mark.parametrize(
    "cut",
    [
        lambda td: td[:1],
        lambda td: td[torch.tensor([0])],
        lambda td: td.chunk(3)[0],
        pytest.param(lambda td: td[:0], marks=needs_columns_without_rows),
    ],
)
def test_a_column_of_equal_cells_stays_a_column_when_it_is_cut(cut: Any) -> None:
    batch = cut(with_column(["same"] * 3))

    assert places(CARRIER.stores(batch)) == [set(), {"c"}, set()]


@pytest.mark.parametrize(
    "value", [[1, 2, 3], "abc", (1, 2, 3), {"a": 1}, None, 0.5, np.arange(3), torch.arange(3)], ids=repr
)
def test_meta_stays_meta_whatever_its_length(value: Any) -> None:
    batch = TensorDict({"ids": torch.arange(3)}, batch_size=[3])
    CARRIER.put(batch, Stores({}, {}, {"m": value}), ())

    for derived in (batch, CARRIER.take(batch, plan_rows("op", [0], 3)), CARRIER.copy(batch), batch[:2]):
        stores = CARRIER.stores(derived)
        assert places(stores) == [{"ids"}, set(), {"m"}]
        assert repr(stores.meta["m"]) == repr(value)
        assert type(stores.meta["m"]) is type(value)


def test_what_verl_puts_into_a_tensordict_is_read() -> None:
    batch = TensorDict({"ids": torch.arange(2)}, batch_size=[2])
    batch["uid"] = NonTensorStack("a", "b")
    batch["step"] = NonTensorData(data=3)
    batch.set_non_tensor("name", "grpo")

    stores = CARRIER.stores(batch)

    assert places(stores) == [{"ids"}, {"uid"}, {"step", "name"}]
    assert list(stores.columns["uid"]) == ["a", "b"]  # type: ignore[call-overload]
    assert (stores.meta["step"], stores.meta["name"]) == (3, "grpo")


def test_a_made_container_has_the_rows_of_the_given_one_where_none_are_said() -> None:
    assert CARRIER.make(tensor_dict(), Stores({"v": torch.ones(3)}, {}, {}), None).batch_size == (3,)
    assert CARRIER.make(tensor_dict(), Stores({}, {}, {"m": 1}), 5).batch_size == (5,)


def test_the_device_stays() -> None:
    batch = tensor_dict().to("cpu")

    for made in (
        CARRIER.copy(batch),
        CARRIER.take(batch, plan_rows("op", [0], 3)),
        CARRIER.make(batch, Stores({"v": torch.ones(3)}, {}, {}), 3),
        CARRIER.hand_out(batch, HandOut(("ids",), (), (), {}, (), None)),
    ):
        assert made.device == torch.device("cpu")


def test_everything_is_handed_out_where_one_store_is_open() -> None:
    batch = tensor_dict()
    withheld = Withheld("score", {"ids"}, lambda: CARRIER.stores(batch))

    handed = CARRIER.hand_out(batch, HandOut(None, ("cells",), (), {}, (), withheld))

    assert type(handed) is HandedTensorDict
    assert set(handed.keys()) == set(batch.keys())


def test_handed_out_cells_and_values_read_as_tensordict_gives_them() -> None:
    batch = tensor_dict()
    withheld = Withheld("score", {"cells", "k", "kl_coef"}, lambda: CARRIER.stores(batch))

    handed = CARRIER.hand_out(batch, HandOut((), ("cells",), ("k",), {"kl_coef": 0.1}, (), withheld))

    assert (handed["k"], handed["kl_coef"]) == (batch["k"], 0.1) == (0.5, 0.1)
    assert list(handed["cells"]) == list(batch["cells"]) == [["a", 1], [], None]
