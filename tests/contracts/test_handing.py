"""What of a batch the function of a stage is handed."""

from __future__ import annotations

import pytest

from batchpact.contracts import contract_of, stage
from batchpact.contracts.handing import keys_in
from batchpact.contracts.settings import Projection
from batchpact.dataproto import DataProto
from batchpact.schemas.stores import Stores
from tests.contracts.stages import ComputeReturns

HELD = Stores({"rewards": 1, "more": 2}, {"uid": 3, "images": 6}, {"gamma": 4, "seed": 5})


@pytest.mark.parametrize(
    ("project", "everything", "declared"),
    [
        ("on", False, Stores({"rewards": 1}, {"uid": 3}, {"gamma": 4})),
        ("record", True, HELD),
        ("off", True, HELD),
    ],
)
def test_what_is_declared_is_handed_out_or_all_that_there_is(
    project: Projection, everything: bool, declared: Stores
) -> None:
    @stage(ComputeReturns, project=project)
    def compute(data: DataProto) -> DataProto:
        return data

    contract = contract_of(compute)
    assert contract is not None
    assert contract.handing.everything is everything
    assert contract.handing.declared(HELD) == declared


def test_keys_are_told_by_the_stores_in_which_a_field_may_stand() -> None:
    reads = ComputeReturns.__batchpact__.reads

    assert keys_in(reads, "tensor") == ("rewards", "response_mask")
    assert keys_in(reads, "non_tensor", "tag", "meta") == ("uid", "gamma")
