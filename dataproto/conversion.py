"""From and to other containers, without a copy of any tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from typing_extensions import Self

from batchpact.dataproto import build
from batchpact.dataproto.core import Batch
from batchpact.dataproto.entries import check_names, from_entries, tensordict_of
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import items, store
from batchpact.schemas.describe import describe
from batchpact.schemas.equality import difference
from batchpact.schemas.violations import Violation

_STORES = ("batch", "non_tensor_batch", "meta_info")


class Conversions(Batch):
    """`TensorDict`, verl's newer protocol, and verl's own `DataProto`.

    Other containers have no place for what a batch carries unseen: writers, pad marks and a bound schema stay behind.
    """

    @classmethod
    def from_tensordict(
        cls, tensor_dict: TensorDictBase, meta_info: Mapping[str, Any] | None = None, num_batch_dims: int = 1
    ) -> Self:
        """Make a batch of a `TensorDict`, which is left as it is.

        Args:
            tensor_dict: tensors are tensors, a `NonTensorStack` is a column, `NonTensorData` is meta.
            meta_info: further meta by name.
            num_batch_dims: 1; further batch axes of the `TensorDict` are axes of the tensors.

        Raises:
            BatchError: if this is no `TensorDict`, the tensors do not share these axes, or a name has two values.
        """
        if not isinstance(tensor_dict, TensorDictBase):
            expected = "a TensorDict; from_dict makes a batch of dicts"
            raise refuse("from_tensordict", "BP045", "tensor_dict", describe(tensor_dict), expected)
        stores = from_entries(tensor_dict)
        given = dict(meta_info or {})
        clashes = {key: difference(given[key], stores.meta[key]) for key in given if key in stores.meta}
        wrong = [
            Violation(
                code="BP041",
                field=key,
                placement="meta",
                actual=f"meta_info and the TensorDict differ: {where}",
                expected="one value for the batch",
            )
            for key, where in clashes.items()
            if where is not None
        ]
        if wrong:
            raise refuse_all("from_tensordict", wrong)
        columns = build.columns_of(stores)
        batch, _ = build.from_dicts(stores.tensors, {}, num_batch_dims, "from_tensordict")
        size = tensor_dict.batch_size[:1]
        if batch is None and not columns and size:
            batch = store({}, size)
        elif batch is not None and tensor_dict.device is not None:
            batch = store(items(batch), batch.batch_size, tensor_dict.device)
        return cls(batch, columns, {**given, **stores.meta})

    def to_tensordict(self) -> TensorDict:
        """The batch as one `TensorDict`, from which `from_tensordict` makes an equal batch.

        Columns are `NonTensorStack`s, whatever their cells are; each meta value is `NonTensorData`, whatever its kind.

        Raises:
            BatchError: if a name is no string: a `TensorDict` has no others.
        """
        self.check_consistency()
        stores = self.stores()
        check_names("to_tensordict", stores)
        size = self.batch.batch_size if self.batch is not None and stores.tensors else torch.Size([len(self)])
        device = None if self.batch is None else self.batch.device
        return tensordict_of(stores, size, device)

    @classmethod
    def from_verl(cls, data: Any) -> Self:
        """Make a batch of verl's own `DataProto`, or of anything with its three stores; it is left as it is.

        Raises:
            BatchError: if this has no such stores, or what they hold makes no batch.
        """
        if not all(hasattr(data, name) for name in _STORES):
            expected = "verl's DataProto, with batch, non_tensor_batch and meta_info"
            raise refuse("from_verl", "BP045", "data", describe(data), expected)
        held = data.batch
        batch = held if not isinstance(held, TensorDictBase) else store(items(held), held.batch_size, held.device)
        return cls(batch, dict(data.non_tensor_batch or {}), dict(data.meta_info or {}))

    def to_verl(self) -> Any:
        """The batch as verl's own `DataProto`, with mappings of its own; verl has to be installed."""
        from verl import DataProto as VerlDataProto

        self.check_consistency()
        held = self.batch
        batch = None if held is None else store(items(held), held.batch_size[:1], held.device)
        return VerlDataProto(batch=batch, non_tensor_batch=dict(self.non_tensor_batch), meta_info=dict(self.meta_info))
