"""Temporary folders that are removed even if the process that made them was killed: by the next one that makes some."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "trialbed-"
IN_USE = ".in-use"
"""A file in each folder, locked as long as the process runs that made the folder; the system releases the lock."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, removed afterwards; those of processes that were killed are removed now.

    Raises:
        OSError: it cannot be made.
    """
    from filelock import FileLock

    remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    # Under its own name only when it is locked: else another process could take it for abandoned.
    lock = FileLock(folder / f"{IN_USE}.new", thread_local=False)
    try:
        with contextlib.suppress(OSError, NotImplementedError):
            lock.acquire()
            os.rename(folder / f"{IN_USE}.new", folder / IN_USE)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def remove_abandoned() -> None:
    """Remove this user's temporary folders whose process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_own(folder) and _is_own(folder / IN_USE):
            _remove_if_abandoned(folder)


def _is_own(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return not stat.S_ISLNK(status.st_mode) and (not hasattr(os, "getuid") or status.st_uid == os.getuid())


def _remove_if_abandoned(folder: Path) -> None:
    from filelock import FileLock, Timeout

    with contextlib.suppress(Timeout, OSError, NotImplementedError), FileLock(folder / IN_USE, timeout=0):
        shutil.rmtree(folder, ignore_errors=True)
