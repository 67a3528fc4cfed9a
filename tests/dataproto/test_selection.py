"""Fields are chosen by name: what is missing is reported for all three stores at once."""

import numpy as np
import pytest
import torch

from batchpact.dataproto.selection import check_new_names, choose
from batchpact.schemas import BatchError, MissingFieldError
from batchpact.schemas.stores import Stores

HELD = Stores({"scores": torch.zeros(2)}, {"uid": np.array(["a", "b"])}, {"step": 3})


def test_none_takes_all_of_a_store_and_a_string_is_one_name() -> None:
    chosen = choose("select", HELD, (None, "uid", ()))

    assert [list(store) for store in chosen[:3]] == [["scores"], ["uid"], []]


def test_every_name_that_is_missing_is_reported_with_where_it_is_or_what_is_close() -> None:
    with pytest.raises(MissingFieldError) as caught:
        choose("pop", HELD, (["score"], ["step"], ["nothing"]))

    assert str(caught.value) == (
        "3 problems in DataProto.pop; nothing was changed\n\n"
        "  BP046 name  score    not in batch; closest name: 'scores'\n"
        "  BP046 name  step     not in non_tensor_batch; the batch has int in meta_info\n"
        "  BP046 name  nothing  not in meta_info"
    )


@pytest.mark.parametrize(("old", "new"), [(["scores"], ["a", "b"]), (["scores", "x"], ["a", "a"])])
def test_new_names_are_as_many_as_old_ones(old: list[str], new: list[str]) -> None:
    with pytest.raises(BatchError, match="one new name for each old one"):
        check_new_names(old, new, HELD)


def test_a_new_name_may_be_an_old_one_and_no_other() -> None:
    check_new_names(["scores", "x"], ["x", "scores"], HELD)
    with pytest.raises(BatchError, match="the name is taken"):
        check_new_names(["scores"], ["uid"], HELD)
