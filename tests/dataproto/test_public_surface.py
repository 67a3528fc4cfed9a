"""What `batchpact.dataproto` exports: sorted, complete, and with what verl users look for."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from batchpact import dataproto
from batchpact.dataproto import DataProto

ROOT = Path(__file__).parents[2]


def order(name: str) -> tuple[bool, bool, str]:
    """Constants, classes, functions."""
    return not name.isupper(), not name[0].isupper(), name


def test_all_is_sorted() -> None:
    assert dataproto.__all__ == sorted(set(dataproto.__all__), key=order)


def test_all_lists_what_the_module_imports_and_nothing_else() -> None:
    tree = ast.parse((ROOT / "dataproto" / "__init__.py").read_text(encoding="utf-8"))
    imported = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]

    assert sorted(imported) == sorted(dataproto.__all__)
    assert all(hasattr(dataproto, name) for name in dataproto.__all__)


SIGNATURES = {
    "from_dict": "(tensors=None, non_tensors=None, meta_info=None, num_batch_dims=1, auto_padding=False)",
    "from_single_dict": "(data, meta_info=None, auto_padding=False, *, schema=None)",
    "from_tensordict": "(tensor_dict, meta_info=None, num_batch_dims=1)",
    "to_tensordict": "(self)",
    "from_verl": "(data)",
    "to_verl": "(self)",
    "select": "(self, batch_keys=None, non_tensor_batch_keys=None, meta_info_keys=None, deepcopy=False)",
    "select_idxs": "(self, idxs)",
    "slice": "(self, start=None, end=None, step=None)",
    "pop": "(self, batch_keys=None, non_tensor_batch_keys=None, meta_info_keys=None)",
    "rename": "(self, old_keys, new_keys)",
    "union": "(self, other, *, on_conflict='error', realign=False)",
    "concat": "(data, *, pad=False)",
    "chunk": "(self, chunks, *, uneven=False)",
    "split": "(self, split_size)",
    "repeat": "(self, repeat_times=2, interleave=True)",
    "sample_level_repeat": "(self, repeat_times)",
    "unfold_column_chunks": "(self, n_split, split_keys=None)",
    "reorder": "(self, indices)",
    "padding": "(self, padding_size, padding_candidate='')",
    "is_padding_enabled": "(self)",
    "make_iterator": "(self, mini_batch_size, epochs, seed=None, dataloader_kwargs=None)",
    "to": "(self, device)",
    "save_to_disk": "(self, filepath, *, allow_pickle=False)",
    "load_from_disk": "(filepath, *, fields=None, rows=None, schema=None, allow_pickle=False)",
    "print_size": "(self, prefix='')",
    "get_data_info": "(self)",
    "check_consistency": "(self)",
}

FUNCTIONS = {
    "DataProtoFuture": "(collect_fn, futures, dispatch_fn=None)",
    "all_gather_data_proto": "(data, process_group)",
    "collate_fn": "(x, *, schema=None)",
    "deserialize_single_tensor": "(arr)",
    "deserialize_tensordict": "(arr)",
    "fold_batch_dim": "(data, new_batch_size)",
    "pad_dataproto_to_divisor": "(data, size_divisor)",
    "serialize_single_tensor": "(obj)",
    "serialize_tensordict": "(batch)",
    "unfold_batch_dim": "(data, batch_dims=2)",
    "union_numpy_dict": "(tensor_dict1, tensor_dict2)",
    "union_tensor_dict": "(tensor_dict1, tensor_dict2)",
    "unpad_dataproto": "(data, pad_size)",
}


def signature(function: Any) -> str:
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]
    return str(inspect.Signature(bare))


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_method_has_verls_arguments(name: str) -> None:
    assert signature(getattr(DataProto, name)) == SIGNATURES[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_verls_arguments(name: str) -> None:
    assert signature(getattr(dataproto, name)) == FUNCTIONS[name]


@pytest.mark.peers
def test_verl_has_the_same_arguments() -> None:
    protocol = pytest.importorskip("verl.protocol")
    ours = {**SIGNATURES, **FUNCTIONS}
    for name, text in ours.items():
        theirs = getattr(protocol.DataProto, name, None) or getattr(protocol, name, None)
        if theirs is not None and name not in ("rename", "from_tensordict"):  # their needed arguments have defaults
            without_keywords = re.sub(r", \*, .*\)", ")", text)
            assert without_keywords == signature(theirs), name
