"""The processes of a worker: its descendants, how much memory they hold, and how they are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator
from functools import lru_cache

import psutil

from trialbed.worker import WORKER_MARK

ROUNDS = 100
PAUSE = 0.02
"""Number of searches for stray processes, and seconds between them; a process may fork while it is killed."""


def descendants(pid: int, without: Collection[int] = ()) -> list[psutil.Process]:
    """The living processes that descend from ``pid``, itself not included; zombies are not alive.

    Args:
        without: ids of processes that are left out; their descendants are not.
    """
    found: list[psutil.Process] = []
    for child in _descendants(pid):
        if child not in without:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(child)
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def resident_bytes(pid: int, without: Collection[int] = ()) -> int:
    """The memory (RSS) that a process and its descendants hold; 0 for one that is gone.

    Args:
        without: ids of processes that are left out.
    """
    return sum(_resident_bytes(process) for process in (pid, *_descendants(pid)) if process not in without)


def catching(pid: int, number: int) -> int | None:
    """The first of a process and its descendants that catches a signal."""
    return next((process for process in (pid, *_descendants(pid)) if _catches(process, number)), None)


def _descendants(pid: int) -> Iterator[int]:
    """The ids of all processes that descend from ``pid``, zombies too."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in _children(pid):
            yield child
            yield from _descendants(child)


def _resident_bytes(pid: int) -> int:
    # This is asked before every trial and while it runs; a `psutil.Process` reads several files more.
    with contextlib.suppress(IndexError, psutil.Error):
        if sys.platform != "linux":
            return psutil.Process(pid).memory_info().rss
        return int(_content(f"/proc/{pid}/statm").split()[1]) * _page_size()
    return 0


def _content(file: str) -> bytes:
    """What a file of ``/proc`` holds; nothing if its process is gone."""
    with contextlib.suppress(OSError), open(file, "rb", buffering=0) as stream:
        return stream.read()
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
    """The children of a process; on Linux from the only file that saves a walk over all processes."""
    threads = f"/proc/{pid}/task"
    if sys.platform != "linux" or not os.path.exists(f"{threads}/{pid}/children"):
        yield from (child.pid for child in psutil.Process(pid).children())
        return
    with contextlib.suppress(OSError):
        for thread in os.listdir(threads):
            yield from map(int, _content(f"{threads}/{thread}/children").split())
