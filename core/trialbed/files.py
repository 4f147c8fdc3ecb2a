"""Read texts, write files, atomically or to the path in an option, and make folders.

Prompts, answers and expected calls are for the user who asked for them. Folders and files with them are private.

A temporary folder is removed by the next process that makes one, even if its own process was killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

from trialbed.errors import DataError, UsageError

MAX_PREFIX = 80
"""Characters of a file's name that are repeated in its temporary file's name, because names have a limit."""

PREFIX = "trialbed-"
IN_USE = ".in-use"
"""A file in each folder, locked as long as the process runs that made the folder; the system releases the lock."""


LARGEST_FILE = 512 * 2**20
"""Bytes of a file that is read as a whole, or of one line of a file that is read line by line."""

PART = 2**20


def read_bytes(path: Path, most: int = LARGEST_FILE) -> bytes:
    """Return the content of a file, which may be a pipe.

    Raises:
        OSError: it cannot be read.
        DataError: it is larger than ``most`` bytes, or does not end.
    """
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if stat.S_ISREG(about.st_mode) and about.st_size <= most:
            return file.read()
        parts, size = [], about.st_size if stat.S_ISREG(about.st_mode) else 0
        while size <= most and (part := file.read(PART)):
            parts.append(part)
            size += len(part)
    if size > most:
        raise DataError(f"{path}: has more than {most // 2**20} MiB; split it, or remove a part")
    return b"".join(parts)


def read_lines(file: BinaryIO, most: int = LARGEST_FILE) -> Iterator[bytes]:
    """Yield the lines of an open file with their ends.

    Raises:
        DataError: a line has more than ``most`` bytes.
    """
    for number in count(1):
        line = file.readline(most + 1)
        if not line:
            return
        if len(line) > most:
            raise DataError(f"{file.name}: line {number} has more than {most // 2**20} MiB, and is not read")
        yield line


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, without a byte-order mark.

    Raises:
        DataError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from error


def make_private_folder(folder: Path) -> None:
    """Make a folder and missing parents for this user alone. Existing folders do not change.

    Raises:
        OSError: it cannot be made.
    """
    for absent in [place for place in reversed((folder, *folder.parents)) if not place.exists()]:
        absent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # it is no folder if this fails


def make_private_file(path: Path) -> None:
    """Make an empty file for this user alone if it does not exist; SQLite's own files next to it get its permissions.

    If it cannot be made, the error is left to the code that opens it.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that replaces another once it is complete and on the disk; until then the other stays.

    A symbolic link stays one, and a file that was there keeps its permissions; a new one is for this user alone.

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
        with contextlib.suppress(FileNotFoundError):
            os.chmod(name, stat.S_IMODE(target.stat().st_mode))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole. A reader sees the old content or the new one, even if the process dies.

    Raises:
        OSError: it cannot be written; the old file is still there.
    """
    with replacing(path) as file:
        file.write(content)


def give_second_name(path: Path, second: Path) -> None:
    """Give a file a second name, replacing any file of that name; it is copied if links fail.

    A symbolic link of that name stays one, and the file takes the permissions of the replaced one.

    Raises:
        OSError: it cannot be written; the file that had the name is still there.
    """
    target = Path(os.path.realpath(second))
    made = target.with_name(f".{target.name[:MAX_PREFIX]}.{os.urandom(8).hex()}.tmp")
    try:
        os.link(path, made)
        with contextlib.suppress(FileNotFoundError):
            made.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(made, target)
    except OSError:
        with path.open("rb") as source, replacing(second) as copy:
            shutil.copyfileobj(source, copy)
    finally:
        made.unlink(missing_ok=True)  # it stays if both names were the file's already


def write_folder(place: Path, fill: Callable[[Path], None]) -> None:
    """Write a folder as a whole. Another process finds all of it or nothing. A folder made meanwhile is kept.

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


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a new folder, removed afterwards; also remove folders of processes that were killed.

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
    """Remove this user's temporary folders of processes that are gone."""
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
