"""Git repositories in temporary folders."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SETTINGS = {"user.name": "A", "user.email": "a@example.org", "init.defaultBranch": "main", "commit.gpgsign": "false"}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, whatever the settings of this machine are."""
    options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    run = subprocess.run(["git", *options, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def commit(folder: Path, message: str) -> None:
    """Commit everything in a folder."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
