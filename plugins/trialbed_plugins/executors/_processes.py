"""The processes of a worker: its descendants, how much memory they hold, and how they are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import psutil

from trialbed.worker import WORKER_MARK

ROUNDS = 100
PAUSE = 0.02
"""Number of searches for stray processes, and seconds between them; a process may fork while it is killed."""

PART = 1 << 16
"""Bytes of a file that are read at once."""


def descendants(pid: int) -> list[psutil.Process]:
    """The living processes that descend from ``pid``, itself not included."""
    return living(family(pid)[1:])


def living(pids: Iterable[int]) -> list[psutil.Process]:
    """Those of these processes that are alive; zombies are not."""
    found: list[psutil.Process] = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def family(pid: int) -> list[int]:
    """The ids of a process and of all that descend from it, zombies too."""
    found = [pid]
    for member in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += _children(member)
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """The memory (RSS) that these processes hold together; 0 for one that is gone."""
    return sum(map(_resident_bytes, pids))


def catching(pid: int, number: int) -> int | None:
    """The first of a process and its descendants that catches a signal."""
    return next((process for process in family(pid) if _catches(process, number)), None)


def _resident_bytes(pid: int) -> int:
    # This is asked before every trial and while it runs; a `psutil.Process` reads several files more.
    with contextlib.suppress(IndexError, psutil.Error):
        if sys.platform != "linux":
            return psutil.Process(pid).memory_info().rss
        return int(_content(f"/proc/{pid}/statm").split()[1]) * _page_size()
    return 0


def read_file(file: str) -> bytes:
    """Read a file of ``/proc`` without the objects of a stream: it is read after every trial.

    Raises:
        OSError: its process is gone, or is another user's.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while part := os.read(descriptor, PART):
            content += part
        return content
    finally:
        os.close(descriptor)


def _content(file: str) -> bytes:
    with contextlib.suppress(OSError):
        return read_file(file)
    return b""


@lru_cache(maxsize=1)
def _page_size() -> int:
    return os.sysconf("SC_PAGESIZE")


def _catches(pid: int, number: int) -> bool:
    if sys.platform != "linux":
        return True
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as status:
        mask = next(line.partition(":")[2] for line in status if line.startswith("SigCgt:"))
        return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def end_family(pid: int) -> None:
    """Kill a process and its descendants; those first, while it is their parent and they can be found.

    They are stopped before, so that none starts another between the search and the kill. Nothing may have waited for
    ``pid`` yet.
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
    """Kill these processes, as far as they still run."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def marked(marks: Collection[str]) -> list[psutil.Process]:
    """Every living process with one of these marks in its environment, regardless of its parent."""
    return [process for process in psutil.process_iter() if _mark(process) in marks]


def end_marked(marks: Collection[str]) -> int:
    """Kill every process with one of these marks, until none is left; returns how many there were."""
    ended: set[int] = set()
    for _ in range(ROUNDS):
        strays = marked(marks)
        if not strays:
            break
        ended |= {process.pid for process in strays}
        end(strays)
        time.sleep(PAUSE)
    return len(ended)


def _mark(process: psutil.Process) -> str | None:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.environ().get(WORKER_MARK)
    except (psutil.Error, OSError):
        return None


def _children(pid: int) -> Iterator[int]:
    """The children of a process; on Linux from the only files that save a walk over all processes."""
    if sys.platform != "linux" or not _lists_children():
        yield from (child.pid for child in psutil.Process(pid).children())
        return
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            yield from map(int, _content(f"/proc/{pid}/task/{thread}/children").split())


@lru_cache(maxsize=1)
def _lists_children() -> bool:
    """Return whether this Linux has the files that list the children of a thread."""
    own = os.getpid()
    return os.path.exists(f"/proc/{own}/task/{own}/children")
