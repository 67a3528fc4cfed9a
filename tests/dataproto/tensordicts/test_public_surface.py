"""The names that verl's `tensordict_utils` has, with its arguments: one module can stand where the other stood."""

from __future__ import annotations

import inspect

import pytest

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.test_public_surface import signature

SIGNATURES = {
    "assert_tensordict_eq": "(tensordict1, tensordict2)",
    "assign_non_tensor": "(tensor_dict, **kwargs)",
    "assign_non_tensor_data": "(tensor_dict, key, val)",
    "assign_non_tensor_stack": "(tensor_dict, key, val)",
    "chunk_tensordict": "(td, chunks)",
    "concat_nested_tensors": "(tensors)",
    "concat_tensordict": "(data)",
    "concat_tensordict_with_none_bsz": "(data)",
    "contiguous": "(data)",
    "get": "(tensordict, key, default=None)",
    "get_keys": "(tensordict, keys)",
    "get_non_tensor_data": "(data, key, default)",
    "get_tensordict": "(tensor_dict, non_tensor_dict=None)",
    "index_select_tensor_dict": "(batch, indices)",
    "list_of_dict_to_tensordict": "(list_of_dicts)",
    "make_iterator": "(tensordict, mini_batch_size, epochs, seed=None, dataloader_kwargs=None)",
    "maybe_fix_3d_position_ids": "(data)",
    "nested_tensor_from_tensor_list": "(tensors, ragged_idx=None)",
    "pad_to_divisor": "(data, size_divisor)",
    "pop": "(tensordict, key, default=None)",
    "pop_keys": "(tensordict, keys)",
    "union_tensor_dict": "(tensor_dict1, tensor_dict2)",
    "unpad": "(data, pad_size)",
    "unwrap_non_tensor_data": "(data)",
}


def test_all_lists_every_function_sorted() -> None:
    assert tu.__all__ == sorted(SIGNATURES)


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_has_verls_arguments_and_is_described(name: str) -> None:
    function = getattr(tu, name)

    assert signature(function) == SIGNATURES[name]
    assert inspect.getdoc(function)


@pytest.mark.peers
def test_verl_has_these_functions_with_these_arguments_and_no_others() -> None:
    theirs = pytest.importorskip("verl.utils.tensordict_utils")
    functions = {
        name: signature(function)
        for name, function in inspect.getmembers(theirs, inspect.isfunction)
        if function.__module__ == theirs.__name__
    }

    assert functions == SIGNATURES
