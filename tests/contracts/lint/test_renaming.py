"""What a local variable is called changes no finding."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.lint.support import found
from tests.contracts.lint.test_healthy import IDIOMS

law = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

FAULTY = {
    "reads and writes": """
        @stage(Each)
        def compute(data, scale):
            stores = [data.batch, data.meta_info]
            for store, key in zip(stores, ["scores", "gama"]):
                value = store[key]
            part, *others = data.chunk(2)
            with torch.no_grad() as context:
                result = {name: part.batch[name] for name in ("score", "values")}
            if (found := others[0].non_tensor_batch.get("label")) is not None:
                part.batch["total"], part.meta_info["extra"] = result["score"], found
            return part, {}
    """,
    "functions inside": """
        @stage(One)
        def compute(data):
            wanted = ["z"]
            def inner(batch, key="w"):
                nonlocal wanted
                wanted = wanted + [key]
                try:
                    made = take(batch.batch, wanted[0])
                except KeyError as error:
                    made = (lambda other: other.meta_info[key])(batch)
                return made
            return DataProto.from_dict(dict(y=inner(data), v=1))

        def take(td, name):
            match td:
                case whole:
                    return [td[each] for each in [name]]
    """,
}
SOURCES = {name: dedent(source).strip() for name, source in {**FAULTY, **IDIOMS}.items()}


class Renaming(ast.NodeTransformer):
    """Gives each local variable a new name of the same length, so that columns stay what they are."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        return ast.Nonlocal([self.names.get(name, name) for name in node.names])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        self.generic_visit(node)
        node.name = self.names.get(node.name or "", node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.MatchAs:
        self.generic_visit(node)
        node.name = self.names.get(node.name or "", node.name)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.names.get(node.arg, node.arg), node.annotation)


def local_names(tree: ast.Module) -> list[str]:
    """The names that functions assign, and the parameters that are not passed by their names."""
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    top = {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
           if isinstance(target, ast.Name)}  # fmt: skip
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls", "scale"):
            found.add(node.arg)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs)) and node.name is not None:
            found.add(node.name)
    return sorted(found - keywords - top - {"KEY", "KEYS", "keys"})


def _new_names(names: list[str]) -> dict[str, str]:
    """A name of the same length for each: capital letters that count, and are padded."""
    found: dict[str, str] = {}
    for at, name in enumerate(names):
        letters = chr(ord("A") + at % 26) if len(name) == 1 else f"{chr(ord('A') + at // 26)}{chr(ord('A') + at % 26)}"
        found[name] = letters.ljust(len(name), "Q")
    return found


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_the_name_of_a_local_variable_means_nothing(source: str) -> None:
    tree = ast.parse(source)
    names = local_names(tree)
    before = ast.unparse(tree)
    with tempfile.TemporaryDirectory() as folder:
        expected = found(before, Path(folder), undecidable=True)

    @law
    @given(st.permutations(names))
    def holds(order: list[str]) -> None:
        after = ast.unparse(Renaming(_new_names(order)).visit(ast.parse(source)))
        with tempfile.TemporaryDirectory() as folder:
            assert found(after, Path(folder), undecidable=True) == expected

    holds()


def test_the_faulty_sources_have_findings(tmp_path: Path) -> None:
    assert [len(found(source, tmp_path)) for source in FAULTY.values()] == [11, 5]
