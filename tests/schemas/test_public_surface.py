"""What `batchpact.schemas` exports: sorted, complete, and with words for each module."""

import ast
import importlib
from pathlib import Path

import pytest

from batchpact import schemas
from batchpact.schemas import errors, markers, record, violations
from batchpact.schemas.record import Record

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "schemas").rglob("*.py"))


def order(name: str) -> tuple[bool, bool, str]:
    """Constants, classes, functions."""
    return not name.isupper(), not name[0].isupper(), name


def test_all_is_sorted() -> None:
    assert schemas.__all__ == sorted(set(schemas.__all__), key=order)


def test_all_lists_what_the_module_imports_and_nothing_else() -> None:
    tree = ast.parse((ROOT / "schemas" / "__init__.py").read_text(encoding="utf-8"))
    imported = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]

    assert sorted(imported) == sorted(schemas.__all__)
    assert all(hasattr(schemas, name) for name in schemas.__all__)


def test_every_marker_error_and_record_is_exported() -> None:
    def classes(module: object, base: type) -> set[str]:
        found = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base))
        return {cls.__name__ for cls in found if cls.__module__ == module.__name__}  # type: ignore[attr-defined]

    needed = {marker.__name__ for marker in markers.MARKERS} | {"Meta", "Arg", "NonTensor"}
    needed |= classes(errors, errors.ContractError)
    needed |= classes(record, Record) - {"Record"}
    needed |= classes(violations, Record)

    assert needed - set(schemas.__all__) == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_about(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    module = importlib.import_module(f"batchpact.{name}".removesuffix(".__init__"))

    assert (module.__doc__ or "").partition("\n")[0].endswith((".", ":")), "one sentence in the first line"


@pytest.mark.parametrize("path", [path for path in MODULES if path.stem != "__init__"], ids=lambda path: path.stem)
def test_every_module_has_tests_of_its_own(path: Path) -> None:
    folder = ROOT / "tests" / path.relative_to(ROOT).parent

    assert list(folder.glob(f"test_{path.stem}*.py"))
