"""A part of a file is read without the rest, and verified; what is no such file is refused in one sentence."""

from __future__ import annotations

import pickle
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.files import reading
from batchpact.schemas import MissingFieldError
from tests.dataproto.files.samples import Trap, every_kind
from tests.dataproto.files.sealing import take_apart
from tests.dataproto.support import batches, jagged, law, plain, refuses, small

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

WRITTEN = "what save_to_disk wrote"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch"


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "batch"


# --- parts ------------------------------------------------------------------------------------------------------------


class TestParts:
    @given(batch=batches(), data=st.data())
    @law
    def test_rows_and_fields_are_those_of_the_whole(self, module_path: Path, batch: DataProto, data: Any) -> None:
        names = batch.stores().names()
        rows = slice(*sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))))
        keys = data.draw(st.none() | st.sets(st.sampled_from(names) if names else st.nothing()))
        batch.save_to_disk(module_path)
        loaded = DataProto.load_from_disk(module_path, rows=rows, fields=keys if keys is None else sorted(keys))
        chosen = [[key for key in store if keys is None or key in keys] for store in batch.stores()[:3]]

        assert plain(loaded) == plain(batch[rows].select(*chosen))
        assert loaded == batch[rows].select(*chosen)

    @pytest.mark.parametrize("rows", [slice(1, 3), slice(-4, 3), slice(1, -2), range(1, 3), slice(1, 3, 1)], ids=str)
    def test_rows_are_given_in_many_ways(self, path: Path, rows: Any) -> None:
        every_kind(5).save_to_disk(path)

        assert plain(DataProto.load_from_disk(path, rows=rows)) == plain(every_kind(5)[1:3])

    @pytest.mark.parametrize("rows", [slice(3, 3), slice(4, 2), slice(9, None), range(0), range(7, 3)], ids=str)
    def test_no_row_is_a_part_too(self, path: Path, rows: Any) -> None:
        every_kind(5).save_to_disk(path)

        assert plain(DataProto.load_from_disk(path, rows=rows)) == plain(every_kind(5)[:0])

    def test_a_slice_reaches_beyond_as_everywhere(self, path: Path) -> None:
        small().save_to_disk(path)

        assert DataProto.load_from_disk(path, rows=slice(2, 99)) == small()[2:99]

    @pytest.mark.parametrize(
        ("rows", "shown"),
        [
            (slice(0, 4, 2), "slice(0, 4, 2)"),
            (slice(None, None, -1), "slice(None, None, -1)"),
            (slice(0, 4, 0), "slice(0, 4, 0)"),
            (slice("a"), "slice(None, 'a', None)"),
            (range(4, 0, -1), "range(4, 0, -1)"),
            ([1, 2], "list of 2"),
            (5, "int 5"),
        ],
    )
    def test_rows_that_are_not_neighbours_are_refused(self, path: Path, rows: Any, shown: str) -> None:
        small().save_to_disk(path)

        with refuses(
            "load_from_disk",
            f"BP044 index  rows  {shown}; a slice or a range of neighbouring rows; "
            "load_from_disk(...)[rows] takes any rows of what was read",
        ):
            DataProto.load_from_disk(path, rows=rows)

    @pytest.mark.parametrize("rows", [range(2, 5), range(-1, 2)], ids=str)
    def test_a_range_lies_within_the_batch(self, path: Path, rows: range) -> None:
        small().save_to_disk(path)

        with refuses("load_from_disk", f"BP044 index  rows  {rows}; the batch has 4 rows"):
            DataProto.load_from_disk(path, rows=rows)

    def test_names_that_are_not_there_are_all_named(self, path: Path) -> None:
        small().save_to_disk(path)

        with refuses(
            "load_from_disk",
            "BP046 name  rewards  not in the file; closest name: 'reward'",
            "BP046 name  nothing  not in the file",
            kind=MissingFieldError,
        ):
            DataProto.load_from_disk(path, fields=["ids", "rewards", "nothing"])

    def test_one_name_may_be_given_alone(self, path: Path) -> None:
        small().save_to_disk(path)

        assert DataProto.load_from_disk(path, fields="uid").stores().names() == ["uid"]


