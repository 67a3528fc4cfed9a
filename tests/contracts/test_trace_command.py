"""`batchpact trace`: a script is run, and its loop becomes the draft of a pipeline."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from tests.contracts.inferring.drafts import run

SCRIPT = """
import sys

import torch

from batchpact.dataproto import DataProto


def score(data):
    factor = float(sys.argv[1])
    return DataProto.from_dict({"scores": data.batch["values"] * factor})


def main():
    data = DataProto.from_dict({"values": torch.rand(2, 3)})
    data.union(score(data))
    print(data.batch["scores"].shape)


if __name__ == "__main__":
    main()
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("script.py").write_text(SCRIPT)


def trace(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of `batchpact trace`."""
    result = CliRunner().invoke(app, ["trace", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_the_source_follows_what_the_script_prints() -> None:
    before = list(sys.argv)
    code, output = trace("--name", "scoring", "script.py", "2.0", "--name", "of the script")

    assert code == 0
    assert output.startswith("torch.Size([2, 3])\nfrom batchpact.contracts import Pipeline\n")
    pipeline = run(output.partition("\n")[2]).scoring
    assert [stage.name for stage in pipeline.spec.stages] == ["score"]
    assert pipeline.check().findings == ()
    assert sys.argv == before


def test_the_source_is_written_to_a_file() -> None:
    assert trace("--output", "drafted.py", "script.py", "2.0") == (0, "torch.Size([2, 3])\n")
    assert "class Score(StageSchema):" in Path("drafted.py").read_text()


def test_the_configuration_of_the_run_names_what_fills_an_argument() -> None:
    Path("config.yaml").write_text("algorithm:\n  factor: 0.5\n")
    Path("script.py").write_text(
        "import torch\nfrom batchpact.dataproto import DataProto\n"
        "def scaled(values, factor):\n    return values * factor\n"
        'data = DataProto.from_dict({"values": torch.rand(2)})\n'
        'data.batch["scores"] = scaled(data.batch["values"], factor=0.5)\n'
    )

    assert (
        'factor: Annotated[Arg[float], From("algorithm.factor")]\n' in trace("--config", "config.yaml", "script.py")[1]
    )


def test_a_module_is_watched_instead() -> None:
    code, output = trace("--watch", "json:dumps", "script.py", "2.0")

    assert (code, output) == (
        2,
        "torch.Size([2, 3])\n"
        "1 problem where a trace is written down\n\n"
        "  BP036 call  calls  none was seen; a function that is called with a batch, and is no package's own\n",
    )


def test_what_cannot_be_used_exits_with_2() -> None:
    assert trace("nowhere.py") == (
        2,
        "1 problem in the target nowhere.py\n\n  BP052 setting  target  there is no file nowhere.py; a Python script\n",
    )
    assert trace("--config", "nowhere.yaml", "script.py", "2.0")[0] == 2
    assert trace("--watch", "nowhere_module", "script.py", "2.0")[0] == 2


@pytest.mark.parametrize("options", [("--name", "class"), ("--output", "nowhere/drafted.py")])
def test_what_cannot_be_written_is_refused_before_the_script_runs(options: tuple[str, str]) -> None:
    code, output = trace(*options, "script.py", "2.0")

    assert code == 2
    assert "torch.Size" not in output


def test_ctrl_c_ends_the_script_and_not_the_trace() -> None:
    Path("script.py").write_text(SCRIPT + "\n    raise KeyboardInterrupt\n")
    code, output = trace("script.py", "2.0")

    assert code == 0
    assert "interrupted: the draft is of what was seen until here" in output
    assert "class Score(StageSchema):" in output


def test_a_script_that_ends_itself() -> None:
    Path("script.py").write_text(SCRIPT + "\n    sys.exit(3)\n")

    assert trace("script.py", "2.0") == (3, "torch.Size([2, 3])\n")

    Path("script.py").write_text(SCRIPT + "\n    sys.exit()\n")

    assert trace("script.py", "2.0")[0] == 0


def test_an_error_of_the_script_is_its_own() -> None:
    with pytest.raises(IndexError):
        trace("script.py")
