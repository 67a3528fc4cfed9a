"""What `DataProto` does, on a plain `TensorDict`: verl's newer carrier, under the names of its `tensordict_utils`.

A column is a `NonTensorStack`, meta is `NonTensorData`. The functions stand on what `DataProto` stands on: `entries.py`
reads and makes a `TensorDict`, rows come from the one index plan, concat and union compare alike, and nested tensors of
every layout go through all of them. They refuse with a `BatchError` before anything is changed.

    from batchpact.dataproto import tensordicts as tu
"""

from batchpact.dataproto.dict_unions import union_tensor_dict
from batchpact.dataproto.tensordicts.access import get, get_keys, pop, pop_keys
from batchpact.dataproto.tensordicts.comparison import assert_tensordict_eq
from batchpact.dataproto.tensordicts.joining import concat_tensordict, concat_tensordict_with_none_bsz
from batchpact.dataproto.tensordicts.making import contiguous, get_tensordict, list_of_dict_to_tensordict
from batchpact.dataproto.tensordicts.nested_tensors import (
    concat_nested_tensors,
    maybe_fix_3d_position_ids,
    nested_tensor_from_tensor_list,
)
from batchpact.dataproto.tensordicts.non_tensors import (
    assign_non_tensor,
    assign_non_tensor_data,
    assign_non_tensor_stack,
    get_non_tensor_data,
    unwrap_non_tensor_data,
)
from batchpact.dataproto.tensordicts.selecting import (
    chunk_tensordict,
    index_select_tensor_dict,
    make_iterator,
    pad_to_divisor,
    unpad,
)

__all__ = [
    "assert_tensordict_eq",
    "assign_non_tensor",
    "assign_non_tensor_data",
    "assign_non_tensor_stack",
    "chunk_tensordict",
    "concat_nested_tensors",
    "concat_tensordict",
    "concat_tensordict_with_none_bsz",
    "contiguous",
    "get",
    "get_keys",
    "get_non_tensor_data",
    "get_tensordict",
    "index_select_tensor_dict",
    "list_of_dict_to_tensordict",
    "make_iterator",
    "maybe_fix_3d_position_ids",
    "nested_tensor_from_tensor_list",
    "pad_to_divisor",
    "pop",
    "pop_keys",
    "union_tensor_dict",
    "unpad",
    "unwrap_non_tensor_data",
]
