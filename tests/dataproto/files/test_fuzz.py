"""A short round of `fuzz.py`, in a process of its own: it runs under a limit of memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

ROUND = 1500


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is that of Linux")
def test_mutated_files_give_one_error_or_the_right_data() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))}
    command = [sys.executable, "-m", "tests.dataproto.files.fuzz", str(ROUND), "7"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr
    refused, read = (sum(map(int, re.findall(rf"(\d+) {outcome}", run.stdout))) for outcome in ("refused", "read"))
    assert refused + read == ROUND
    assert refused > ROUND / 2 and read > ROUND / 50
