"""Our container remembers what the others have no place for."""

from __future__ import annotations

import numpy as np
import torch

from batchpact.dataproto import DataProto
from batchpact.dataproto.carriers import OURS, carrier_of
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.row_marks import RowMarks
from batchpact.schemas.stores import Stores
from tests.dataproto.carriers.kinds import KINDS, ours


def test_writers_and_readers_are_remembered() -> None:
    data = ours()

    OURS.mark(data, writers={"ids": "rollout", "k": "setup"}, rewrites=frozenset())
    OURS.mark(data, writers={"ids": "truncate"}, rewrites=frozenset({"ids"}))
    OURS.note_reader(data, "score", ("cells",))

    assert dict(OURS.history(data)) == {
        "ids": "written by 'truncate'",
        "k": "written by 'setup'",
        "cells": "last read by 'score'",
    }
    assert data._rewrites == {"ids"}


def test_marking_one_batch_marks_no_other() -> None:
    data = ours()
    OURS.mark(data, writers={"ids": "rollout"}, rewrites=frozenset())
    part = data[:1]

    OURS.mark(part, writers={"ids": "truncate"}, rewrites=frozenset())
    OURS.note_reader(part, "score", ("cells",))

    assert dict(OURS.history(data)) == {"ids": "written by 'rollout'"}


def test_rows_have_origins_from_the_start_of_a_stage_on() -> None:
    data = ours()
    handed = OURS.hand_out(data, HandOut(None, None, None, {}, (), None))

    OURS.start_rows(handed, len(data))

    assert OURS.origin(data) is None
    assert OURS.origin(handed[[2, 0]]).tolist() == [2, 0]  # type: ignore[union-attr]
    assert OURS.origin(handed.repeat(2)[::-1]).tolist() == [2, 2, 1, 1, 0, 0]  # type: ignore[union-attr]


def test_pad_rows_are_known() -> None:
    data = ours()
    data._marks = RowMarks(pads=np.array([False, True, True]))

    assert OURS.pads(data[1:]).tolist() == [True, True]  # type: ignore[union-attr]


def test_a_made_batch_is_of_the_caller_s_class_and_on_its_device() -> None:
    class Own(DataProto):
        pass

    like = Own.from_dict({"x": torch.ones(2)})
    assert like.batch is not None
    like.batch = like.batch.to("cpu")

    made = OURS.make(like, Stores({"y": torch.ones(2)}, {}, {}), 2)

    assert type(made) is Own
    assert made.batch.device == torch.device("cpu")


def test_put_into_a_batch_without_tensors_makes_a_store_with_their_rows() -> None:
    for data in (DataProto(), DataProto.from_dict({"x": torch.ones(5)}).select([])):
        OURS.put(data, Stores({"y": torch.ones(3, 2)}, {}, {}), ())

        assert data.batch is not None
        assert data.batch.batch_size == (3,)


def test_the_other_kinds_remember_nothing_and_say_so() -> None:
    for make in (KINDS["verl"], KINDS["TensorDict"]):
        batch = make()
        carrier = carrier_of(batch)
        assert carrier is not None

        carrier.mark(batch, writers={"ids": "rollout"}, rewrites=frozenset({"ids"}))
        carrier.note_reader(batch, "score", ("ids",))
        carrier.start_rows(batch, 3)

        assert carrier.history(batch) == {}
        assert carrier.origin(batch) is None
        assert carrier.pads(batch) is None
