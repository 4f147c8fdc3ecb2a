"""Checks of the files that a verification is to write, before it begins."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from trialbed.errors import UsageError

Named = tuple[str, Path]
"""What a file is for, in words, and where it is."""


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
