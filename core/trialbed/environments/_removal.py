"""Taking environments off the shelf."""

from __future__ import annotations

from filelock import Timeout

from trialbed.environments._built import Built
from trialbed.environments._running import users
from trialbed.environments._shelf import Shelf
from trialbed.errors import UsageError


def remove(shelf: Shelf, built: Built, *, force: bool = False) -> None:
    """Delete an environment, and forget which requests it answered.

    Args:
        force: also if a process runs from it.

    Raises:
        UsageError: it is in use, or its folder may not be written to.
    """
    running = users(built.folder)
    if running and not force:
        pids = ", ".join(str(process.pid) for process in running)
        raise UsageError(f"{built.title} is in use by process {pids}; wait for its end, or give --force")
    try:
        with shelf.file_lock(built.folder.name):
            shelf.forget(built)
            shelf.discard(built.folder)
    except Timeout as error:
        raise UsageError(f"{built.title} is being built by another process; wait for its end") from error
    except OSError as error:
        raise UsageError(f"{built.title} cannot be removed: {error.filename}: {error.strerror}") from error
