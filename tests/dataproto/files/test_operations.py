"""What is saved comes back, equal, with what it carries unseen; the batch itself stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.schemas import ContractError
from tests.dataproto.files.samples import Declared, every_kind, marked
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.support import batches, jagged, law, plain, plain_tensor, says, small

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def trip(batch: DataProto, path: Path, **options: Any) -> DataProto:
    """The batch, saved and loaded."""
    batch.save_to_disk(path)
    return type(batch).load_from_disk(path, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch.safetensors"


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "batch"


class TestRoundTrip:
    @given(batch=batches())
    @law
    def test_any_batch_comes_back_equal_and_stays_as_it_is(self, module_path: Path, batch: DataProto) -> None:
        before = plain(batch)
        loaded = trip(batch, module_path)

        assert loaded == batch
        assert plain(loaded) == before == plain(batch)
        assert [list(store) for store in loaded.stores()[:3]] == [list(store) for store in batch.stores()[:3]]
        assert (loaded.batch is None) == (batch.batch is None)
        assert loaded.batch is None or loaded.batch.batch_size == batch.batch.batch_size
        assert list(module_path.parent.iterdir()) == [module_path]

    @pytest.mark.parametrize("rows", [0, 1, 5])
    def test_every_kind_of_field_comes_back(self, path: Path, rows: int) -> None:
        batch = every_kind(rows)

        assert plain(trip(batch, path)) == plain(batch)

    @pytest.mark.parametrize("lengths", LENGTHS, ids=str)
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_nested_tensors_of_every_layout_come_back(self, path: Path, layout: str, lengths: list[int]) -> None:
        batch = LAYOUTS[layout].batch(lengths)
        loaded = trip(batch, path)

        for key in ("x", "twin"):
            found, expected = loaded.batch[key], batch.batch[key].detach()
            assert (found.layout, found.dtype, found.dim()) == (expected.layout, expected.dtype, expected.dim())
            assert plain_tensor(found) == plain_tensor(expected)
            if found.layout is torch.jagged:
                assert found.offsets().dtype == expected.offsets().dtype

    @pytest.mark.parametrize("layout", [name for name, layout in LAYOUTS.items() if layout.memory != "strided"])
    def test_tensors_that_share_their_offsets_still_do(self, path: Path, layout: str) -> None:
        """Else torch would not add tokens to a mask of the same rows."""
        for loaded in (trip(LAYOUTS[layout].batch([2, 0, 3]), path), DataProto.load_from_disk(path, rows=slice(1, 3))):
            assert loaded.batch["x"].offsets() is loaded.batch["twin"].offsets()
            assert (loaded.batch["x"] + loaded.batch["twin"]).shape[0] == len(loaded)

    def test_tensors_with_offsets_of_their_own_keep_them(self, path: Path) -> None:
        loaded = trip(DataProto.from_dict({"a": jagged([1], [2, 3]), "b": jagged([1], [2, 3])}), path)

        assert loaded.batch["a"].offsets() is not loaded.batch["b"].offsets()

    DTYPES = sorted(
        {str(dtype).removeprefix("torch.") for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
    )

    @pytest.mark.parametrize("name", [name for name in DTYPES if not name.startswith("q")])
    def test_tensors_of_every_dtype_come_back_bit_by_bit(self, path: Path, name: str) -> None:
        numbers = torch.arange(96, dtype=torch.uint8).reshape(3, 32)
        tensor = (numbers % 2).bool() if name == "bool" else numbers.view(getattr(torch, name))
        batch = DataProto.from_dict({"x": tensor}, {"cell": [tensor[0], {"t": tensor}, None]}, {"meta": tensor})
        loaded = trip(batch, path)

        def same(found: torch.Tensor, expected: torch.Tensor) -> bool:
            return found.dtype is expected.dtype and torch.equal(found.view(torch.uint8), expected.view(torch.uint8))

        assert same(loaded.batch["x"], tensor)
        assert same(loaded.non_tensor_batch["cell"][0], tensor[0])
        assert same(loaded.non_tensor_batch["cell"][1]["t"], tensor)
        assert same(loaded.meta_info["meta"], tensor)
        assert same(DataProto.load_from_disk(path, rows=slice(2, 3)).batch["x"], tensor[2:3])

    @pytest.mark.parametrize(
        "dtype",
        [
            *("?", "i1", "u1", "<i2", ">i2", "u2", "i4", "u4", "i8", "u8", "f2", "<f4", ">f4", "f8", "g", "c8", "c16"),
            *("<U3", ">U3", "S2", "M8[D]", "M8[ns]", "<m8[25us]", "<m8"),
        ],
    )
    @pytest.mark.parametrize("shape", [(4,), (4, 3), (0, 2), (4, 0)], ids=str)
    def test_numeric_columns_of_every_dtype_come_back(self, path: Path, dtype: str, shape: tuple[int, ...]) -> None:
        cells = (np.arange(np.prod(shape)).reshape(shape) % 5).astype("i8").astype(dtype)
        loaded = trip(DataProto.from_dict(None, {"x": cells}), path).non_tensor_batch["x"]

        assert (loaded.dtype, loaded.shape, loaded.tolist()) == (cells.dtype, cells.shape, cells.tolist())

    def test_object_columns_with_more_axes_come_back(self, path: Path) -> None:
        cells = column([f"{n}" for n in range(6)]).reshape(3, 2)
        loaded = trip(DataProto(None, {"x": cells}), path)

        assert loaded.non_tensor_batch["x"].tolist() == [["0", "1"], ["2", "3"], ["4", "5"]]
        assert DataProto.load_from_disk(path, rows=slice(1, 2)).non_tensor_batch["x"].tolist() == [["2", "3"]]

    def test_tensors_with_two_batch_axes_come_back(self, path: Path) -> None:
        batch = DataProto(TensorDict({"x": torch.arange(24).reshape(3, 2, 4)}, batch_size=[3, 2]))
        loaded = trip(batch, path)

        assert loaded.batch.batch_size == torch.Size([3, 2])
        assert DataProto.load_from_disk(path, rows=slice(1, 3)).batch.batch_size == torch.Size([2, 2])

    def test_tensors_that_do_not_lie_in_one_run_come_back(self, path: Path) -> None:
        whole = torch.arange(24.0).reshape(4, 6)
        tensors = {"t": whole.reshape(6, 4).T, "step": whole[:, ::2], "wide": torch.ones(1, 3).expand(4, 3)}
        tensors |= {"conj": torch.randn(4, dtype=torch.complex64).conj(), "scalars": whole[:, 0]}
        loaded = trip(DataProto.from_dict(tensors), path)

        assert all(torch.equal(loaded.batch[key], tensor) for key, tensor in tensors.items())
        assert all(tensor.is_contiguous() for tensor in loaded.batch.values())

    def test_an_empty_tensordict_keeps_its_size(self, path: Path) -> None:
        assert trip(DataProto(TensorDict({}, batch_size=[7])), path).batch.batch_size == torch.Size([7])
        loaded = trip(DataProto(TensorDict({}, batch_size=[7]), {"x": column(["a"])}), path)
        assert (len(loaded), loaded.batch.batch_size) == (1, torch.Size([7]))

    def test_a_batch_of_a_subclass_comes_back_as_one(self, path: Path) -> None:
        class Mine(DataProto):
            pass

        assert type(trip(Mine(meta_info={"k": 1}), path)) is Mine


class TestWhatIsLoaded:
    def test_it_can_be_written_into_and_has_memory_of_its_own(self, path: Path) -> None:
        loaded = trip(every_kind(), path)
        content = path.read_bytes()
        for tensor in loaded.batch.values():
            (tensor.values() if tensor.is_nested and tensor.layout is torch.jagged else tensor).fill_(1)
        for cells in loaded.non_tensor_batch.values():
            cells[0] = cells[1]
        loaded.non_tensor_batch["arrays"][0][:] = 7.0
        loaded.meta_info["nested"]["a"][1]["b"].fill_(7)

        assert path.read_bytes() == content
        assert not loaded.batch.is_locked
        assert plain(DataProto.load_from_disk(path)) == plain(every_kind())

    def test_an_object_in_several_cells_is_one_object_again(self, path: Path) -> None:
        shared = [1, 2]
        batch = DataProto.from_dict(None, {"x": [shared, [1, 2], shared, None, shared]})
        cells = trip(batch, path).non_tensor_batch["x"]

        assert cells.tolist() == [[1, 2], [1, 2], [1, 2], None, [1, 2]]
        assert cells[0] is cells[2] is cells[4]
        assert cells[0] is not cells[1]

    def test_a_cell_that_stands_in_many_rows_takes_its_bytes_once(self, path: Path) -> None:
        """W4: the same image object in n rollouts."""
        image = np.zeros((100, 100), dtype=np.uint8)
        once = DataProto.from_dict(None, {"image": [{"image": image}]})
        once.save_to_disk(path)
        size = path.stat().st_size
        once.repeat(64).save_to_disk(path)

        assert path.stat().st_size < size + 2_000

    def test_gradients_stay_behind(self, path: Path) -> None:
        weight = torch.ones(2, requires_grad=True)
        batch = DataProto.from_dict({"x": weight * 2, "w": weight})
        loaded = trip(batch, path)

        assert not loaded.batch["x"].requires_grad and not loaded.batch["w"].requires_grad
        assert batch.batch["x"].grad_fn is not None

    def test_a_locked_batch_is_saved_and_stays_locked(self, path: Path) -> None:
        batch = small()
        batch.batch.lock_()

        assert trip(batch, path) == batch
        assert batch.batch.is_locked


class TestWhatABatchCarries:
    def test_writers_pad_marks_and_filled_rows_come_back(self, path: Path) -> None:
        loaded = trip(marked(), path)

        assert loaded.history() == {"ids": "written by 'generate'", "score": "written by 'judge'"}
        assert loaded.pad_mask.tolist() == [False] * 5 + [True] * 3
        assert loaded.presence("score").tolist() == marked().presence("score").tolist()

    def test_they_are_those_of_the_rows_and_fields_that_are_read(self, path: Path) -> None:
        loaded = trip(marked(), path, rows=slice(1, 7), fields=["score"])

        assert loaded.last_writer("ids") is None
        assert loaded.pad_mask.tolist() == [False] * 4 + [True] * 2
        assert loaded.presence("score").tolist() == marked().presence("score")[1:7].tolist()

    def test_a_schema_is_bound_where_it_is_given(self, path: Path) -> None:
        loaded = trip(marked(), path)
        assert loaded._bound is None
        loaded = DataProto.load_from_disk(path, schema=Declared)
        assert loaded._bound is not None and loaded._bound.schema is Declared

    def test_a_batch_that_does_not_keep_to_the_schema_is_refused(self, path: Path) -> None:
        with says(
            ContractError,
            "where a batch is bound to Declared",
            'BP011 rank  ids  i64[4, 2], declared "batch"; 2 axes where 1 is declared; nothing is squeezed or expanded',
            "",
            "dims  batch=4 (score)",
        ):
            trip(small(), path, schema=Declared)

    def test_the_origin_of_rows_stays_in_the_stage(self, path: Path) -> None:
        batch = small()
        batch._marks = batch._marks._replace(origin=np.arange(4))

        assert trip(batch, path)._marks.origin is None


@pytest.mark.parametrize("kind", [str, Path, str.encode])
def test_a_path_may_be_given_in_every_form(tmp_path: Path, kind: Any) -> None:
    given_path = kind(str(tmp_path / "x"))

    assert trip(small(), given_path) == small()
