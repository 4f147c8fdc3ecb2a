"""One process at a time per run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from trialbed.errors import UsageError


@contextmanager
def run_lock(store: str, config_digest: str) -> Iterator[None]:
    """Hold the lock of a run beside its store; the system frees it when the process dies, however it dies.

    A store that is a database URL has no place for a lock file: there the store's own uniqueness of trials
    is the guard.

    Raises:
        UsageError: another process has it.
    """
    if "://" in store:
        yield
        return
    path = Path(f"{store}.{config_digest[:16]}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(
            "the same run is going on in another process; wait for it, or change --seed or --store to run beside it"
        ) from error
    try:
        yield
    finally:
        lock.release()
        path.unlink(missing_ok=True)
