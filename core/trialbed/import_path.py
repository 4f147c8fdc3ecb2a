"""The search path for modules of this process and of the processes that it starts."""

from __future__ import annotations

import os
import sys

VARIABLE = "PYTHONPATH"


def put_first(folder: str) -> None:
    """Look in a folder before all others, also in processes that are started from now on."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    os.environ[VARIABLE] = os.pathsep.join([folder, *_others(folder)])


def put_last(folder: str) -> None:
    """Look in a folder after all others, in this process."""
    if folder not in sys.path:
        sys.path.append(folder)


def take_away(folder: str) -> None:
    """Look no longer in a folder, here and in processes that are started from now on."""
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    others = _others(folder)
    if others:
        os.environ[VARIABLE] = os.pathsep.join(others)
    else:
        os.environ.pop(VARIABLE, None)


def _others(folder: str) -> list[str]:
    return [part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part and part != folder]
