"""What cannot be saved is named, all of it at once; whatever fails, the old file is whole and nothing is left over."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.files.tensors import TensorCutter
from batchpact.schemas import BatchError
from tests.dataproto.support import jagged, plain, refuses, small

DATA = "a file holds numbers, text, bytes, times, images, arrays, tensors, and containers of these"
PICKLES = f"{DATA}; allow_pickle=True pickles it"


class Reward:
    """Something of a user's own."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch"


class TestWhatIsNoData:
    def test_field_row_and_type_are_named(self, path: Path) -> None:
        batch = DataProto.from_dict({"x": torch.ones(3)}, {"reward": [1.0, Reward(), 2.0]})

        with refuses("save_to_disk", f"BP049 unsaved  reward  {__name__}.Reward in row 1; {PICKLES}"):
            batch.save_to_disk(path)
        assert not path.exists()

    def test_the_place_in_the_cell_is_named(self, path: Path) -> None:
        batch = DataProto.from_dict(
            None,
            {
                "tools": [{"fn": [1, len]}, {"fn": [1, 2]}, {"fn": [1, len]}],
                "keys": [{len: 1}] * 3,
                "more": [column([1, len])] * 3,
            },
            {"stop": {"when": (len,)}},
        )

        with refuses(
            "save_to_disk",
            f"BP049 unsaved  tools['fn'][1]   builtin_function_or_method in rows 0, 2; {PICKLES}",
            f"BP049 unsaved  keys.keys()[0]   builtin_function_or_method in rows 0, 1, 2; {PICKLES}",
            f"BP049 unsaved  more.flat[1]     builtin_function_or_method in rows 0, 1, 2; {PICKLES}",
            f"BP049 unsaved  stop['when'][0]  builtin_function_or_method; {PICKLES}",
        ):
            batch.save_to_disk(path)

    def test_the_rows_of_a_column_with_more_axes_are_its_first_axis(self, path: Path) -> None:
        cells = column([1, 2, 3, len, len, 6]).reshape(3, 2)

        with refuses("save_to_disk", f"BP049 unsaved  x  builtin_function_or_method in rows 1, 2; {PICKLES}"):
            DataProto(None, {"x": cells}).save_to_disk(path)

    def test_many_problems_of_one_column_are_cut(self, path: Path) -> None:
        batch = DataProto.from_dict(None, {"x": [[0] * n + [len] for n in range(1000)]})

        with pytest.raises(BatchError) as caught:
            batch.save_to_disk(path)
        assert len(caught.value.violations) == 20

    def test_a_long_place_is_cut(self, path: Path) -> None:
        deep: list[Any] = []
        for _ in range(200):
            deep = [deep]

        with refuses(
            "save_to_disk", f"BP049 unsaved  x{'[0]' * 18}[0...  list more than 100 levels deep in row 0; {PICKLES}"
        ):
            DataProto.from_dict(None, {"x": [deep]}).save_to_disk(path)

    def test_tensors_that_are_more_than_their_elements_are_named(self, path: Path) -> None:
        nested = TensorDict({"x": torch.ones(2)}, batch_size=[2])
        tensors = {
            "meta": torch.ones(2, device="meta"),
            "quantized": torch.ones(2, dtype=torch.int8).view(torch.qint8),
            "nested": nested,
        }

        with refuses(
            "save_to_disk",
            f"BP049 unsaved  meta       tensor without values, on the meta device; {DATA}",
            f"BP049 unsaved  quantized  quantized tensor; {DATA}",
            f"BP049 unsaved  nested     {type(nested).__module__}.TensorDict; {DATA}",
        ):
            DataProto.from_dict(tensors).save_to_disk(path)

    def test_columns_that_are_more_than_numbers_are_named(self, path: Path) -> None:
        cells = np.zeros(2, dtype=[("a", "i4")])

        with refuses("save_to_disk", f"BP049 unsaved  x  a column of [('a', '<i4')]; {DATA}"):
            DataProto(None, {"x": cells}).save_to_disk(path)

    def test_a_name_is_text(self, path: Path) -> None:
        meta: dict[Any, Any] = {5: 1, "\ud800": 2, (len,): 3}

        with refuses(
            "save_to_disk",
            "BP049 unsaved  5                             int 5; a name that is text",
            "BP049 unsaved  '\\ud800'                      str; a name that is text",
            "BP049 unsaved  (builtin_function_or_method)  tuple of 1; a name that is text",
        ):
            DataProto(meta_info=meta).save_to_disk(path)

    def test_a_batch_that_is_inconsistent_is_refused_first(self, path: Path) -> None:
        batch = small()
        batch.non_tensor_batch["odd"] = column([len])

        with pytest.raises(BatchError, match="BP016 rows"):
            batch.save_to_disk(path)


