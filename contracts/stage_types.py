"""Stages as type checkers see them, and what `@stage` is to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from tensordict import TensorDictBase
from typing_extensions import TypeVarTuple, Unpack

from batchpact.contracts.boundary import Boundary
from batchpact.dataproto.container import DataProto
from batchpact.schemas.batch import BatchSchema

if TYPE_CHECKING:
    from batchpact.contracts.queue.references import IndexBatch, KeyBatch

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound=BatchSchema)
W = TypeVar("W", bound=BatchSchema)
S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R_contra = TypeVar("R_contra", bound=BatchSchema, contravariant=True)
W_co = TypeVar("W_co", bound=BatchSchema, covariant=True)
Ts = TypeVarTuple("Ts")
D = TypeVar("D", bound="Locked")
C = TypeVar("C", bound="DataProto | TensorDictBase | VerlBatch | KeyBatch | IndexBatch")


class VerlBatch(Protocol):
    """verl's `DataProto`. Its stores can be looked at only, as verl leaves their types open."""

    @property
    def batch(self) -> Any:
        """The tensors."""
        ...

    @property
    def non_tensor_batch(self) -> Any:
        """The columns."""
        ...

    @property
    def meta_info(self) -> Any:
        """What has no batch axis."""
        ...

    def __len__(self) -> int: ...


class Locked(Protocol):
    """What a `TensorDict` is known by: type checkers do not know all of its bases, and take it for anything."""

    def lock_(self) -> Any:
        """Let nobody write into it."""
        ...


class BoundStage(Protocol[R_contra, W_co]):
    """A stage that is a method of an instance: with a carrier it returns the carrier's kind, with Reads its Writes."""

    contract: Boundary

    @overload
    def __call__(self, batch: C, /, *args: Any, **kwargs: Any) -> C: ...
    @overload
    def __call__(self, batch: R_contra, /, *args: Any, **kwargs: Any) -> W_co: ...


class Stage(BoundStage[R_contra, W_co], Protocol[R_contra, W_co]):
    """A stage as type checkers see it."""

    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> Stage[R_contra, W_co]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class BoundAsyncStage(Protocol[R_contra, W_co]):
    """An async stage that is a method of an instance."""

    contract: Boundary

    @overload
    def __call__(self, batch: C, /, *args: Any, **kwargs: Any) -> Awaitable[C]: ...
    @overload
    def __call__(self, batch: R_contra, /, *args: Any, **kwargs: Any) -> Awaitable[W_co]: ...


