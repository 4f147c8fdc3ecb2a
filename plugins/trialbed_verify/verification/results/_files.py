"""Checks the files of a verification before anything is sent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.files import make_private_folder

Named = tuple[str, Path]
"""The purpose of a file, in words, and its path."""


def check_files(written: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """Check that every file can be written and that no file is named twice.

    Raises:
        UsageError: a file cannot be written, or is named twice.
    """
    seen = {Path(os.path.realpath(path)): what for what, path in read}
    for what, path in written:
        real = Path(os.path.realpath(path))
        if real in seen:
            raise UsageError(f"{path}: named both for {what} and for {seen[real]}; give each its own file")
        seen[real] = what
        _check_writable(what, path)


def _check_writable(what: str, path: Path) -> None:
    try:
        make_private_folder(path.parent)
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: not a regular file; name another one for {what}")
        with tempfile.NamedTemporaryFile(dir=os.path.realpath(path.parent), prefix=f".{path.name}."):
            pass
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file for {what}") from error
