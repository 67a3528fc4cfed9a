"""Going through a batch in mini-batches, in the order that torch's `DataLoader` gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import torch
from torch.utils.data import DataLoader

from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.row_operations import RowOperations
from batchpact.dataproto.rows import plan_rows
from batchpact.dataproto.splitting import check_count
from batchpact.schemas.describe import describe
from batchpact.schemas.text import count, quoted

B = TypeVar("B", bound=RowOperations)

_OURS = ("batch_size", "collate_fn", "dataset", "generator")


class _Rows(Generic[B]):
    """The rows of a batch that the loader drew; a class, so that worker processes can be sent it."""

    def __init__(self, data: B) -> None:
        self._data = data

    def __call__(self, rows: list[int]) -> B:
        self._data.check_consistency()
        return self._data._take(plan_rows("make_iterator", rows, len(self._data)))


def mini_batches(
    data: B, mini_batch_size: int, epochs: int, seed: int | None, dataloader_kwargs: Mapping[str, Any] | None
) -> Iterator[B]:
    """The mini-batches of some epochs; everything is checked before the first one is asked for."""
    data.check_consistency()
    check_count("make_iterator", "mini_batch_size", mini_batch_size)
    check_count("make_iterator", "epochs", epochs, least=0)
    length = len(data)
    if length % mini_batch_size:
        actual = f"{count(length, 'row')} in mini-batches of {mini_batch_size}"
        hint = f"{length % mini_batch_size} would be left over; pad_dataproto_to_divisor fills the last one"
        raise refuse("make_iterator", "BP043", "mini_batch_size", actual, "mini-batches of equal size", hint)
    options = {} if dataloader_kwargs is None else dataloader_kwargs
    if not isinstance(options, Mapping):
        raise refuse("make_iterator", "BP045", "dataloader_kwargs", describe(options), "a dict of DataLoader's options")
    taken = [key for key in _OURS if key in options]
    if taken:
        expected = "make_iterator sets these itself"
        raise refuse("make_iterator", "BP045", "dataloader_kwargs", quoted(taken), expected)
    if not length:
        return iter(())
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    loader: DataLoader[Any] = DataLoader(
        range(length),  # type: ignore[arg-type]  # any sequence is a dataset
        batch_size=int(mini_batch_size),
        collate_fn=_Rows(data),
        generator=generator,
        **options,
    )
    return (part for _ in range(epochs) for part in loader)