class AsyncStage(BoundAsyncStage[R_contra, W_co], Protocol[R_contra, W_co]):
    """A stage that is a coroutine function."""

    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> AsyncStage[R_contra, W_co]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class MethodStage(Protocol[R_contra, W_co]):
    """A stage that is a method: on an instance it is a `Stage`."""

    contract: Boundary

    @overload
    def __get__(self, instance: None, owner: type, /) -> MethodStage[R_contra, W_co]: ...
    @overload
    def __get__(self, instance: object, owner: type, /) -> BoundStage[R_contra, W_co]: ...
    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> MethodStage[R_contra, W_co]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class AsyncMethodStage(Protocol[R_contra, W_co]):
    """A stage that is an async method."""

    contract: Boundary

    @overload
    def __get__(self, instance: None, owner: type, /) -> AsyncMethodStage[R_contra, W_co]: ...
    @overload
    def __get__(self, instance: object, owner: type, /) -> BoundAsyncStage[R_contra, W_co]: ...
    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> AsyncMethodStage[R_contra, W_co]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class UnpackedStage(Protocol[P, T_co]):
    """A stage of plain values: with a carrier it returns the carrier's kind, else it is called as the function is."""

    contract: Boundary

    @overload
    def __call__(self, batch: C, /, **kwargs: Any) -> C: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> UnpackedStage[P, T_co]: ...
    @overload
    def __get__(self, instance: object, owner: type, /) -> UnpackedStage[..., T_co]: ...
    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> UnpackedStage[..., T_co]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class AsyncUnpackedStage(Protocol[P, T_co]):
    """A stage of plain values that is a coroutine function."""

    contract: Boundary

    @overload
    def __call__(self, batch: C, /, **kwargs: Any) -> Awaitable[C]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T_co]: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> AsyncUnpackedStage[P, T_co]: ...
    @overload
    def __get__(self, instance: object, owner: type, /) -> AsyncUnpackedStage[..., T_co]: ...
    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> AsyncUnpackedStage[..., T_co]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class TupleStage(Protocol[R_contra, W_co, Unpack[Ts]]):
    """A stage, also one that is a method, that returns more than its Writes: the first of a tuple is the batch."""

    contract: Boundary

    @overload
    def __call__(self, batch: C, /, *args: Any, **kwargs: Any) -> tuple[C, Unpack[Ts]]: ...
    @overload
    def __call__(self, batch: R_contra, /, *args: Any, **kwargs: Any) -> tuple[W_co, Unpack[Ts]]: ...
    def __get__(self, instance: object, owner: type, /) -> TupleStage[R_contra, W_co, Unpack[Ts]]: ...
    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> TupleStage[R_contra, W_co, Unpack[Ts]]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class AsyncTupleStage(Protocol[R_contra, W_co, Unpack[Ts]]):
    """The same of a coroutine function."""

    contract: Boundary

    @overload
    def __call__(self, batch: C, /, *args: Any, **kwargs: Any) -> Awaitable[tuple[C, Unpack[Ts]]]: ...
    @overload
    def __call__(self, batch: R_contra, /, *args: Any, **kwargs: Any) -> Awaitable[tuple[W_co, Unpack[Ts]]]: ...
    def __get__(self, instance: object, owner: type, /) -> AsyncTupleStage[R_contra, W_co, Unpack[Ts]]: ...
    def as_(
        self, name: str, /, *, rename: Mapping[str, str] | None = None, args: Mapping[str, object] | None = None
    ) -> AsyncTupleStage[R_contra, W_co, Unpack[Ts]]:
        """The same code as a stage of another name; `alias` explains it."""
        ...


class UnpackDecorator(Protocol):
    """`@stage(Schema, unpack=True)`."""

    @overload
    def __call__(self, function: Callable[P, Awaitable[T]], /) -> AsyncUnpackedStage[P, T]: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> UnpackedStage[P, T]: ...


class Decorator(Protocol):
    """`@stage(level=...)` above a function whose signature is the contract."""

    @overload
    def __call__(self, function: Callable[Concatenate[R, ...], Awaitable[W]], /) -> AsyncStage[R, W]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[R, ...], W], /) -> Stage[R, W]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[S, R, ...], Awaitable[W]], /) -> AsyncMethodStage[R, W]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[S, R, ...], W], /) -> MethodStage[R, W]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[R, ...], Awaitable[tuple[W, Unpack[Ts]]]], /
    ) -> AsyncTupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[R, ...], tuple[W, Unpack[Ts]]], /
    ) -> TupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[S, R, ...], Awaitable[tuple[W, Unpack[Ts]]]], /
    ) -> AsyncTupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[S, R, ...], tuple[W, Unpack[Ts]]], /
    ) -> TupleStage[R, W, Unpack[Ts]]: ...


class NamedDecorator(Protocol):
    """`@stage(Schema)` above a function of carriers, or above one that takes the schema's Reads."""

    @overload
    def __call__(self, function: Callable[Concatenate[D, P], T], /) -> Callable[Concatenate[D, P], T]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[Concatenate[R, ...], Awaitable[W]], /) -> AsyncStage[R, W]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[Concatenate[R, ...], W], /) -> Stage[R, W]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[Concatenate[S, D, P], T], /) -> Callable[Concatenate[S, D, P], T]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: Callable[Concatenate[S, R, ...], Awaitable[W]], /) -> AsyncMethodStage[R, W]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[Concatenate[S, R, ...], W], /) -> MethodStage[R, W]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[R, ...], Awaitable[tuple[W, Unpack[Ts]]]], /
    ) -> AsyncTupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[R, ...], tuple[W, Unpack[Ts]]], /
    ) -> TupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[S, R, ...], Awaitable[tuple[W, Unpack[Ts]]]], /
    ) -> AsyncTupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[S, R, ...], tuple[W, Unpack[Ts]]], /
    ) -> TupleStage[R, W, Unpack[Ts]]: ...
    @overload
    def __call__(self, function: F, /) -> F: ...
