"""Processes that a test has started, and what they have started in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import psutil


def family(pid: int) -> list[psutil.Process]:
    """The processes below this one; to be asked for before it is killed, since orphans get another parent."""
    return psutil.Process(pid).children(recursive=True)


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs: where the first process of the machine waits for no orphan, it stays a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen within {seconds:g} s"
        time.sleep(0.01)


def wait_until_ended(processes: Sequence[psutil.Process], seconds: float = 60.0) -> None:
    """Wait until none of the processes runs."""
    deadline = time.monotonic() + seconds
    while alive := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < deadline, f"still running after {seconds:g} s: {alive}"
        time.sleep(0.01)
