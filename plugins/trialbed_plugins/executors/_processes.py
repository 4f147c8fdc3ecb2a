"""The processes of a worker: its descendants, how much memory they hold, and how they are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator

import psutil

from trialbed.worker import WORKER_MARK

ROUNDS = 100
PAUSE = 0.02
"""Number of searches for stray processes, and seconds between them; a process may fork while it is killed."""


def descendants(pid: int) -> list[psutil.Process]:
    """The living processes that descend from ``pid``, itself not included; zombies are not alive."""
    found: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in _children(pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(child)
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
                found += descendants(child)
    return found


def resident_bytes(pid: int, without: Collection[int] = ()) -> int:
    """The memory (RSS) that a process and its descendants hold; 0 for one that is gone.

    Args:
        without: ids of processes that are left out.
    """
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in [psutil.Process(pid), *descendants(pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss if process.pid not in without else 0
    return total


def catching(pid: int, number: int) -> int | None:
    """The first of a process and its descendants that catches a signal."""
    family = (pid, *(child.pid for child in descendants(pid)))
    return next((process for process in family if _catches(process, number)), None)


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
    for thread in os.listdir(threads):
        with contextlib.suppress(OSError), open(f"{threads}/{thread}/children", "rb") as children:
            yield from map(int, children.read().split())
