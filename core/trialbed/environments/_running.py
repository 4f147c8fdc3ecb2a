"""Which processes run from an environment."""

from __future__ import annotations

from pathlib import Path

import psutil


def users(folder: Path) -> list[psutil.Process]:
    """The processes that were started with the interpreter of the environment in a folder."""
    inside = folder.resolve()
    return [process for process in psutil.process_iter(["cmdline"]) if _runs_from(process, inside)]


def _runs_from(process: psutil.Process, folder: Path) -> bool:
    # The interpreter itself is a link to one outside; what the process was called by tells.
    command = process.info["cmdline"]
    return bool(command) and Path(command[0]).is_absolute() and Path(command[0]).parent.resolve().is_relative_to(folder)
