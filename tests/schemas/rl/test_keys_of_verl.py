"""The vocabulary against verl's code: each key that its trainers look up in a batch is a field, or has a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from batchpact.schemas.rl import fields
from batchpact.schemas.rl.fields import jagged, tags

from .specs import spec
from .test_fields import declared

pytestmark = pytest.mark.peers

LOOKED_UP_IN = {"batch", "non_tensor_batch", "meta_info", "tag", "tags", "prompt", "extra_fields", "field"}
FILES = (
    "trainer/ppo/*.py",
    "trainer/ppo/v1/*.py",
    "experimental/agent_loop/agent_loop.py",
    "experimental/reward_loop/*.py",
    "experimental/reward_loop/reward_manager/*.py",
    "workers/engine_workers.py",
    "workers/utils/*.py",
    "utils/debug/metrics.py",
)
NO_FIELD = {
    "prompt_length": "figures of one call, in a batch that compute_data_metrics is given",
    "response_length": "the same",
    "multi_modal_data": "raw images, which are taken out before an output is put",
    "reward_extra_info": "a key inside extra_fields",
}


def looked_up(tree: ast.AST) -> Iterator[str]:
    """The literal keys by which code looks something up in what has the name of a part of a batch."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=held, slice=ast.Constant(value=str(key))):
                pass
            case ast.Call(
                func=ast.Attribute(value=held, attr="get" | "pop" | "setdefault"),
                args=[ast.Constant(value=str(key)), *_],
            ):
                pass
            case ast.Compare(left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()], comparators=[held]):
                pass
            case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Name(id="data"), *_], keywords=[*given]):
                found = next((word.value for word in given if word.arg == "key"), None)  # tu.get(data, key="...")
                if isinstance(found, ast.Constant) and isinstance(found.value, str):
                    yield found.value
                continue
            case _:
                continue
        if isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute):  # batch.keys()
            held = held.func.value
        name = held.attr if isinstance(held, ast.Attribute) else held.id if isinstance(held, ast.Name) else ""
        if name in LOOKED_UP_IN:
            yield key


def key_of(name: str, value: object) -> str:
    """The key of a field: its name in the vocabulary as an attribute has it, but where `Name` says another."""
    key = spec(value).key
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix("Whole")).lower() if key == "x" else key


def test_each_key_that_verl_looks_up_is_a_field() -> None:
    found = find_spec("verl")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    files = [file for pattern in FILES for file in sorted(root.glob(pattern))]
    keys = {key for file in files for key in looked_up(ast.parse(file.read_text()))}
    known = {key_of(name, value) for module in (fields, jagged, tags) for name, value in declared(module).items()}

    assert len(files) > 20, "they are there"
    assert {"__rollout_n__", "uid", "rm_scores", "is_padding", "no_lora_adapter"} <= keys, "and read"
    assert sorted(keys - known) == sorted(NO_FIELD)
