"""verl's `DataProtoFuture` on its way in and out: what cannot be checked before the data is there is checked then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from batchpact.contracts.configuration import config_in_use, use_config
from batchpact.contracts.settings import Settings, checking, current
from batchpact.contracts.verl.batches import project
from batchpact.contracts.verl.methods import MethodContract
from batchpact.schemas.stores import Stores

Collected = Callable[[Any], Any]
"""Checks what was collected."""


def is_future(value: object) -> bool:
    """Whether this is verl's future."""
    from verl.protocol import DataProtoFuture

    return isinstance(value, DataProtoFuture)


@dataclass
class Share:
    """The part of one data-parallel group, taken out of a batch where it has come to be.

    The worker checks the whole batch against the Reads and takes its own rows, projected.

    Attributes:
        contract: the contract of the method.
        kwargs: the arguments of the contract.
        config: the configuration in use where the call was made.
        settings: the settings there.
        at: which group.
        groups: of how many.
        first: what has to be done with the batch before.
    """

    contract: MethodContract
    kwargs: Mapping[str, object]
    config: object
    settings: Settings
    at: int
    groups: int
    first: Callable[[Any], Any] | None

    def __call__(self, whole: Any) -> Any:
        """Check the batch and take the part."""
        from verl.protocol import BatchData

        batch = whole if self.first is None else self.first(whole)
        settings = self.settings
        around = checking(settings.level, action=settings.action, severity=settings.severity, sample=settings.sample)
        with use_config(self.config), around:
            sent = project(self.contract, batch, (None,), dict(self.kwargs), self.groups, may_pad=False)
        return BatchData(sent.data).chunk(self.groups)[self.at]


def shares(
    contract: MethodContract, future: Any, args: tuple[Any, ...], kwargs: dict[str, Any], groups: int
) -> list[Any]:
    """A future for each data-parallel group; nothing is fetched here.

    `kwargs` is changed in place: arguments that the method does not take leave it, open ones that it takes enter it.
    """
    from verl.protocol import DataProtoFuture

    boundary = contract.variants.under(())
    filled = boundary.arguments.fill(Stores.empty(), args, kwargs).args
    given = {field.name: filled[field.key] for field in boundary.spec.reads.fields if field.key in filled}
    share = partial(Share, contract, given, config_in_use(), current(), groups=groups, first=future.dispatch_fn)
    return [
        DataProtoFuture(collect_fn=future.collect_fn, futures=future.futures, dispatch_fn=share(at=at))
        for at in range(groups)
    ]


def checked(future: Any, check: Collected) -> Any:
    """A future of verl's of a result, which is checked when somebody gets it, on the controller or on a worker."""
    return _kind()(collect_fn=future.collect_fn, futures=future.futures, dispatch_fn=check)


@cache
def _kind() -> type[Any]:
    import ray
    from verl.protocol import BatchData, DataProtoFuture

    class CheckedFuture(DataProtoFuture):  # type: ignore[misc]  # verl has no types here
        """A future of what workers write."""

        def chunk(self, chunks: int) -> list[Any]:
            """Futures of equal parts of the checked result; verl's own would leave the check out."""
            return [
                DataProtoFuture(
                    collect_fn=self.collect_fn,
                    futures=self.futures,
                    dispatch_fn=partial(_cut, check=self.dispatch_fn, at=at, chunks=chunks),
                )
                for at in range(chunks)
            ]

        def get(self) -> Any:
            """Wait for the parts, join them as verl does, and check the whole; metas are joined, too."""
            parts = ray.get(self.futures)
            whole = None if all(part is None for part in parts) else BatchData(parts).concat()
            return self.dispatch_fn(whole)

    return CheckedFuture


def _cut(whole: Any, *, check: Collected, at: int, chunks: int) -> Any:
    from verl.protocol import BatchData

    return BatchData(check(whole)).chunk(chunks)[at]
