"""verl's own DataProto, by structure: once a dataclass that looks like it, once (marked `peers`) the real one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import column
from batchpact.dataproto.carriers import Carrier, carrier_of
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import plan_rows
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import UndeclaredReadError
from batchpact.schemas.stores import Stores
from tests.dataproto.carriers.kinds import CELLS, WHOLE, LooksLikeVerl, ours, shown, tensors


def verl_proto() -> type[Any]:
    pytest.importorskip("verl")
    from verl import DataProto

    kind: type[Any] = DataProto
    return kind


@pytest.fixture(
    params=[
        pytest.param(lambda: LooksLikeVerl, id="structure"),
        pytest.param(verl_proto, id="verl", marks=pytest.mark.peers),
    ]
)
def kind(request: pytest.FixtureRequest) -> Any:
    find: Callable[[], Any] = request.param
    return find()


def whole(kind: Any) -> Any:
    return kind(
        batch=TensorDict(tensors(), batch_size=[3]),
        non_tensor_batch={"cells": column(CELLS)},
        meta_info={"three": [1, 2, 3], "k": 0.5},
    )


def carrier(batch: Any) -> Carrier:
    found = carrier_of(batch)
    assert found is not None
    return found


def test_it_is_known_by_its_structure(kind: Any) -> None:
    batch = whole(kind)

    assert type(carrier(batch)).__name__ == "VerlCarrier"
    assert shown(carrier(batch).stores(batch)) == WHOLE
    assert carrier(batch).stores(batch).tensors["ids"] is batch.batch["ids"]


def test_a_stage_is_handed_its_kind_and_what_it_declares(kind: Any) -> None:
    batch = whole(kind)
    withheld = Withheld("score", {"ids", "cells", "kl_coef"}, lambda: carrier(batch).stores(batch))

    handed = carrier(batch).hand_out(batch, HandOut(("ids",), ("cells",), (), {"kl_coef": 0.1}, (), withheld))

    assert type(handed) is kind
    assert len(handed) == 3
    assert shown(carrier(handed).stores(handed)) == {"ids": WHOLE["ids"], "cells": WHOLE["cells"], "kl_coef": 0.1}
    for store, name in ((handed.batch, "flat"), (handed.non_tensor_batch, "flat"), (handed.meta_info, "k")):
        for look in (lambda s, n: s[n], lambda s, n: s.get(n, None), lambda s, n: n in s.keys()):
            with pytest.raises(UndeclaredReadError):
                look(store, name)
    with pytest.raises(ValueError, match="read-only"):
        handed.non_tensor_batch["cells"][0] = "z"
    assert shown(carrier(batch).stores(batch)) == WHOLE


def test_without_tensors_it_is_handed_out_too(kind: Any) -> None:
    batch = kind(batch=None, non_tensor_batch={"cells": column(CELLS)}, meta_info={})

    handed = carrier(batch).hand_out(batch, HandOut((), ("cells",), (), {}, (), None))

    assert handed.batch is None
    assert list(handed.non_tensor_batch["cells"]) == CELLS


@pytest.mark.parametrize("rows", [[2, 0, 2], slice(1, 3), slice(0, 0)], ids=repr)
def test_rows_are_taken_from_every_store(kind: Any, rows: Any) -> None:
    batch = whole(kind)

    taken = carrier(batch).take(batch, plan_rows("op", rows, 3))

    expected = ours()[rows]
    assert type(taken) is kind
    assert len(taken) == len(expected)
    assert shown(carrier(taken).stores(taken)) == shown(expected.stores())
    assert taken.meta_info is not batch.meta_info


def test_put_fills_a_batch_that_has_no_tensors_yet(kind: Any) -> None:
    for empty in (None, TensorDict({}, batch_size=[7])):
        batch = kind(batch=empty, non_tensor_batch={}, meta_info={})

        carrier(batch).put(batch, Stores({"v": torch.ones(3)}, {"s": column("abc")}, {"m": 1}), ())

        assert len(batch) == 3
        assert shown(carrier(batch).stores(batch)) == {"v": [1.0, 1.0, 1.0], "s": ["a", "b", "c"], "m": 1}


def test_put_needs_no_tensors(kind: Any) -> None:
    batch = kind(batch=None, non_tensor_batch={"cells": column(CELLS)}, meta_info={"k": 1})

    carrier(batch).put(batch, Stores({}, {}, {"m": 1}), ["k"])

    assert batch.batch is None
    assert shown(carrier(batch).stores(batch)) == {"cells": CELLS, "m": 1}


def test_put_leaves_a_locked_tensordict_alone(kind: Any) -> None:
    locked = TensorDict({"v": torch.ones(3)}, batch_size=[3]).lock_()
    batch = kind(batch=locked, non_tensor_batch={}, meta_info={})

    carrier(batch).put(batch, Stores({"w": torch.zeros(3)}, {}, {}), ())

    assert list(locked.keys()) == ["v"]
    assert shown(carrier(batch).stores(batch)) == {"v": [1.0, 1.0, 1.0], "w": [0.0, 0.0, 0.0]}


def test_make_and_copy_keep_kind_device_and_mappings(kind: Any) -> None:
    batch = whole(kind)
    batch.batch = batch.batch.to("cpu")

    made = carrier(batch).make(batch, Stores({"v": torch.ones(2)}, {"s": np.arange(2)}, {"m": 1}), 2)
    copy = carrier(batch).copy(batch)

    assert (type(made), type(copy)) == (kind, kind)
    assert made.batch.device == copy.batch.device == torch.device("cpu")
    assert shown(carrier(made).stores(made)) == {"v": [1.0, 1.0], "s": [0, 1], "m": 1}
    assert shown(carrier(copy).stores(copy)) == WHOLE
    assert copy.batch is not batch.batch
    assert copy.meta_info is not batch.meta_info
    assert copy.non_tensor_batch is not batch.non_tensor_batch


@pytest.mark.peers
def test_what_a_stage_was_handed_travels_as_verl_s_own() -> None:
    batch = verl_proto()(
        batch=TensorDict({"ids": torch.arange(3), "hidden": torch.ones(3)}, batch_size=[3]),
        non_tensor_batch={"cells": column(CELLS)},
        meta_info={"k": 1},
    )
    withheld = Withheld("score", {"ids", "cells"}, lambda: carrier(batch).stores(batch))
    handed = carrier(batch).hand_out(batch, HandOut(("ids",), ("cells",), (), {}, (), withheld))

    received = pickle.loads(pickle.dumps(handed))

    assert received.batch["ids"].tolist() == [0, 1, 2]
    assert list(received.non_tensor_batch["cells"]) == CELLS
    assert received.batch.get("hidden", None) is None
    assert [type(received.batch), type(received.non_tensor_batch), type(received.meta_info)] == [TensorDict, dict, dict]


@pytest.mark.peers
def test_verl_s_single_row_is_no_carrier() -> None:
    verl_proto()
    from verl.protocol import DataProtoItem

    assert carrier_of(DataProtoItem()) is None
