"""What is saved of a broken boundary, wherever it breaks, and what happens where it cannot be."""

from __future__ import annotations

import errno
import gc
import os
import pickle
import platform
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from batchpact.contracts import ContractWarning, Pipeline, checking, stage
from batchpact.contracts.dump import saving
from batchpact.contracts.dump.loading import Dump
from batchpact.contracts.dump.record import LeftOut
from batchpact.dataproto import DataProto
from batchpact.dataproto.files import writing
from tests.contracts.dump.support import broken, files, only_dump, without_note
from tests.contracts.stages import (
    CONTAINERS,
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    rewards,
    scored,
    stores_of,
    written,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where everything that breaks in a test is saved."""
    monkeypatch.setattr(saving, "_saved", type(saving._saved)())
    with checking(dump=str(tmp_path / "dumps")):
        yield tmp_path / "dumps"


@stage(ComputeReturns)
def compute(data: Any) -> Any:
    return written(returns=RETURNS)


@stage(ComputeReturns)
def too_wide(data: Any) -> Any:
    return written(returns=torch.zeros(4, 5), extra=torch.ones(4))


def without_gamma(container: Container = DataProto.from_dict) -> Any:
    batch = scored()
    batch.meta_info.pop("gamma")
    return container(
        dict(batch.batch.items()), {k: list(v) for k, v in batch.non_tensor_batch.items()}, batch.meta_info
    )


# --- where it breaks --------------------------------------------------------------------------------------------------


def test_the_message_says_where_the_dump_lies(folder: Path) -> None:
    error = broken(lambda: compute(without_gamma()))

    (path,) = files(folder)
    assert error.note == f"saved in {path}; batchpact replay shows it again"
    assert str(error).endswith(f"no name in the batch is close\n\n  {error.note}")
    assert re.fullmatch(r"compute-BP001-step7-[0-9a-f]{12}\.safetensors", path.name)


@in_every_container
def test_what_the_stage_was_called_with_is_saved(folder: Path, container: Container) -> None:
    batch = without_gamma(container)

    error = broken(lambda: compute(batch, scale=3.0))

    dump, held = only_dump(folder), stores_of(batch)
    assert str(dump.error) == without_note(error)
    assert type(dump.error) is type(error)
    assert dump.batch == DataProto.from_dict(
        dict(held.tensors), {key: list(cells) for key, cells in held.columns.items()}, dict(held.meta)
    )
    assert (dump.args, dump.returned.names()) == ({"scale": 3.0}, [])
    assert (dump.record.boundary, dump.record.stage) == ("reads", compute.contract.spec)


@pytest.mark.parametrize(("kind", "name"), [("ours", "DataProto"), ("tensordict", "TensorDict"), ("verl", "verl")])
def test_the_kind_of_the_batch_is_told(folder: Path, kind: str, name: str) -> None:
    broken(lambda: compute(without_gamma(CONTAINERS[kind])))

    assert only_dump(folder).record.container == name


def test_the_place_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "5")

    broken(lambda: compute(without_gamma()))

    record = only_dump(folder).record
    assert (record.step, record.rank, record.node, record.process) == (7, 5, platform.node(), os.getpid())
    assert "-step7-rank5-" in files(folder)[0].name


def test_of_a_broken_result_both_sides_are_saved(folder: Path) -> None:
    error = broken(lambda: too_wide(scored()))

    dump = only_dump(folder)
    assert str(dump.error) == without_note(error)
    assert dump.record.boundary == "writes"
    assert dump.batch == scored()
    assert torch.equal(dump.returned.tensors["returns"], torch.zeros(4, 5))
    assert dump.record.returned == {"returns": "f32[4, 5]", "extra": "f32[4]"}
    assert dump.record.sizes == {"batch": 4, "response": 3}


def test_an_undeclared_read_is_saved(folder: Path) -> None:
    peeks = stage(ComputeReturns, name="peeks")(lambda data: data.batch["values"])

    error = broken(lambda: peeks(scored()))

    assert [violation.code for violation in only_dump(folder).error.violations] == ["BP002"]
    assert str(only_dump(folder).error).splitlines()[2:] == without_note(error).splitlines()[2:]


def test_a_result_that_is_no_batch_is_saved(folder: Path) -> None:
    nothing = stage(ComputeReturns, name="nothing")(lambda data: 3)

    error = broken(lambda: nothing(scored()))

    assert str(only_dump(folder).error) == without_note(error)
    assert only_dump(folder).batch == scored()


def test_a_typed_stage_is_saved(folder: Path) -> None:
    @stage
    def typed(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=torch.zeros(4, 5))

    error = broken(lambda: typed(ComputeReturns.Reads(**_values())))

    dump = only_dump(folder)
    assert (str(dump.error), dump.record.container) == (without_note(error), "Reads")
    assert torch.equal(dump.read.tensors["rewards"], rewards())
    assert torch.equal(dump.returned.tensors["returns"], torch.zeros(4, 5))


@pytest.mark.parametrize("plain", [False, True], ids=["called with a batch", "called as itself"])
def test_a_stage_of_values_is_saved(folder: Path, plain: bool) -> None:
    @stage(ComputeReturns, unpack=True)
    def values(rewards: Any, response_mask: Any, uid: Any, gamma: float, scale: float) -> Any:
        return rewards[:, :2]

    error = broken(lambda: values(**_values(), scale=2.0) if plain else values(scored(), scale=2.0))

    dump = only_dump(folder)
    assert str(dump.error) == without_note(error)
    assert (dump.args, dump.returned.tensors["returns"].shape) == ({"scale": 2.0}, (4, 2))


async def test_a_coroutine_is_saved(folder: Path) -> None:
    @stage(ComputeReturns)
    async def later(data: Any) -> Any:
        return written(returns=torch.zeros(4, 5))

    with pytest.raises(ValueError, match=r"saved in .*; batchpact replay shows it again$"):
        await later(scored())

    assert only_dump(folder).record.boundary == "writes"


def test_a_block_is_saved(folder: Path) -> None:
    def block() -> None:
        with ComputeReturns.on(scored()) as batch:
            batch.batch["returns"] = torch.zeros(4, 5)

    error = broken(block)

    assert str(only_dump(folder).error) == without_note(error)
    assert only_dump(folder).returned.names() == ["returns"]


def test_a_stage_of_a_pipeline_is_saved(folder: Path) -> None:
    pipeline = Pipeline("small", inputs=ComputeReturns.Reads, stages=[too_wide])

    error = broken(lambda: pipeline.run(scored()))

    assert str(only_dump(folder).error) == without_note(error)


def test_a_result_that_cannot_be_joined_is_saved(folder: Path) -> None:
    pipeline = Pipeline("small", inputs=ComputeReturns.Reads, stages=[compute])
    batch = scored()
    batch.batch["returns"] = torch.zeros(4, 3)

    error = broken(lambda: pipeline.run(batch))

    dump = only_dump(folder)
    assert error.subject == "in pipeline 'small', where the result of stage 'compute' is joined"
    assert str(dump.error) == without_note(error)
    assert torch.equal(dump.returned.tensors["returns"], RETURNS)


def test_a_first_warning_is_saved_and_no_later_one(folder: Path, fresh_counts: None) -> None:
    with checking(action="warn"), pytest.warns(ContractWarning) as caught:
        compute(without_gamma())
        compute(without_gamma())

    (path,) = files(folder)
    assert [str(warning.message).splitlines()[-1].strip() for warning in caught] == [
        f"saved in {path}; batchpact replay shows it again"
    ]


def test_nothing_is_saved_where_nobody_asked_for_it(folder: Path) -> None:
    with checking(dump=""):
        error = broken(lambda: compute(without_gamma()))

    assert (error.note, files(folder)) == ("", [])


# --- what is saved ----------------------------------------------------------------------------------------------------


class Thing:
    """Nothing that a file can hold."""

    def __reduce__(self) -> Any:
        raise AssertionError("somebody pickles it")


def test_what_is_no_data_is_left_out_and_named(folder: Path) -> None:
    batch = without_gamma()
    batch.meta_info["thing"] = Thing()
    batch.non_tensor_batch["tools"] = np.array([1, Thing(), Thing(), 2], dtype=object)

    broken(lambda: compute(batch))

    dump = only_dump(folder)
    name = f"{Thing.__module__}.Thing"
    assert sorted(dump.record.left_out, key=str) == [
        LeftOut(part="read", placement="meta", key="thing", why=name),
        LeftOut(part="read", placement="non_tensor", key="tools", why=f"{name} in rows 1, 2"),
    ]
    assert dump.read.names() == ["rewards", "response_mask", "values", "uid", "data_source", "global_steps"]


def test_what_fits_in_no_batch_stands_beside_it(folder: Path) -> None:
    batch = scored()
    batch.non_tensor_batch["uid"] = ["a", "b", "c"]
    batch.meta_info["gamma"] = "high"

    error = broken(lambda: compute(batch))

    dump = only_dump(folder)
    assert {violation.field for violation in error.violations} == {"uid", "gamma"}
    assert (dump.read.columns["uid"], "uid" in dump.batch.non_tensor_batch) == (["a", "b", "c"], False)
    assert dump.record.left_out == ()


def test_a_name_in_two_stores_stands_beside_it_once(folder: Path) -> None:
    batch = without_gamma()
    batch.meta_info["values"] = 1.5

    broken(lambda: compute(batch))

    dump = only_dump(folder)
    assert (dump.read.meta["values"], dump.record.left_out) == (1.5, ())
    assert torch.equal(dump.read.tensors["values"], -rewards())


def test_nothing_holds_what_a_healthy_stage_was_handed() -> None:
    """A cycle would keep the memory of a batch until Python looks for cycles."""
    seen: list[weakref.ref[Any]] = []

    @stage(ComputeReturns)
    def watched(data: Any) -> Any:
        seen.append(weakref.ref(data))
        return written(returns=RETURNS * data.batch["rewards"].shape[0])

    gc.disable()
    try:
        watched(scored())
        assert [ref() for ref in seen] == [None]
    finally:
        gc.enable()


def test_the_caller_s_batch_is_as_it_was() -> None:
    batch, same = without_gamma(), without_gamma()

    broken(lambda: compute(batch))

    assert batch == same


def test_pad_rows_and_writers_are_saved(folder: Path) -> None:
    batch = scored().union(compute(scored()))
    batch._marks = batch._marks._replace(pads=np.array([False, False, False, True]))

    error = broken(lambda: compute(batch))

    dump = only_dump(folder)
    assert [violation.code for violation in error.violations] == ["BP033"]
    assert dump.batch.pad_mask.tolist() == [False, False, False, True]
    assert dump.batch.last_writer("returns") == "compute"


# --- bounds and failures ----------------------------------------------------------------------------------------------


def test_a_process_puts_so_many_files_into_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCHPACT_DUMP_LIMIT", "2")
    with checking(dump=str(folder)):
        notes = [broken(lambda: compute(without_gamma())).note for _ in range(4)]
    with checking(dump=str(folder / "other")):
        elsewhere = broken(lambda: compute(without_gamma())).note

    full = f"not saved in {folder}: this process has put 2 files there (BATCHPACT_DUMP_LIMIT)"
    assert notes[2:] == [full, full]
    assert len(list(folder.glob("*.safetensors"))) == 2
    assert elsewhere.startswith(f"saved in {folder / 'other'}")


def test_what_is_too_large_is_left_out_and_what_is_wrong_comes_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATCHPACT_DUMP_MIB", "2")
    batch = scored()
    batch.batch["rewards"] = torch.zeros(4, 3 * 2**16, dtype=torch.float16)  # 1.5 MiB, and wrong
    batch.batch["values"] = torch.zeros(4, 2**16)  # 1 MiB
    with checking(dump=str(folder)):
        broken(lambda: compute(batch))

    dump = only_dump(folder)
    assert [(left.key, left.why.partition(",")[0]) for left in dump.record.left_out] == [("values", "1.0 MB")]
    assert "rewards" in dump.read.tensors
    assert files(folder)[0].stat().st_size < 2 * 2**20


def test_a_full_disk_hides_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing, "write", full)

    error = broken(lambda: compute(without_gamma()))

    assert [violation.code for violation in error.violations] == ["BP001"]
    assert error.note == f"not saved in {folder}: OSError: [Errno 28] No space left on device"
    assert files(folder) == []


def test_a_folder_that_cannot_be_made_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with checking(dump=str(tmp_path / "file")):
        error = broken(lambda: compute(without_gamma()))

    assert [violation.code for violation in error.violations] == ["BP001"]
    assert error.note.startswith(f"not saved in {tmp_path / 'file'}: FileExistsError: ")
    assert "\n" not in error.note


def test_a_failure_takes_no_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCHPACT_DUMP_LIMIT", "1")
    with checking(dump=str(folder)):
        with monkeypatch.context() as patch:
            patch.setattr(writing, "write", _fails)
            broken(lambda: compute(without_gamma()))
        broken(lambda: compute(without_gamma()))

    assert len(files(folder)) == 1


def test_the_error_crosses_processes_with_its_note() -> None:
    error = broken(lambda: compute(without_gamma()))

    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_stage_in_a_stage_is_saved_once(folder: Path) -> None:
    @stage(ComputeReturns)
    def outer(data: Any) -> Any:
        return compute(without_gamma())

    broken(lambda: outer(scored()))

    assert Dump.load(files(folder)[0]).record.stage.name == "compute"
    assert len(files(folder)) == 1


def _values() -> dict[str, Any]:
    held = stores_of(scored())
    return {
        "rewards": rewards(),
        "response_mask": held.tensors["response_mask"],
        "uid": held.columns["uid"],
        "gamma": 0.5,
    }


def _fails(*args: object) -> None:

    raise OSError("no room")
