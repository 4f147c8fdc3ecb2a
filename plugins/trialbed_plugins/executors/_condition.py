"""The condition of a worker: what it holds open, and whether a trial changed what the next one relies on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psutil

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

LIMITS = tuple(getattr(psutil, name) for name in dir(psutil) if name.startswith("RLIMIT_"))
"""The resource limits of this system."""

T = TypeVar("T")


@dataclass(frozen=True)
class Condition:
    """A process's open descriptors, threads, resource limits and working directory; None where they cannot be read."""

    descriptors: int | None
    threads: int | None
    limits: tuple[tuple[int, int], ...] | None
    folder: str | None

    @classmethod
    def read(cls, pid: int) -> Condition:
        """The condition of this process now."""
        try:
            process = psutil.Process(pid)
        except psutil.Error:
            return cls(None, None, None, None)
        with process.oneshot():
            return cls(
                descriptors=_readable(process.num_fds),
                threads=_readable(process.num_threads),
                limits=_readable(lambda: _limits(process)),
                folder=_readable(lambda: _folder(process)),
            )

    def worse(self, later: Condition) -> str:
        """What makes a later condition unfit for another trial; empty if nothing does."""
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


def _limits(process: psutil.Process) -> tuple[tuple[int, int], ...]:
    # Only Linux can read those of another process.
    return tuple(process.rlimit(limit) for limit in LIMITS)


def _folder(process: psutil.Process) -> str:
    # The link says where a folder was removed; psutil cuts that off.
    link = f"/proc/{process.pid}/cwd"
    return os.readlink(link) if sys.platform == "linux" else process.cwd()


def _readable(read: Callable[[], T]) -> T | None:
    with contextlib.suppress(psutil.Error, OSError):
        return read()
    return None
