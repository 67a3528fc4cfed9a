"""Inside a stage: what was withheld stays withheld, whichever function looks, and in all that comes from the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import tensordicts as tu
from batchpact.dataproto.carriers import carrier_of
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.withheld import Withheld
from batchpact.schemas import UndeclaredReadError
from tests.dataproto.tensordicts.support import shown, small


def handed() -> TensorDict:
    """What a stage gets that declares `ids`, `uid` and `step`."""
    batch = small()
    carrier = carrier_of(batch)
    assert carrier is not None
    withheld = Withheld("score", {"ids", "uid", "step"}, lambda: carrier.stores(batch))
    terms = HandOut(("ids",), ("uid",), ("step",), {}, (), withheld)
    return carrier.hand_out(batch, terms)  # type: ignore[no-any-return]


LOOKS: list[Callable[[TensorDict], Any]] = [
    lambda batch: tu.get(batch, "turns"),
    lambda batch: tu.get(batch, "turns", "default"),
    lambda batch: tu.get_non_tensor_data(batch, "four", None),
    lambda batch: tu.pop(batch, "flat", None),
    lambda batch: tu.get_keys(batch, ["ids", "flat"]),
    lambda batch: tu.pop_keys(batch, ["ids", "flat"]),
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_a_withheld_name_is_an_undeclared_read_and_no_default(look: Callable[[TensorDict], Any]) -> None:
    batch = handed()

    with pytest.raises(UndeclaredReadError, match="the Reads of 'score' do not declare it"):
        look(batch)

    assert set(batch.keys()) == {"ids", "uid", "step"}


def test_names_that_nobody_has_are_missing_as_usual() -> None:
    assert tu.get(handed(), "zzz", 1) == tu.pop(handed(), "zzz", 1) == 1


DERIVED: dict[str, Callable[[TensorDict], TensorDict]] = {
    "chunk": lambda batch: tu.chunk_tensordict(batch, 2)[1],
    "index": lambda batch: tu.index_select_tensor_dict(batch, [0]),
    "iterator": lambda batch: next(tu.make_iterator(batch, 2, 1)),
    "pad": lambda batch: tu.pad_to_divisor(batch, 3)[0],
    "unpad": lambda batch: tu.unpad(batch, 1),
    "contiguous": tu.contiguous,
    "get_keys": lambda batch: tu.get_keys(batch, ["ids"]),
    "pop_keys": lambda batch: tu.pop_keys(batch, ["ids"]),
    "concat": lambda batch: tu.concat_tensordict([batch, batch]),
    "assign": lambda batch: tu.assign_non_tensor(batch, scratch=1),
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_what_comes_from_a_handed_out_batch_knows_what_is_withheld(derive: Callable[[TensorDict], TensorDict]) -> None:
    derived = derive(handed())

    assert "ids" in derived.keys()
    with pytest.raises(UndeclaredReadError):
        tu.get(derived, "turns")
    with pytest.raises(UndeclaredReadError):
        derived["flat"]


@pytest.mark.parametrize("derive", [*DERIVED.values()], ids=DERIVED)
def test_outside_a_stage_nothing_is_withheld(derive: Callable[[TensorDict], TensorDict]) -> None:
    assert type(derive(small())) is TensorDict


def test_what_was_not_handed_out_is_in_no_result() -> None:
    assert set(tu.concat_tensordict(tu.chunk_tensordict(handed(), 4)).keys()) == {"ids", "uid", "step"}
    assert shown(tu.index_select_tensor_dict(handed(), [3]))["uid"] == ("column", "['d']")
    assert handed()["ids"].tolist() == torch.arange(8).reshape(4, 2).tolist()