class TestWhereItGoes:
    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "no" / "batch"

        with refuses("save_to_disk", f"BP048 file  {path}  its folder is not there; make {tmp_path / 'no'} first"):
            small().save_to_disk(path)

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with refuses("save_to_disk", f"BP048 file  {tmp_path}  a folder; the name of a file"):
            small().save_to_disk(tmp_path)

    def test_a_new_file_has_the_rights_of_any_new_file(self, path: Path) -> None:
        other = path.with_name("other")
        other.write_bytes(b"")
        small().save_to_disk(path)

        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)

    def test_a_file_that_is_replaced_hands_on_its_rights(self, path: Path) -> None:
        path.write_bytes(b"old")
        path.chmod(0o600)
        small().save_to_disk(path)

        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_symbolic_link_stays_and_leads_to_the_new_file(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        target, link = tmp_path / "folder" / "target", tmp_path / "link"
        link.symlink_to(target)
        small().save_to_disk(link)

        assert link.is_symlink() and target.is_file()
        assert DataProto.load_from_disk(link) == small()


class TestWhateverFails:
    """The old file is whole, and there is nothing else in its folder."""

    @pytest.fixture(autouse=True)
    def old(self, path: Path) -> Any:
        small().save_to_disk(path)
        yield
        assert DataProto.load_from_disk(path) == small()
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    @pytest.mark.parametrize("error", [OSError(5, "no disk"), KeyboardInterrupt()], ids=["error", "interrupt"])
    def test_on_the_way_to_the_disk(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
    ) -> None:
        def fail(*arguments: object) -> None:
            raise error

        monkeypatch.setattr(os, step, fail)
        with pytest.raises(type(error)):
            DataProto.from_dict({"x": torch.ones(2)}).save_to_disk(path)

    def test_because_of_a_value(self, path: Path) -> None:
        with pytest.raises(BatchError):
            DataProto.from_dict({"x": torch.ones(1)}, {"y": [len]}).save_to_disk(path)

    def test_because_there_is_no_room(self, path: Path) -> None:
        """The file system refuses what goes beyond 100 KB, half-way through the file."""
        code = (
            "import resource, signal, sys, torch; from batchpact.dataproto import DataProto\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, -1))\n"
            "DataProto.from_dict({'x': torch.ones(100_000)}).save_to_disk(sys.argv[1])"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        run = subprocess.run(
            [sys.executable, "-c", code, path], env=environment, capture_output=True, text=True, check=False
        )

        assert f"BP048 file  {path}  " in run.stderr
        assert "File too large (os error 27); room for the file, and the right to write it" in run.stderr


class TestMemory:
    def test_what_lies_in_one_run_is_written_from_where_it_is(self) -> None:
        cutter = TensorCutter(4)
        whole = torch.arange(40.0).reshape(8, 5)
        nested = jagged([1], [2, 3], [], [4])

        assert cutter.cut("x", whole[2:6]).pieces["data"].data.ctypes.data == whole[2:].data_ptr()
        assert cutter.cut("n", nested).pieces["values"].data.ctypes.data == nested.values().data_ptr()

    def test_the_batch_stays_as_it_is(self, path: Path) -> None:
        batch = small()
        before, tensors = plain(batch), dict(batch.batch.items())
        batch.save_to_disk(path)

        assert plain(batch) == before
        assert all(batch.batch[key] is tensor for key, tensor in tensors.items())
