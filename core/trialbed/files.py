"""Reads texts, and writes files: atomically, or where an option names them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trialbed.errors import DataError, UsageError

MAX_PREFIX = 80
"""Characters of a file's name in that of the temporary file beside it: names have a limit."""


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without a byte-order mark.

    Raises:
        DataError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that replaces another once it is complete and on the disk; until then the other stays.

    A symbolic link stays one, and a file that was there keeps its permissions.

    Raises:
        OSError: it cannot be written; no partial file is left.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:MAX_PREFIX]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
        os.chmod(name, _mode(target))  # mkstemp's 0600 would keep it from those who may read the folder
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole: a reader sees the old content or the new one, even if the process dies.

    Raises:
        OSError: it cannot be written; the old file is still there.
    """
    with replacing(path) as file:
        file.write(content)


def write_folder(place: Path, fill: Callable[[Path], None]) -> None:
    """Write a folder as a whole: another process finds all of it or nothing. One that is there meanwhile stays.

    Args:
        fill: writes the files into the folder that it is given.

    Raises:
        OSError: it cannot be written; no partial folder is left.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{place.name[:MAX_PREFIX]}-", dir=place.parent))
    try:
        fill(made)
        made.chmod(0o755)
        made.rename(place)
    except BaseException as error:
        shutil.rmtree(made, ignore_errors=True)
        if not isinstance(error, OSError) or not place.is_dir():  # else another process was faster
            raise


def write_text(path: Path, text: str, option: str) -> None:
    """Write a file that an option names.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file with {option}") from error


def _mode(path: Path) -> int:
    """The permissions that a file has, or is given."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o644


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
