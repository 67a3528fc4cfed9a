"""Bytes per field, before and after projection to what a stage reads."""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from rich.console import Console
from torch import Tensor

from batchpact.dataproto import DataProto, size_report
from batchpact.dataproto.size_report import FieldSize
from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor, StageSchema
from tests.dataproto.support import function_refuses


class Score(StageSchema):
    """Scores answers."""

    class Reads(BatchSchema):
        ids: Int64[Tensor, "batch n"]
        answer: NonTensor[str]
        temperature: Meta[float] | Float32[Tensor, "batch"]
        gone: Meta[int] | None = None
        kl: Arg[float] = 0.1

    class Writes(BatchSchema):
        score: Float32[Tensor, "batch"]


class Everything(BatchSchema, extra="allow"):
    ids: Int64[Tensor, "batch n"]


TEXT, OTHER = "x" * 3000, "y" * 3000


def batch() -> DataProto:
    return DataProto.from_dict(
        {"ids": torch.zeros(4, 1024, dtype=torch.int64), "pixels": torch.zeros(4, 2**20)},
        {"answer": [TEXT, TEXT, OTHER, OTHER], "temperature": np.ones(4)},
        {"stop": ["a"]},
    )


ANSWER = 4 * 8 + sys.getsizeof(TEXT) + sys.getsizeof(OTHER)
STOP = sys.getsizeof(["a"]) + sys.getsizeof("a")


def test_every_field_has_its_bytes_and_says_whether_it_is_shipped() -> None:
    """W5, W8: pixels are not read; text counts as text, a text that stands in several rows once."""
    report = size_report(batch(), Score.Reads)

    assert report.fields == (
        FieldSize("pixels", "tensor", 2**24, False),
        FieldSize("ids", "tensor", 2**15, True),
        FieldSize("answer", "non_tensor", ANSWER, True),
        FieldSize("stop", "meta", STOP, False),
        FieldSize("temperature", "non_tensor", 32, False),  # it is declared for two other stores
    )
    assert (report.schema, report.bytes, report.shipped) == (
        "Score.Reads",
        2**24 + 2**15 + ANSWER + STOP + 32,
        2**15 + ANSWER,
    )


def test_a_schema_that_allows_others_ships_everything() -> None:
    report = size_report(batch(), Everything)

    assert report.shipped == report.bytes
    assert all(field.shipped for field in report.fields)


def test_what_is_shipped_is_what_a_stage_is_handed() -> None:
    data = batch()
    data.meta_info["temperature"] = 1.0
    del data.non_tensor_batch["temperature"]
    shipped = {field.field for field in size_report(data, Score.Reads).fields if field.shipped}

    assert shipped == {"ids", "answer", "temperature"}


def test_it_prints_as_text() -> None:
    assert str(size_report(batch(), Score.Reads)) == "\n".join(
        [
            "5 fields, 16.0 MB; Score.Reads ships 2 of them, 38.0 KB",
            "  pixels       batch               16.0 MB",
            "  ids          batch               32.0 KB  yes",
            "  answer       non_tensor_batch     6.0 KB  yes",
            f"  stop         meta_info             {STOP} B",
            "  temperature  non_tensor_batch       32 B",
        ]
    )


def test_it_prints_as_a_table() -> None:
    out = StringIO()
    Console(file=out, width=100).print(size_report(batch(), Score.Reads))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]

    assert lines[0] == "5 fields, 16.0 MB; Score.Reads ships 2 of them, 38.0 KB"
    assert lines[1] == "field        store                size  shipped"
    assert lines[3:5] == [
        "pixels       batch             16.0 MB",
        "ids          batch             32.0 KB  yes",
    ]


def test_an_empty_batch_has_a_report() -> None:
    assert str(size_report(DataProto(), Score.Reads)) == "0 fields, 0 B; Score.Reads ships 0 of them, 0 B"


@pytest.mark.parametrize(("reads", "shown"), [(Score, "StageMeta"), ("Reads", "str"), (None, "None")])
def test_it_takes_a_schema(reads: Any, shown: str) -> None:
    shown = type(Score).__name__ if reads is Score else shown
    with function_refuses("size_report", f"BP036 call  reads  {shown}; the Reads of a stage"):
        size_report(batch(), reads)


def test_it_takes_a_batch() -> None:
    with function_refuses(
        "size_report",
        "BP045 store  data  dict of 0; a DataProto; DataProto.from_verl(x) and DataProto.from_tensordict(x) make one",
    ):
        size_report({}, Score.Reads)  # type: ignore[arg-type]
