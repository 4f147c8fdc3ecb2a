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


def _grown(before: int | None, after: int | None, bound: int) -> bool:
    return before is not None and after is not None and after - before > bound


def _limits(process: psutil.Process) -> tuple[tuple[int, int], ...]:
    # Only Linux can read those of another process.
    names = [name for name in dir(psutil) if name.startswith("RLIMIT_")]
    return tuple(process.rlimit(getattr(psutil, name)) for name in names)


def _folder(process: psutil.Process) -> str:
    # The link says where a folder was removed; psutil cuts that off.
    link = f"/proc/{process.pid}/cwd"
    return os.readlink(link) if sys.platform == "linux" else process.cwd()


def _readable(read: Callable[[], T]) -> T | None:
    with contextlib.suppress(psutil.Error, OSError):
        return read()
    return None
