"""Files of results: replaced all at once, and never two things in one place."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trialbed.errors import UsageError

Named = tuple[str, Path]
"""What a file is for, in words, and where it is."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes another's place when it is whole and on the disk; until then the other stays.

    Raises:
        OSError: it cannot be written; nothing is left of it.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def check_files(written: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """See before anything is sent that every file can be written and none takes the place of another.

    Raises:
        UsageError: says which file cannot be written, or is named twice.
    """
    seen = {Path(os.path.realpath(path)): what for what, path in read}
    for what, path in written:
        real = Path(os.path.realpath(path))
        if real in seen:
            raise UsageError(f"{path}: named for {what} and for {seen[real]}; give each a file of its own")
        seen[real] = what
        _check_writable(what, path)


def _check_writable(what: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: is no file; name another one for {what}")
        with tempfile.NamedTemporaryFile(dir=os.path.realpath(path.parent), prefix=f".{path.name}."):
            pass
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file for {what}") from error


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
