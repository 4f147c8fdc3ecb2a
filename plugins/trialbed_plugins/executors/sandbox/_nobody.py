"""The user that the workers of root run as: nobody, who owns nothing but the worker's own folder."""

from __future__ import annotations

import os
from pathlib import Path

NOBODY = 65534


def permits(path: Path, uid: int, gid: int, bit: int) -> bool:
    """Return whether the permissions of a file give a user the right of this bit: 4 to read, 1 to enter."""
    status = path.stat()
    shift = 6 if status.st_uid == uid else 3 if status.st_gid == gid else 0
    return bool(status.st_mode >> shift & bit)


def readable_by(path: Path, uid: int, gid: int) -> bool:
    """Return whether the permissions of a file and of the folders above it let a user read it."""
    return permits(path, uid, gid, 4) and all(permits(parent, uid, gid, 1) for parent in path.parents)


def hand_over(folder: Path, uid: int, gid: int) -> None:
    """Make a user the owner of a worker's folder and of all that is in it."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, gid)
    # The folder of all workers: its entries can be reached, but not listed.
    folder.parent.chmod(0o711)
