"""Dumps of what breaks on workers."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import torch

from batchpact.contracts import WorkerGroup, checking
from batchpact.contracts.dump.loading import Dump
from tests.contracts.dump.support import broken, files, without_note
from tests.contracts.workers.calls import batch_of
from tests.contracts.workers.conftest import actors as actors
from tests.contracts.workers.conftest import groups as groups

Groups = Callable[..., WorkerGroup]


def test_each_rank_saves_its_part_of_a_broken_result(groups: Groups, tmp_path: Path) -> None:
    group = groups()
    with checking(dump=str(tmp_path)):
        error = broken(lambda: group.loses_a_row(batch_of(5)))

    dumps = [Dump.load(path) for path in files(tmp_path)]
    dumps.sort(key=lambda dump: dump.record.rank or 0)
    assert [(dump.record.rank, len(dump.batch)) for dump in dumps] == [(0, 3), (1, 2)]
    assert [
        torch.equal(dump.read.tensors["rewards"], batch_of(5).batch["rewards"][rows])
        for dump, rows in zip(dumps, (slice(0, 3), slice(3, 5)), strict=True)
    ] == [True, True]
    first = next(path for path in files(tmp_path) if "-rank0-" in path.name)
    assert error.note == f"saved in {first} on node {platform.node()}; batchpact replay shows it again"
    assert without_note(error).splitlines()[2:] == str(dumps[0].error).splitlines()[2:]


def test_an_undeclared_read_on_a_worker_is_saved(groups: Groups, tmp_path: Path) -> None:
    group = groups()
    with checking(dump=str(tmp_path)):
        error = broken(lambda: group.peeks(batch_of(4)))

    assert {Dump.load(path).record.rank for path in files(tmp_path)} == {0, 1}
    assert [violation.code for violation in error.violations] == ["BP002"]


def test_what_breaks_on_the_controller_is_saved_there(groups: Groups, tmp_path: Path) -> None:
    group, batch = groups(), batch_of(4)
    batch.batch["rewards"] = batch.batch["rewards"].double()
    with checking(dump=str(tmp_path)):
        error = broken(lambda: group.generate(batch))

    (path,) = files(tmp_path)
    assert (Dump.load(path).record.rank, len(Dump.load(path).batch)) == (None, 4)
    assert error.note == f"saved in {path}; batchpact replay shows it again"


def test_nothing_is_saved_where_nobody_asked_for_it(groups: Groups, tmp_path: Path) -> None:
    assert broken(lambda: groups().loses_a_row(batch_of(5))).note == ""
    assert files(tmp_path) == []
