"""`batchpact infer`: saved batches become the source of a schema."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from batchpact.contracts import infer as inferred
from batchpact.contracts.cli import app
from batchpact.dataproto import DataProto
from tests.contracts.inferring.drafts import complaint, declared, schema_of
from tests.dataproto.files.samples import Trap, every_kind

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def infer(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of `batchpact infer`."""
    result = CliRunner().invoke(app, ["infer", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_several_files_are_several_batches() -> None:
    batches = [DataProto.from_dict({"x": torch.zeros(2, size)}, meta_info={"step": size}) for size in (3, 4)]
    for number, batch in enumerate(batches):
        batch.save_to_disk(f"{number}.batch")

    assert infer("0.batch", "1.batch", "--name", "Steps") == (0, inferred(*batches, name="Steps"))


def test_the_source_is_written_to_a_file() -> None:
    every_kind().save_to_disk("all.batch", allow_pickle=True)

    assert infer("all.batch", "--output", "drafted.py") == (0, "")
    schema = schema_of(Path("drafted.py").read_text())
    assert complaint(schema, DataProto.load_from_disk("all.batch", allow_pickle=True).stores()) == ""


def test_what_is_pickled_is_not_read() -> None:
    DataProto.from_dict({"x": torch.zeros(1)}, {"trap": [Trap()]}).save_to_disk("trap.batch", allow_pickle=True)
    code, source = infer("trap.batch")

    assert code == 0
    assert declared(source) == [
        'x: Float32[Tensor, "batch"]',
        "trap: NonTensor[Any]  # pickled in a file: its values were not read",
    ]


def test_a_file_that_cannot_be_used_exits_with_2() -> None:
    Path("text").write_text("no batch")

    assert infer("nowhere.batch")[0] == 2
    assert infer("text") == (
        2,
        "1 problem in DataProto.load_from_disk; nothing was changed\n\n"
        "  BP048 file  text  no safetensors file, or one that is cut off; a file that save_to_disk wrote\n",
    )
    every_kind().save_to_disk("all.batch", allow_pickle=True)
    assert infer("all.batch", "--name", "a-b") == (
        2,
        "1 problem where a schema is inferred\n\n  BP036 call  name  'a-b'; the name of a class, as in RolloutBatch\n",
    )
