"""Find the processes of a worker, check their memory and condition, and end them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from trialbed.worker import WORKER_MARK

ROUNDS = 100
PAUSE = 0.02
"""Number of searches for stray processes, and seconds between them. A process may fork while it is being killed."""

LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Whether this system lists the children of a thread in files, which is optional on Linux."""


def descendants(pid: int) -> list[psutil.Process]:
    return living(family(pid)[1:])


def living(pids: Iterable[int]) -> list[psutil.Process]:
    """Return the processes that are alive, without zombies."""
    found: list[psutil.Process] = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def family(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants, including zombies."""
    found = [pid]
    for member in found:
        found += children(member)
    return found


def children(pid: int) -> list[int]:
    """Return the ids of a process's children, including zombies."""
    found: list[int] = []
    with contextlib.suppress(psutil.NoSuchProcess, OSError):
        if not LISTS_CHILDREN:
            return [child.pid for child in psutil.Process(pid).children()]
        # Only these files avoid a walk over all processes.
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split())
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the total memory (RSS) of these processes, in bytes. Ended processes count as 0."""
    total = 0
    # This runs before every trial and during it. A `psutil.Process` reads several more files.
    for pid in pids:
        with contextlib.suppress(IndexError, OSError, psutil.Error):
            if sys.platform == "linux":
                total += int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
            else:
                total += psutil.Process(pid).memory_info().rss
    return total


def end_family(pid: int) -> None:
    """Kill the descendants of a process, and then the process itself: without it, they could not be found.

    They are stopped first, because they could start others between the search and the kill. The caller must not have
    waited for ``pid`` yet.
    """
    for _ in range(ROUNDS):
        family = descendants(pid)
        if not family:
            break
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.suspend()
        end(family)
        time.sleep(PAUSE)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def end(processes: Collection[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def marked(mark: str) -> list[psutil.Process]:
    """Return every living process with this mark in its environment, regardless of its parent."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(WORKER_MARK) == mark:
                found.append(process)
    return found


def end_marked(mark: str) -> None:
    """Kill every process with this mark until all are gone."""
    for _ in range(ROUNDS):
        strays = marked(mark)
        if not strays:
            break
        end(strays)
        time.sleep(PAUSE)


def end_orphans(family: Sequence[int]) -> None:
    """Kill children of the first process outside the family. Their own supervisors were killed."""
    for pid in children(family[0]) if family else ():
        if pid not in family:
            end_family(pid)


DESCRIPTORS = 64
"""Descriptors that trials may open in a worker, in addition to those after loading its adapter."""

THREADS = 64
"""Threads that trials may add."""

T = TypeVar("T")


@dataclass(frozen=True)
class ProcessCondition:
    """A process's open descriptors, threads, resource limits and working directory; None if they cannot be read.

    They are only read on Linux. The folder also shows whether it was removed.
    """

    descriptors: int | None
    threads: int | None
    limits: bytes | None
    folder: str | None

    @classmethod
    def read(cls, pid: int) -> ProcessCondition:
        if sys.platform == "linux":
            # psutil would read more files, and ask for the limits one by one.
            place = f"/proc/{pid}"
            return cls(
                descriptors=_readable(lambda: len(os.listdir(f"{place}/fd"))),
                threads=_readable(lambda: len(os.listdir(f"{place}/task"))),
                limits=_readable(lambda: Path(f"{place}/limits").read_bytes()),
                folder=_readable(lambda: os.readlink(f"{place}/cwd")),
            )
        return cls(None, None, None, None)

    def worse(self, later: ProcessCondition) -> str:
        """Explain why a later condition is unfit for another trial; empty if it is fit."""
        counts = (
            ("open descriptors", self.descriptors, later.descriptors, DESCRIPTORS),
            ("threads", self.threads, later.threads, THREADS),
        )
        for name, before, after, bound in counts:
            if before is not None and after is not None and after - before > bound:
                return f"it has {after} {name}, and had {before}"
        if self.limits is not None and later.limits is not None and self.limits != later.limits:
            return "its resource limits were changed"
        if self.folder is not None and self.folder != later.folder:
            return "its working directory was changed or removed"
        return ""


def _readable(read: Callable[[], T]) -> T | None:
    with contextlib.suppress(psutil.Error, OSError):
        return read()
    return None
