"""The error of an operation: what, where, that nothing was changed; small enough to cross processes."""

from __future__ import annotations

import pickle

import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.schemas import BatchError, ContractError, Violation


def test_a_refusal_reads_as_a_whole() -> None:
    error = refuse("chunk", "BP043", "chunks", "10 rows into 3 parts", "parts of equal length", "or pad first")

    assert str(error) == (
        "1 problem in DataProto.chunk; nothing was changed\n"
        "\n"
        "  BP043 split  chunks  10 rows into 3 parts; parts of equal length; or pad first"
    )


def test_several_reasons_stand_in_columns() -> None:
    error = refuse_all(
        "union",
        [
            Violation(code="BP041", field="x", actual="the sides differ", expected="equal values"),
            Violation(code="BP016", field="batch", actual="2 against 3"),
        ],
    )

    assert str(error) == (
        "2 problems in DataProto.union; nothing was changed\n"
        "\n"
        "  BP041 conflict  x      the sides differ; equal values\n"
        "  BP016 rows      batch  2 against 3"
    )


def test_the_error_of_a_large_batch_is_small_and_pickles() -> None:
    data = DataProto.from_dict({f"field_{at}": torch.ones(1000, 100) for at in range(3)})
    other = DataProto.from_dict({f"field_{at}": torch.zeros(1000, 100) for at in range(3)})

    with pytest.raises(BatchError) as caught:
        data.union(other)

    sent = pickle.dumps(caught.value)
    assert len(sent) < 2000
    received = pickle.loads(sent)
    assert type(received) is BatchError
    assert str(received) == str(caught.value)
    assert received.violations == caught.value.violations
    assert isinstance(received, ContractError)
    assert isinstance(received, ValueError)
