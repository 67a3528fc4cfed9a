"""A batch that is lent notes what is looked at, and is itself again afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.contracts.tracing.lending import Loan, held_by, origin_of, unlend
from batchpact.dataproto import DataProto


def batch() -> DataProto:
    return DataProto.from_dict({"ids": torch.arange(4)}, {"uid": list("aabb")}, {"step": 1})


def looked(work: Any, data: Any) -> list[str]:
    """The names that some work looks at."""
    loan = Loan(data)
    work(data)
    loan.end()
    return list(loan.looks.names)


@pytest.mark.parametrize(
    ("work", "names"),
    [
        (lambda data: data.batch["ids"], ["ids"]),
        (lambda data: data.batch.get("ids"), ["ids"]),
        (lambda data: "other" in data.batch.keys(), ["other"]),
        (lambda data: "uid" in data.non_tensor_batch, ["uid"]),
        (lambda data: data.non_tensor_batch["uid"], ["uid"]),
        (lambda data: data.meta_info.get("other", 0), ["other"]),
        (lambda data: data[:2].meta_info["step"], ["step"]),
        (lambda data: data.repeat(2).batch["ids"], ["ids"]),
        (lambda data: [part.non_tensor_batch["uid"] for part in data.chunk(2)], ["uid"]),
        (lambda data: len(data), []),
        (lambda data: data.repeat(2), []),
        (lambda data: data.batch.__setitem__("new", torch.zeros(4)), []),
    ],
)
def test_what_is_looked_at(work: Any, names: list[str]) -> None:
    assert looked(work, batch()) == names


def test_afterwards_it_is_the_same_object_with_the_same_stores() -> None:
    data = batch()
    stores = data.batch, data.non_tensor_batch, data.meta_info
    loan = Loan(data)
    data.batch["new"] = torch.zeros(4)
    data.meta_info["step"] = 2
    del data.non_tensor_batch["uid"]
    after = loan.end()

    assert after.names() == ["ids", "new", "step"]
    assert all(
        now is before for now, before in zip((data.batch, data.non_tensor_batch, data.meta_info), stores, strict=True)
    )
    assert data == DataProto.from_dict({"ids": torch.arange(4), "new": torch.zeros(4)}, {}, {"step": 2})
    assert [type(store).__name__ for store in stores] == ["TensorDict", "dict", "dict"]


def test_other_rows_are_kept_with_what_is_known_of_them() -> None:
    data = batch()
    loan = Loan(data)
    data.reorder(torch.tensor([3, 2, 1, 0]))
    origin = origin_of(data)
    loan.end()

    assert origin is not None and origin.tolist() == [3, 2, 1, 0]
    assert data.batch["ids"].tolist() == [3, 2, 1, 0]
    assert origin_of(data) is None


def test_a_batch_that_was_derived_becomes_an_ordinary_one() -> None:
    data = batch()
    loan = Loan(data)
    derived = data[:2]
    loan.end()
    unlend(derived)

    assert type(derived.batch) is TensorDict and type(derived.meta_info) is dict
    assert derived == batch()[:2]


def test_a_tensordict_is_lent_itself() -> None:
    data = TensorDict({"ids": torch.arange(4)}, [4])

    assert looked(lambda lent: (lent["ids"], "x" in lent.keys()), data) == ["ids", "x"]
    assert type(data) is TensorDict
    assert looked(lambda lent: None, data) == []


def test_nothing_is_held_by_no_batch() -> None:
    assert held_by(None).names() == []


@pytest.mark.peers
def test_a_batch_of_verl_is_lent_and_given_back() -> None:
    verl = pytest.importorskip("verl")
    data = verl.DataProto.from_dict({"ids": torch.arange(4)}, meta_info={"step": 1})
    loan = Loan(data)
    _ = data.select(batch_keys=["ids"]), data.meta_info.get("other")
    data.meta_info["new"] = 1
    after = loan.end()

    assert list(loan.looks.names) == ["ids", "other"]
    assert after.names() == ["ids", "step", "new"]
    assert type(data.meta_info) is dict and data.meta_info == {"step": 1, "new": 1}
