"""Going through a batch in mini-batches, in the order that torch's `DataLoader` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader

from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.splitting import check_count
from batchpact.schemas.describe import describe
from batchpact.schemas.text import count, quoted

B = TypeVar("B")

_OURS = ("batch_size", "collate_fn", "dataset", "generator")


def mini_batches(
    operation: str,
    length: int,
    take: Callable[[list[int]], B],
    mini_batch_size: int,
    epochs: int,
    seed: int | None,
    dataloader_kwargs: Mapping[str, Any] | None,
) -> Iterator[B]:
    """The mini-batches of some epochs; everything is checked before the first one is asked for.

    Args:
        operation: the name of the operation, for errors.
        length: how many rows there are.
        take: makes a batch of some of the rows; it can be pickled, as worker processes are sent it.
        mini_batch_size: the rows of each mini-batch.
        epochs: how many times all rows are gone through.
        seed: seeds the order, where the options ask for a random one.
        dataloader_kwargs: options of torch's `DataLoader`.
    """
    check_count(operation, "mini_batch_size", mini_batch_size)
    check_count(operation, "epochs", epochs, least=0)
    if length % mini_batch_size:
        actual = f"{count(length, 'row')} in mini-batches of {mini_batch_size}"
        hint = f"{length % mini_batch_size} would be left over; pad rows fill the last one"
        raise refuse(operation, "BP043", "mini_batch_size", actual, "mini-batches of equal size", hint)
    options = {} if dataloader_kwargs is None else dataloader_kwargs
    if not isinstance(options, Mapping):
        raise refuse(operation, "BP045", "dataloader_kwargs", describe(options), "a dict of DataLoader's options")
    taken = [key for key in _OURS if key in options]
    if taken:
        raise refuse(operation, "BP045", "dataloader_kwargs", quoted(taken), "make_iterator sets these itself")
    if not length:
        return iter(())
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    loader: DataLoader[Any] = DataLoader(
        range(length),  # type: ignore[arg-type]  # any sequence is a dataset
        batch_size=int(mini_batch_size),
        collate_fn=take,
        generator=generator,
        **options,
    )
    return (part for _ in range(epochs) for part in loader)
