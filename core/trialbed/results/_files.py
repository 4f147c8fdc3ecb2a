"""Writes result documents."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import replace_file
from trialbed.records import PROFILE

MAX_NAME = 80
"""Characters of each part of a file's name."""


def document_path(document: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """The path of a result document in a folder; names cannot lead out of the folder."""
    about = document["metadata"]
    return Path(folder) / f"{_safe(about['agent_name'])}_{_safe(about['test_set'])}.json"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Check in advance that documents can be written into a folder; leaves nothing behind.

    Raises:
        DataError: they cannot.
    """
    path = Path(folder)
    absent: list[Path] = []
    try:
        absent += [place for place in (path, *path.parents) if not place.exists()]
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        for place in absent:
            with suppress(OSError):  # another run may have written into it meanwhile
                place.rmdir()


def write_document(document: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Write ``{agent_name}_{test_set}.json`` into the folder, made where absent, and return its path.

    The file is replaced as a whole: a reader sees the old document or the new one, also if the process dies.
    Names are made safe for files; they cannot lead out of the folder.

    Raises:
        DataError: the folder or file cannot be written.
    """
    path = document_path(document, folder)
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A lone surrogate cannot be written as UTF-8; its escape is what JSON writes for it.
        replace_file(path, f"{text}\n".encode(errors="backslashreplace"))
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} cannot be written: {error.strerror}; name another folder with --output")


def _safe(name: str) -> str:
    """The name itself where it is safe; else its safe part and a hash, so that names stay unique.

    The colon before a profile, which not every file system takes, becomes ``@``.
    """
    safe = re.sub(r"[^A-Za-z0-9._:-]", "_", name).lstrip(".")[:MAX_NAME]
    kept = safe.replace(PROFILE, "@")
    if safe == name:
        return kept
    return f"{kept}-{hashlib.sha256(name.encode(errors='backslashreplace')).hexdigest()[:8]}"


def safe_name(name: str) -> str:
    """A name as the name of a file or folder, which cannot lead out of its folder; unique for each name."""
    return _safe(name)
