"""A fresh environment: the commands and the code of getting-started, and the wheel and the sdist with some tests.

What batchpact needs is lent by the environment that runs the tests, as torch alone takes minutes: pip finds it there,
holds it against what the wheel asks for and against constraints.txt, and fetches nothing. batchpact itself is the
installed one, and no file of the checkout can be imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ANY_BLOCK, BLOCK, COMMAND, LEFT_OUT, blocks
from tests.test_packaging import tree

pytest.importorskip("build")  # not in .venv-peers

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "getting-started.md"
SMOKE = (
    *("schemas/test_batch.py", "schemas/test_stage.py"),
    *("dataproto/test_union.py", "dataproto/files/test_operations.py"),
    *("contracts/test_decorator.py", "contracts/test_pipeline.py", "contracts/test_surface.py"),
)

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the tree, in which nothing was built."""
    folder = tmp_path / "checkout"
    for name in tree():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def lent() -> dict[str, str]:
    """The packages of this environment, for one that has none; pip looks nowhere else."""
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    # False is what switches the isolation off: pip takes the value for that of --build-isolation.
    settings = {"PYTHONPATH": os.pathsep.join(packages), "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false"}
    return {**{key: value for key, value in os.environ.items() if not key.startswith("PIP_")}, **settings}


def run(command: list[str] | str, folder: Path) -> str:
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=lent(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    return done.stdout


def installed_in(environment: Path, folder: Path) -> None:
    """Hold that an environment imports batchpact from itself."""
    code = "import batchpact.contracts as top, batchpact.schemas as ground; print(top.__file__, ground.__file__)"
    for path in run([str(environment / "bin" / "python"), "-c", code], folder).split():
        assert Path(path).is_relative_to(environment)


def test_getting_started_word_for_word(checkout: Path, tmp_path: Path) -> None:
    (console,) = [block["text"] for block in ANY_BLOCK.finditer(PAGE.read_text()) if block["fence"] == "console"]
    for command, shown in COMMAND.findall(console):
        printed = run(command.replace("python3", sys.executable), checkout)
        assert [part for part in LEFT_OUT.split(shown) if part not in printed] == []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script = elsewhere / "page.py"
    script.write_text("".join(block.lstrip("\n") for block in blocks(PAGE, BLOCK)))

    installed_in(checkout / ".venv", elsewhere)
    run([str(checkout / ".venv" / "bin" / "python"), str(script)], elsewhere)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_installs_and_passes_tests(kind: str, checkout: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", "dist", "."], checkout)
    (built,) = (checkout / "dist").iterdir()
    user, environment = tmp_path / "user", tmp_path / "environment"
    shutil.copytree(checkout / "tests", user / "tests")
    shutil.copy(checkout / "pyproject.toml", user)
    run([sys.executable, "-m", "venv", str(environment)], user)
    python = str(environment / "bin" / "python")
    run([python, "-m", "pip", "install", "--constraint", str(checkout / "constraints.txt"), str(built)], user)

    installed_in(environment, user)
    run([python, "-m", "pytest", "-q", *(f"tests/{name}" for name in SMOKE)], user)
