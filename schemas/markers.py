"""What stands in an annotation: where a field lives, how it is laid out, and which values it may take.

The generic placements read as their plain type for type checkers: `Meta[float]` is a float, `Arg[float]` is a float,
`NonTensor[str]` and `Tag[str]` are numpy arrays with one `str` per row. Tensors are jaxtyping types of `torch.Tensor`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from typing_extensions import TypeAliasType

from batchpact.schemas.condition_specs import ConditionSpec
from batchpact.schemas.policies import Fill, Group, Key, Merge, Pad

if TYPE_CHECKING:
    from batchpact.schemas.conditions import Condition

T = TypeVar("T")

PlacementName: TypeAlias = Literal["tensor", "non_tensor", "meta", "arg", "tag"]


@dataclass(frozen=True, slots=True)
class Placed:
    """The mark inside `NonTensor`, `Tag`, `Meta` and `Arg`; written by these aliases only."""

    placement: PlacementName


NonTensor = TypeAliasType(
    "NonTensor", Annotated[np.ndarray[Any, np.dtype[Any]], Placed("non_tensor")], type_params=(T,)
)
"""One `T` per row, in `non_tensor_batch`; split with the batch."""

Tag = TypeAliasType("Tag", Annotated[np.ndarray[Any, np.dtype[Any]], Placed("tag")], type_params=(T,))
"""One `T` per row that a controller knows without fetching it: in the tags of a carrier that has some (TransferQueue),
and in `non_tensor_batch` of every other one; split with the batch."""

Meta = Annotated[T, Placed("meta")]
"""One `T` for the whole batch, in `meta_info`; copied to every part."""

Arg = Annotated[T, Placed("arg")]
"""One `T` that goes with a call (its keyword, or the configuration) and never enters the batch."""


@dataclass(frozen=True, slots=True)
class Jagged:
    """The tensor is a jagged nested tensor, ragged on the axis of this name."""

    dim: str


@dataclass(frozen=True, slots=True)
class Finite:
    """No NaN and no infinity."""


@dataclass(frozen=True, slots=True)
class Binary:
    """Every element is 0 or 1."""


@dataclass(frozen=True, slots=True)
class Name:
    """The field's key in the batch, where Python or pydantic cannot hold it as an attribute."""

    key: str


@dataclass(frozen=True, slots=True)
class From:
    """Fill an argument or a meta field from the configuration, by its dotted path."""

    path: str


@dataclass(frozen=True, slots=True)
class When:
    """The field is there if a condition holds; where it does not, it is neither read nor written."""

    condition: Condition = field(compare=False)
    spec: ConditionSpec = field(init=False)  # what two of them are compared by: a subject's own == builds a condition

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", getattr(self.condition, "spec", None))

    def __hash__(self) -> int:
        return hash(str(self.condition))


@dataclass(frozen=True, slots=True)
class SameAs:
    """A twin: the same values under another name. Whoever rewrites one has to rewrite the other."""

    key: str


MARKERS: tuple[type, ...] = (Jagged, Finite, Binary, Name, From, Merge, Pad, Fill, Key, Group, When, SameAs)
"""Every marker that belongs in an annotation as an instance."""
