"""Targets: `module:name` or `path.py:name`, and what is said about wrong ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from batchpact.contracts.targets import load
from batchpact.schemas import DeclarationError, SettingError
from tests.contracts.projects import project as project
from tests.contracts.stages import refusal

pytestmark = pytest.mark.usefixtures("project")


def names(target: str) -> Iterator[str]:
    return (pipeline.name for pipeline in load(target))


@pytest.mark.parametrize(
    "target",
    [
        "healthy_plan.py:small",
        "healthy_plan:small",
        "healthy_plan:same",
        "./healthy_plan.py:small",
        "trainer_pkg/shared.py:small",
        "trainer_pkg.shared:small",
        "trainer_pkg/steps/__init__.py:small",
        "trainer_pkg.steps:small",
        "trainer_pkg/steps/plan.py:relative",
    ],
)
def test_a_pipeline_by_its_name(target: str) -> None:
    assert list(names(target)) == ["small"]


@pytest.mark.parametrize("target", ["broken_plan.py", "broken_plan"])
def test_all_pipelines_of_a_module_each_once(target: str) -> None:
    """`same` is another name for `small`."""
    assert list(names(target)) == ["small", "broken"]


def test_an_absolute_path(project: Path) -> None:
    assert list(names(f"{project / 'healthy_plan.py'}:small")) == ["small"]


def test_a_name_inside_something() -> None:
    Path("nested_plan.py").write_text("from healthy_plan import small\nclass Plans:\n    daily = small\n")

    assert list(names("nested_plan.py:Plans.daily")) == ["small"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("nowhere.py:small", "there is no file nowhere.py; a path from here, or module:name"),
        ("nowhere:small", "there is no module nowhere; an importable module, or path.py:name"),
        ("nowhere.plan:small", "there is no module nowhere; an importable module, or path.py:name"),
        ("trainer_pkg.nowhere", "there is no module trainer_pkg.nowhere; an importable module, or path.py:name"),
        (":small", "'' is no module; module:name or path.py:name"),
        ("../plan:small", "'../plan' is no module; module:name or path.py:name"),
        ("healthy_plan:smal", "healthy_plan has no 'smal'; closest name: 'small'"),
        ("healthy_plan.py:nothing_like_it", "healthy_plan.py has no 'nothing_like_it'"),
        ("healthy_plan.py:Start", "Start is a class; a Pipeline can be checked"),
        ("empty_plan:numbers", "numbers is a list; a Pipeline can be checked"),
        ("empty_plan.py", "empty_plan.py holds no pipeline; name a module that makes one"),
    ],
)
def test_a_wrong_target_is_refused_with_what_it_could_be(target: str, text: str) -> None:
    assert refusal(lambda: load(target), SettingError) == (
        f"1 problem in the target {target}\n\n  BP052 setting  target  {text}"
    )


def test_a_file_whose_name_is_taken_is_not_mistaken_for_the_other_module() -> None:
    Path("json.py").write_text("")

    assert refusal(lambda: load("json.py:small"), SettingError) == (
        "1 problem in the target json.py:small\n\n"
        f"  BP052 setting  target  json is another module here, {json.__file__}; a name of its own"
    )


def test_two_files_of_one_name_are_told_apart(project: Path) -> None:
    load("healthy_plan.py")

    assert refusal(lambda: load("other/healthy_plan.py"), SettingError) == (
        "1 problem in the target other/healthy_plan.py\n\n"
        f"  BP052 setting  target  healthy_plan is another module here, {project / 'healthy_plan.py'}; "
        "a name of its own"
    )


def test_a_module_that_a_target_imports_in_vain_is_its_own_error() -> None:
    """It is not the target that is missing."""
    Path("importing_plan.py").write_text("import a_module_that_is_not_there\n")

    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        load("importing_plan")


def test_a_declaration_that_does_not_hold_stops_the_import() -> None:
    assert refusal(lambda: load("misdeclared_plan.py"), DeclarationError) == (
        "1 problem in the declaration of Start\n\n"
        "  BP051 declared  scores  float says no placement; write Meta[float], NonTensor[float] or Arg[float]"
    )
