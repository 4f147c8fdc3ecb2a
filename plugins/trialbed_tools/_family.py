"""A program and its children: their memory, and their end."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import psutil


class Family:
    """A program in a process group of its own, and its children, also those that have left the group.

    Args:
        pid: of the program.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[int, psutil.Process] = {}
        with suppress(psutil.Error):
            self._seen[pid] = psutil.Process(pid)
        self._first = self._seen.get(pid)

    def look(self) -> int:
        """Return the bytes of memory that they use; children are remembered, as nothing leads to them later."""
        used = 0
        # It knows when its process began, and takes no later one with the same number for it.
        self._seen = {pid: one for pid, one in self._seen.items() if one.is_running()}
        with suppress(psutil.Error):
            found = [] if self._first is None else [self._first, *self._first.children(recursive=True)]
            for one in found:
                self._seen[one.pid] = one
                with suppress(psutil.Error):
                    used += one.memory_info().rss
        return used

    def kill(self) -> None:
        """End all of them at once."""
        self.look()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        for one in list(self._seen.values()):
            with suppress(psutil.Error):
                one.kill()
