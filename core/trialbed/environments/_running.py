"""Which processes run from an environment."""

from __future__ import annotations

from pathlib import Path

import psutil


def users(folder: Path) -> list[psutil.Process]:
    """The processes that were started with the interpreter of the environment in a folder."""
    inside = f"{folder}/"
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or [""]
        if Path(command[0]).as_posix().startswith(inside):
            found.append(process)
    return found
