"""A batch that notes which names are looked at, for the length of a call; it stays the object that it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.carriers import Carrier, carrier_of
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import Index
from batchpact.dataproto.withheld import HandedDict, HandedTensorDict, Withheld
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Stores

_STORES = ("batch", "non_tensor_batch", "meta_info")


class Looks(Withheld):
    """Notes the names that somebody looks for, whether they are there or not, until it is closed."""

    __slots__ = ("names", "open")

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.open = True

    @property
    def records(self) -> bool:
        """Names that are there are looked for, too."""
        return True

    def look(self, name: object) -> object:
        """Note a name."""
        if self.open and isinstance(name, str):
            self.names[name] = None
        return None


class Loan:
    """A batch that is lent to a function.

    Args:
        batch: the batch.

    Attributes:
        batch: the batch.
        looks: the names that were looked at.
        before: what it held.
    """

    def __init__(self, batch: Any) -> None:
        self.batch, self.looks, self.before = batch, Looks(), held_by(batch)
        if isinstance(batch, TensorDictBase):
            # One that was derived from a lent one, and kept, is an ordinary one by now.
            if type(batch) is TensorDict or isinstance(getattr(batch, "_withheld", None), Looks):
                batch.__class__ = HandedTensorDict
                batch._withheld = self.looks
            return
        carrier = _carrier(batch)
        handed = carrier.hand_out(batch, HandOut(None, None, None, {}, list(self.before.columns), self.looks))
        # Ours makes its stores when somebody first looks at them.
        _ = handed.batch, handed.non_tensor_batch, handed.meta_info
        carrier.start_rows(handed, len(batch))
        self._kept, self._lent = dict(vars(batch)), dict(vars(handed))
        _become(batch, self._lent)

    def end(self) -> Stores:
        """The batch is an ordinary one again, with what it holds now, and in the stores that it had."""
        self.looks.open = False
        batch, after = self.batch, held_by(self.batch)
        if isinstance(batch, TensorDictBase):
            unlend(batch)
            return after
        now = dict(vars(batch))
        changed = {
            name: value for name, value in now.items() if name not in self._lent or self._lent[name] is not value
        }
        _become(batch, {**self._kept, **changed, **{name: self._kept[name] for name in _STORES}})
        batch.batch = _settled(batch.batch, now["batch"], after.tensors)
        _settle(batch.non_tensor_batch, after.columns)
        _settle(batch.meta_info, after.meta)
        _forget_origin(batch)
        return after


def held_by(batch: Any) -> Stores:
    """What a batch holds at this moment; nothing where there is no batch."""
    if carrier_of(batch) is None:
        return Stores({}, {}, {})
    stores = _carrier(batch).stores(batch)
    return Stores(dict(stores.tensors), dict(stores.columns), dict(stores.meta))


def origin_of(batch: Any) -> Index | None:
    """The row of the lent batch that each row came from, where the container knows it."""
    return _carrier(batch).origin(batch)


def _carrier(batch: Any) -> Carrier:
    found = carrier_of(batch)
    if found is None:
        raise TypeError(f"{describe(batch)} is no batch")
    return found


def unlend(batch: Any) -> None:
    """Make an ordinary batch of one that was lent, or was derived from one that was."""
    if isinstance(batch, HandedTensorDict):
        batch._withheld = None
        batch.__class__ = TensorDict
    elif not isinstance(batch, TensorDictBase) and isinstance(batch.meta_info, HandedDict):
        made = _carrier(batch).make(batch, held_by(batch), len(batch))
        for name in _STORES:
            setattr(batch, name, getattr(made, name))
        vars(batch).pop("_handed", None)
        _forget_origin(batch)


def _forget_origin(batch: Any) -> None:
    """Outside a call, ours does not know which row came from where."""
    if isinstance(batch, DataProto):
        batch._marks = batch._marks._replace(origin=None)


def _become(batch: Any, state: Mapping[str, Any]) -> None:
    """Give a batch the state of another."""
    state = dict(state)
    vars(batch).clear()
    vars(batch).update(state)


def _settle(store: dict[str, Any], held: Mapping[str, Any]) -> None:
    """Whoever has the store sees what was written."""
    if store.keys() != held.keys() or any(store[key] is not value for key, value in held.items()):
        store.clear()
        store.update(held)


def _settled(store: TensorDict | None, now: TensorDict | None, held: Mapping[str, Any]) -> TensorDict | None:
    """The same for a store of tensors; where it has other rows, or is another one, it is a new one."""
    if now is None or store is None or store.batch_size != now.batch_size:
        return None if now is None else TensorDict(dict(held), batch_size=now.batch_size, device=now.device)
    for key in [key for key in store.keys() if key not in held]:
        del store[key]
    for key, value in held.items():
        if store.get(key, None) is not value:
            store.set(key, value)
    return store