class TestWhatIsNotAskedFor:
    def test_it_is_not_read(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Counted: 64 rows of three of six fields, of 8 MB each."""
        rows, width = 1024, 1024
        tensors = {name: torch.arange(rows * width).reshape(rows, width) for name in "abcdef"}
        DataProto.from_dict(tensors, {"text": ["x" * 4096 + str(row) for row in range(rows)]}).save_to_disk(path)
        read = 0

        class Counting(FileIO):
            def readinto(self, buffer: Any) -> int:
                nonlocal read
                got = super().readinto(buffer) or 0
                read += got
                return got

        monkeypatch.setattr(reading, "FileIO", Counting)
        loaded = DataProto.load_from_disk(path, fields=["a", "c", "text"], rows=slice(500, 564))

        assert torch.equal(loaded.batch["c"], tensors["c"][500:564])
        assert 64 * (2 * 8 * width + 4096) < read < 64 * (2 * 8 * width + 4096) + 3 * 2 * 2**20

    def test_it_may_be_damaged(self, path: Path) -> None:
        tensors = {"a": torch.arange(400_000.0).reshape(4, -1), "b": torch.zeros(4)}
        DataProto.from_dict(tensors, {"c": ["w" * 9, "x", "y", "z"]}).save_to_disk(path)
        parts = take_apart(path.read_bytes())
        checksums = [piece["checksums"] for piece in parts.pieces().values()]
        entry = parts.entries["data/a"]
        entry.data = entry.data[:-4] + b"wxyz"
        parts.entries["data/b"].data = bytes(15) + b"x"
        for piece, known in zip(parts.pieces().values(), checksums, strict=True):
            piece["checksums"] = known
        path.write_bytes(parts.seal_header(parts.texts["header"]))

        loaded = DataProto.load_from_disk(path, fields=["a", "c"], rows=slice(0, 2))
        assert torch.equal(loaded.batch["a"], tensors["a"][:2])
        with refuses(
            "load_from_disk",
            f"BP048 file  a  block 1 of data does not have its checksum; {WRITTEN}",
            f"BP048 file  b  block 0 of data does not have its checksum; {WRITTEN}",
        ):
            DataProto.load_from_disk(path)

    @pytest.mark.parametrize("rows", [slice(0, 1), slice(2, 4), slice(3, 9), None], ids=str)
    def test_ranges_over_several_blocks_are_right(self, path: Path, rows: slice | None) -> None:
        """Rows of 0.8 MB: their ends lie in the middle of blocks of 1 MB."""
        batch = DataProto.from_dict({"x": torch.arange(9 * 100_000).reshape(9, -1)})
        batch.save_to_disk(path)

        assert torch.equal(DataProto.load_from_disk(path, rows=rows).batch["x"], batch.batch["x"][rows or slice(None)])


# --- other files ------------------------------------------------------------------------------------------------------

NO_FILE = "no safetensors file, or one that is cut off; a file that save_to_disk wrote"
OTHERS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", NO_FILE),
    "text": (b"hello, world", NO_FILE),
    "seven bytes": (b"1234567", NO_FILE),
    "a length alone": ((100).to_bytes(8, "little"), NO_FILE),
}
PICKLE = (
    "a pickle, as verl's save_to_disk writes; reading one can run any code; what save_to_disk wrote; "
    "load it with what wrote it and save it anew: DataProto.from_verl(batch).save_to_disk(path)"
)


class TestOtherFiles:
    @pytest.mark.parametrize("name", OTHERS)
    def test_what_is_no_safetensors_file_is_refused(self, path: Path, name: str) -> None:
        content, line = OTHERS[name]
        path.write_bytes(content)

        with refuses("load_from_disk", f"BP048 file  {path}  {line}"):
            DataProto.load_from_disk(path)

    def test_a_safetensors_file_of_somebody_else_is_refused(self, path: Path) -> None:
        save_file({"x": torch.ones(2)}, path)

        with refuses(
            "load_from_disk",
            f"BP048 file  {path}  a safetensors file without a batch; a file that save_to_disk wrote",
        ):
            DataProto.load_from_disk(path)

    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    def test_a_pickle_is_recognised_and_not_read(self, path: Path, protocol: int) -> None:
        path.write_bytes(pickle.dumps(Trap(), protocol=protocol))

        with refuses("load_from_disk", f"BP048 file  {path}  {PICKLE}"):
            DataProto.load_from_disk(path, allow_pickle=True)
        assert not Trap.sprung

    def test_what_torch_saves_is_recognised_and_not_read(self, path: Path) -> None:
        torch.save({"x": Trap()}, path)

        with refuses("load_from_disk", f"BP048 file  {path}  {PICKLE}"):
            DataProto.load_from_disk(path)
        assert not Trap.sprung

    @pytest.mark.peers
    def test_what_verl_saves_is_recognised(self, path: Path) -> None:
        verl = pytest.importorskip("verl.protocol")
        verl.DataProto.from_dict({"x": torch.ones(2)}).save_to_disk(path)

        with refuses("load_from_disk", f"BP048 file  {path}  {PICKLE}"):
            DataProto.load_from_disk(path)
        DataProto.from_verl(verl.DataProto.load_from_disk(path)).save_to_disk(path)
        assert DataProto.load_from_disk(path) == DataProto.from_dict({"x": torch.ones(2)})

    @pytest.mark.parametrize("padding", range(0, 512, 7))
    def test_no_length_of_a_header_looks_like_a_pickle(self, path: Path, padding: int) -> None:
        """A file begins with the length of its header, of which 0x80, 0x04 may be the first bytes."""
        DataProto(meta_info={"x" * padding: 1}).save_to_disk(path)

        assert DataProto.load_from_disk(path).meta_info == {"x" * padding: 1}

    def test_a_missing_file_is_what_it_always_is(self, path: Path) -> None:
        with pytest.raises(FileNotFoundError) as caught:
            DataProto.load_from_disk(path)
        assert caught.value.filename == str(path)

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError):
            DataProto.load_from_disk(tmp_path)


def test_tensors_without_offsets_of_their_own_can_be_read_alone(path: Path) -> None:
    tokens = jagged([1, 2], [3])
    mask = torch.nested.nested_tensor_from_jagged(tokens.values() * 0, tokens.offsets())  # type: ignore[attr-defined]
    batch = DataProto.from_dict({"tokens": tokens, "mask": mask}, {"c": column([1, 2])})
    batch.save_to_disk(path)

    assert DataProto.load_from_disk(path, fields=["mask"]) == batch.select(["mask"], [], [])
