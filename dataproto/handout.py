"""What a stage is handed: the declared part of a batch, built store by store when somebody first looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.tensors import items, store
from batchpact.dataproto.withheld import HandedDict, HandedTensorDict, Withheld
from batchpact.schemas.stores import read_only


class HandOut(NamedTuple):
    """The terms on which a batch is handed out.

    Attributes:
        tensors: the keys of the declared tensors, or None for all (`extra="allow"`, `project="record"` and `"off"`).
        columns: the keys of the declared columns, or None for all.
        meta: the keys of the declared meta fields, or None for all.
        extra_meta: arguments and defaults that stand in the handed-out meta for the length of the call.
        writable: columns that the stage may write into; all others are handed out read-only.
        withheld: the names that were not handed out; None where nothing is (`project="off"`).
    """

    tensors: Collection[str] | None
    columns: Collection[str] | None
    meta: Collection[str] | None
    extra_meta: Mapping[str, object]
    writable: Collection[str]
    withheld: Withheld | None


def hand_tensors(batch: TensorDictBase | None, terms: HandOut) -> TensorDict | None:
    """The declared tensors in a `TensorDict` of their own."""
    if batch is None:
        return None
    held = items(batch)
    chosen = held if terms.tensors is None else {key: held[key] for key in terms.tensors if key in held}
    if terms.withheld is None:
        return store(chosen, batch.batch_size, batch.device)
    return HandedTensorDict.hand(chosen, batch.batch_size, batch.device, terms.withheld)


def hand_columns(columns: Mapping[str, np.ndarray], terms: HandOut) -> dict[str, np.ndarray]:
    """The declared columns; a write into one that the stage only reads is refused by numpy."""
    keys = columns if terms.columns is None else [key for key in terms.columns if key in columns]
    chosen = {key: columns[key] if key in terms.writable else read_only(columns[key]) for key in keys}
    return chosen if terms.withheld is None else HandedDict(chosen, terms.withheld)


def hand_meta(meta: Mapping[str, object], terms: HandOut) -> dict[str, object]:
    """The declared meta fields, with the arguments and defaults of the call."""
    keys = meta if terms.meta is None else [key for key in terms.meta if key in meta]
    chosen = {**{key: meta[key] for key in keys}, **terms.extra_meta}
    return chosen if terms.withheld is None else HandedDict(chosen, terms.withheld)
