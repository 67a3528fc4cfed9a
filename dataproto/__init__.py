"""The container and everything that moves it.

Start at `container.py` (`DataProto`) and `core.py`, which it is built on. Rows are chosen by one index plan (`rows.py`,
`splitting.py`) and taken from tensors of every layout in `tensors.py` and `nested.py`; `union.py` and `concat.py` join
batches, by the policies of a bound schema with `carried.py`, `filling.py` and `alignment.py`, and with `merging.py`,
`lengthening.py` and `equality.py` of the floor below. `handout.py` and `withheld.py` make what a stage is handed.
`carriers/` lets contracts work on other containers: `TensorDict`, and verl's own `DataProto`; `entries.py` and
`conversion.py` turn batches into these and back. Beside the methods there are verl's functions: `padding.py`,
`folding.py`, `collate.py` and `dict_unions.py`; `tensordicts/` has those that work on a plain `TensorDict`, and
`gathering.py`, `futures.py` and `serialization.py` those between processes.
`facts.py` says what there is to show of a batch, and `display.py` prints it. `wire/` pickles
batches, and `files/` saves them.
"""

from batchpact.dataproto.auto_padding import DataProtoConfig
from batchpact.dataproto.collate import collate_fn
from batchpact.dataproto.columns import column
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.dict_unions import union_numpy_dict, union_tensor_dict
from batchpact.dataproto.folding import fold_batch_dim, unfold_batch_dim
from batchpact.dataproto.futures import DataProtoFuture
from batchpact.dataproto.gathering import all_gather_data_proto
from batchpact.dataproto.padding import pad_dataproto_to_divisor, unpad_dataproto
from batchpact.dataproto.row_operations import DataProtoItem
from batchpact.dataproto.serialization import (
    deserialize_single_tensor,
    deserialize_tensordict,
    serialize_single_tensor,
    serialize_tensordict,
)
from batchpact.dataproto.size_report import size_report
from batchpact.dataproto.wire.transport import transport
from batchpact.dataproto.wire.unpicklable import unpicklable
from batchpact.schemas.equality import difference, equal

__all__ = [
    "DataProto",
    "DataProtoConfig",
    "DataProtoFuture",
    "DataProtoItem",
    "all_gather_data_proto",
    "collate_fn",
    "column",
    "deserialize_single_tensor",
    "deserialize_tensordict",
    "difference",
    "equal",
    "fold_batch_dim",
    "pad_dataproto_to_divisor",
    "serialize_single_tensor",
    "serialize_tensordict",
    "size_report",
    "transport",
    "unfold_batch_dim",
    "union_numpy_dict",
    "union_tensor_dict",
    "unpad_dataproto",
    "unpicklable",
]
