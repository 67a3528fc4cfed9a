"""Nothing in a file is executed: pickles are read where both sides ask for them, and nothing else ever is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError
from tests.dataproto.files.samples import Trap, every_kind, marked
from tests.dataproto.files.sealing import take_apart
from tests.dataproto.support import plain, refuses

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch"


class TestPickles:
    @pytest.fixture(autouse=True)
    def _unsprung(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Trap, "sprung", False)

    def test_both_sides_have_to_ask_for_them(self, path: Path) -> None:
        batch = DataProto.from_dict({"x": torch.ones(2)}, {"trap": [Trap(), 1], "fine": [1, 2]}, {"set": {range(3)}})
        batch.save_to_disk(path, allow_pickle=True)

        with refuses(
            "load_from_disk",
            "BP048 file  trap  pickled objects, which can run any code when they are read; "
            "allow_pickle=True, where you trust whoever wrote the file",
            "BP048 file  set   pickled objects, which can run any code when they are read; "
            "allow_pickle=True, where you trust whoever wrote the file",
        ):
            DataProto.load_from_disk(path)
        assert not Trap.sprung
        loaded = DataProto.load_from_disk(path, allow_pickle=True)
        assert Trap.sprung
        assert loaded.meta_info == {"set": {range(3)}}
        assert loaded.non_tensor_batch["trap"][1] == 1

    def test_fields_without_them_can_be_read(self, path: Path) -> None:
        DataProto.from_dict(None, {"trap": [Trap()], "fine": [1]}).save_to_disk(path, allow_pickle=True)

        assert DataProto.load_from_disk(path, fields=["fine"]).non_tensor_batch["fine"].tolist() == [1]
        assert not Trap.sprung

    def test_what_is_data_is_not_pickled(self, path: Path) -> None:
        every_kind().save_to_disk(path, allow_pickle=True)

        assert plain(DataProto.load_from_disk(path)) == plain(every_kind())

    def test_a_pickle_that_the_header_keeps_quiet_about_is_not_read(self, path: Path) -> None:
        DataProto.from_dict(None, {"trap": [Trap()]}).save_to_disk(path, allow_pickle=True)
        parts = take_apart(path.read_bytes())
        parts.field("trap")["pickled"] = False
        path.write_bytes(parts.seal())

        with refuses(
            "load_from_disk",
            "BP048 file  trap  pickled objects, which can run any code when they are read; "
            "allow_pickle=True, where you trust whoever wrote the file",
        ):
            DataProto.load_from_disk(path)
        assert not Trap.sprung

    def test_a_cell_that_holds_itself_can_be_pickled(self, path: Path) -> None:
        loop: list[Any] = [1]
        loop.append(loop)
        DataProto.from_dict(None, {"x": [loop]}).save_to_disk(path, allow_pickle=True)
        (cell,) = DataProto.load_from_disk(path, allow_pickle=True).non_tensor_batch["x"]

        assert cell[0] == 1 and cell[1] is cell

    def test_what_cannot_be_pickled_either_is_named(self, path: Path) -> None:
        """W9: a lambda in meta."""
        batch = DataProto.from_dict(None, {"x": [1, [lambda: 1]]}, {"m": lambda: 1})

        with pytest.raises(BatchError) as caught:
            batch.save_to_disk(path, allow_pickle=True)
        assert [violation.field for violation in caught.value.violations] == ["x[0]", "m"]
        assert caught.value.violations[0].actual.startswith("function that cannot be pickled: Can't ")
        assert caught.value.violations[0].actual.endswith(" in row 1")

    def test_a_pickle_whose_class_is_gone_is_an_error(self, path: Path) -> None:
        class Gone:
            pass

        Gone.__qualname__ = "Gone"
        globals()["Gone"] = Gone
        DataProto.from_dict(None, {"x": [Gone()]}).save_to_disk(path, allow_pickle=True)
        del globals()["Gone"]

        with pytest.raises(BatchError, match="BP048 file  x  a pickled object that cannot be read: AttributeError: "):
            DataProto.load_from_disk(path, allow_pickle=True)


def test_loading_imports_nothing(path: Path) -> None:
    """W10: neither the module of the schema that was bound, nor anything else; numpy may need more of itself."""
    marked().save_to_disk(path)
    code = (
        "import sys; from batchpact.dataproto import DataProto\n"
        "before = set(sys.modules); rows = len(DataProto.load_from_disk(sys.argv[1]))\n"
        "print(rows, {name.partition('.')[0] for name in set(sys.modules) - before} - {'numpy'})"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", code, path]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert (run.stdout, run.returncode) == ("8 set()\n", 0), run.stderr
