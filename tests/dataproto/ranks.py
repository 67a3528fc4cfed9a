"""A group of processes for the tests: `run_ranks` starts them, and each runs the scenarios of a module in their order.

A module of scenarios has `SCENARIOS`, a dict of functions that take this process's rank and the number of ranks; what
one returns, or the error that it raises, comes back from each rank. It is named on the command line, so that the
processes import it as any module.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.distributed as dist

ROOT = Path(__file__).parents[2]
SECONDS_OF_A_COLLECTIVE = 60
SECONDS_OF_A_RUN = 240


def run_ranks(module: str, world: int, folder: Path) -> list[dict[str, Any]]:
    """Run the scenarios of a module in as many processes; the outcomes of each rank, by scenario.

    A process that fails, or waits for the others for too long, fails all of it.
    """
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    command = [sys.executable, "-m", __name__, module, str(folder), str(world)]
    processes = [
        subprocess.Popen(
            [*command, str(rank)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        printed = [process.communicate(timeout=SECONDS_OF_A_RUN)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * world, "\n".join(printed)
    return [pickle.loads(_outcomes(folder, rank).read_bytes()) for rank in range(world)]


def _outcomes(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank}.pickle"


def _run(module: str, folder: Path, world: int, rank: int) -> None:
    scenarios: Mapping[str, Any] = importlib.import_module(module).SCENARIOS
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting-point",
        world_size=world,
        rank=rank,
        timeout=timedelta(seconds=SECONDS_OF_A_COLLECTIVE),
    )
    outcomes: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors is in prototype stage")
        for name, scenario in scenarios.items():
            try:
                outcomes[name] = scenario(rank, world)
            except ValueError as error:  # all of ours are; anything else ends the process
                outcomes[name] = f"{type(error).__name__}: {error}"
    _outcomes(folder, rank).write_bytes(pickle.dumps(outcomes))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    _run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
