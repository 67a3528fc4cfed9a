"""What happens to a field where batches are joined or filled up: declared once, on the field.

timing: Annotated[Meta[dict[str, float]], Merge("mean")]
responses: Annotated[Int64[Tensor, "batch response"], Pad(0)]
uid: Annotated[NonTensor[str], Group(), Pad("")]
acc: Annotated[Float32[Tensor, "batch"], Fill(0.0)] | None = None
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

MergeName: TypeAlias = Literal["equal", "close", "first", "sum", "mean", "max", "collect", "set_union", "by_key"]
Side: TypeAlias = Literal["left", "right"]
PadValue: TypeAlias = "int | float | bool | str | None"

MERGE_NAMES: tuple[str, ...] = get_args(MergeName)
SIDES: tuple[str, ...] = get_args(Side)


@dataclass(frozen=True, slots=True)
class Merge:
    """How the values that several parts have for a meta field become one, in concat and union.

    `equal` (what holds where nothing is declared): all parts that have a value have the same. `close`: they differ by
    `rtol` or `atol` at most; the first counts. `first`, `sum`, `mean` and `max`: as they say, over the parts that
    have a value. `collect`: a list of all of them; lists are joined, so that collecting twice does not nest.
    `set_union`: each element once. A dict is merged key by key; `by_key` asks a function which policy a key has.

    A value that the parts have from one batch, unchanged, is carried and not merged. `close` may stand on a tensor or a
    column, too: a union then takes rows that were computed anew for equal, and keeps those of the left side.

    Args:
        how: the name of the policy.
        rtol: for `close`, the deviation that is allowed, relative to the larger value.
        atol: for `close`, the deviation that is allowed however small the values are: log-probs near zero, for example.
        policy_of: for `by_key`, the policy of a key.
    """

    how: MergeName = "equal"
    rtol: float | None = None
    policy_of: Callable[[str], Merge] | None = None
    atol: float = 0.0

    @classmethod
    def close(cls, rtol: float = 1e-5, atol: float = 0.0) -> Merge:
        """Values that were measured or computed anew on each rank."""
        return cls("close", rtol=rtol, atol=atol)

    @classmethod
    def by_key(cls, policy_of: Callable[[str], Merge]) -> Merge:
        """A dict whose keys have policies of their own: `Merge.by_key(lambda key: Merge("mean"))`."""
        return cls("by_key", policy_of=policy_of)


class _Spelt:
    """Equal where it is spelt alike.

    To Python 0, 0.0 and False are equal, and `typing` keeps one `Annotated[...]` for all metadata that are equal: a
    field with `Pad(False)` would get the `Pad(0)` of another.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True, slots=True, eq=False)
class Pad(_Spelt):
    """What a field holds where there is nothing: in neutral pad rows, and in rows that are made longer.

    Args:
        value: a number for a tensor; a plain value for an object column.
        side: where rows are made longer; by the name of the dim where they differ, as in `{"prompt": "left"}`. An axis
            such as `"prompt+response"` is made longer inside, each of its dims on its own side.
    """

    value: PadValue
    side: Side | Mapping[str, Side] = "right"

    def side_of(self, dim: str) -> Side:
        """Where rows are made longer in a dim."""
        return self.side if isinstance(self.side, str) else self.side.get(dim, "right")


@dataclass(frozen=True, slots=True, eq=False)
class Fill(_Spelt):
    """What an optional field holds in rows of parts that do not have it; `DataProto.presence(key)` says which do.

    Args:
        value: a number for a tensor; a plain value for an object column.
    """

    value: PadValue


@dataclass(frozen=True, slots=True)
class Key:
    """The field says which row this is: no two rows have the same. Several such fields do so together."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows with the same value belong together, such as the responses to one prompt."""
