"""The condition of a worker: its open descriptors, and whether a trial changed anything that the next one relies on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psutil

from trialbed_plugins.executors._processes import read_file

DESCRIPTORS = 64
"""Open descriptors that trials may add to those of a worker that has just loaded its adapter."""

THREADS = 64
"""Threads that they may add."""

LEAST_TRIALS = 100
"""Trials that a worker runs before it is replaced."""

MOST_TRIALS = 1_000
"""Trials that it runs at most."""

START_SHARE = 0.05
"""Largest part of the time of its trials that its start may take, where more of them can make it smaller."""

T = TypeVar("T")


@dataclass(frozen=True)
class Condition:
    """A process's open descriptors, threads, resource limits and working directory; None where they cannot be read.

    Only Linux shows the limits of another process. There, the folder also says whether it was removed.
    """

    descriptors: int | None
    threads: int | None
    limits: bytes | None
    folder: str | None

    @classmethod
    def read(cls, pid: int) -> Condition:
        """The condition of this process now."""
        if sys.platform == "linux":
            # Read after every trial: psutil reads more files for the same, and asks for the limits one by one.
            place = f"/proc/{pid}"
            return cls(
                descriptors=_readable(lambda: len(os.listdir(f"{place}/fd"))),
                threads=_readable(lambda: len(os.listdir(f"{place}/task"))),
                limits=_readable(lambda: read_file(f"{place}/limits")),
                folder=_readable(lambda: os.readlink(f"{place}/cwd")),
            )
        try:
            process = psutil.Process(pid)
        except psutil.Error:
            return cls(None, None, None, None)
        with process.oneshot():
            return cls(
                descriptors=_readable(process.num_fds),
                threads=_readable(process.num_threads),
                limits=None,
                folder=_readable(process.cwd),
            )

    def worse(self, later: Condition) -> str:
        """Return the reason why a later condition is unfit for another trial; empty if it is fit."""
        if _grown(self.descriptors, later.descriptors, DESCRIPTORS):
            return f"it has {later.descriptors} open descriptors, and had {self.descriptors}"
        if _grown(self.threads, later.threads, THREADS):
            return f"it has {later.threads} threads, and had {self.threads}"
        if self.limits is not None and later.limits is not None and self.limits != later.limits:
            return "its resource limits were changed"
        if self.folder is not None and self.folder != later.folder:
            return "its working directory was changed or removed"
        return ""


def trials_worth_a_start(start: float, trials: float) -> int:
    """The number of trials after which a worker is replaced, also where nothing in its condition shows why.

    Where trials take milliseconds, starting workers would take most of the time.

    Args:
        start: seconds that its start took.
        trials: seconds that its trials took.
    """
    return LEAST_TRIALS if start <= START_SHARE * trials else MOST_TRIALS


def _grown(before: int | None, after: int | None, bound: int) -> bool:
    return before is not None and after is not None and after - before > bound


def _readable(read: Callable[[], T]) -> T | None:
    with contextlib.suppress(psutil.Error, OSError):
        return read()
    return None
