"""Small contracts for the tests of the linter, and what their code imports."""

from __future__ import annotations

import asyncio
import copy
import enum
import functools
from typing import Annotated, cast

import numpy as np
import torch
from jaxtyping import Float32, Int64
from pydantic import ConfigDict
from tensordict import TensorDict
from torch import Tensor

from batchpact.contracts import from_rows, stage
from batchpact.dataproto import DataProto, pad_dataproto_to_divisor, tensordicts, unpad_dataproto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    Key,
    Meta,
    Name,
    NonTensor,
    SameAs,
    StageSchema,
    config,
    meta,
    named_by,
    rule,
)

PerRow = Float32[Tensor, "batch"]


class One(StageSchema):
    """One field in, one field out."""

    class Reads(BatchSchema):
        x: PerRow

    class Writes(BatchSchema):
        y: PerRow


class Each(StageSchema):
    """A field of each placement, on both sides."""

    class Reads(BatchSchema):
        score: PerRow
        uid: NonTensor[str]
        gamma: Meta[float]
        scale: Arg[float] = 1.0
        turns: Annotated[NonTensor[int], Name("__turns__")]

    class Writes(BatchSchema):
        total: PerRow
        label: NonTensor[str]
        metrics: Meta[dict[str, float]]


class Rewrite(StageSchema):
    """A field that is rewritten, one that may be there, and one that may be written."""

    class Reads(BatchSchema):
        x: PerRow
        mask: PerRow | None = None

    class Writes(BatchSchema):
        x: PerRow
        note: Meta[str] | None = None


class Open(StageSchema):
    """Columns of each kind, whose names stand in meta or in the configuration."""

    class Reads(BatchSchema):
        x: PerRow
        keys: Meta[list[str]]
        scores: Columns[NonTensor[float]] = named_by(meta("keys"))
        more: Columns[PerRow] = named_by(config("more", default=[]))

    class Writes(BatchSchema):
        y: PerRow
        squares: Columns[PerRow] = named_by(config("squares"))


__all__ = [
    "Annotated",
    "Arg",
    "BatchSchema",
    "Columns",
    "ConfigDict",
    "DataProto",
    "Each",
    "Int64",
    "Key",
    "Meta",
    "Name",
    "NonTensor",
    "One",
    "Open",
    "PerRow",
    "Rewrite",
    "SameAs",
    "StageSchema",
    "Tensor",
    "TensorDict",
    "asyncio",
    "cast",
    "copy",
    "enum",
    "from_rows",
    "functools",
    "np",
    "pad_dataproto_to_divisor",
    "rule",
    "stage",
    "tensordicts",
    "torch",
    "unpad_dataproto",
]
