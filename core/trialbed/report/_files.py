"""Writes result documents."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from trialbed.errors import DataError
from trialbed.files import give_second_name, make_private_folder, replacing
from trialbed.records import PROFILE
from trialbed.wire.redaction import redact

MAX_NAME = 80
"""The longest part of a latest document's name, in characters."""

MAX_PART = 50
"""The longest part of a kept document's name, which has more parts, in characters."""


def document_path(agent: str, test_set: str, folder: str | os.PathLike[str]) -> Path:
    """Return the path of the latest document of an agent and a test set; names cannot lead out of the folder."""
    return Path(folder) / f"{safe_name(agent)}_{safe_name(test_set)}.json"


def kept_path(document: Mapping[str, Any], folder: str | os.PathLike[str]) -> Path:
    """Return the path of one run's document, which no other run replaces; the name has its model and the run."""
    about = document["metadata"]
    parts = (about[key] or "own-model" for key in ("agent_name", "test_set", "model", "run_id"))
    return Path(folder) / f"{'_'.join(safe_name(part, MAX_PART) for part in parts)}.json"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Check in advance that documents can be written into a folder; leaves nothing behind.

    Raises:
        DataError: they cannot.
    """
    path = Path(folder)
    try:
        with tempfile.TemporaryFile(dir=next(place for place in (path, *path.parents) if place.exists())):
            pass
    except OSError as error:
        raise unwritable(path, error) from error


def json_bytes(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bytes:
    """Return documents as indented JSON in UTF-8; a lone surrogate, which that lacks, as JSON's escape for it.

    NaN and infinities are null.
    """
    try:
        # The writer of the standard library takes six times as long as soon as it indents.
        return to_json(value, indent=2, inf_nan_mode="null")
    except ValueError:  # a lone surrogate, or values nested more deeply than this writer follows
        return json.dumps(clean(value, ()), ensure_ascii=False, indent=2).encode(errors="backslashreplace")


def clean(value: Any, secrets: Collection[str]) -> Any:
    """Return the value in JSON's own types, with tuples as lists, NaN and infinities as null, and secrets redacted."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): clean(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, secrets) for item in value]
    return value


def document_parts(document: Mapping[str, Any], entries: Iterable[bytes] = ()) -> Iterator[bytes]:
    """Yield a result document as indented JSON, part by part.

    Args:
        entries: its results as ``json_bytes`` gives them, if the document lacks them.
    """
    whole, before = json_bytes(document), b""
    for text in entries:
        before, start = b",\n    ", before or whole.removesuffix(b"]\n}") + b"\n    "
        yield start + text.replace(b"\n", b"\n    ")
    yield b"\n  ]\n}" if before else whole


def write_document(document: Mapping[str, Any], folder: str | os.PathLike[str], entries: Iterable[bytes] = ()) -> Path:
    """Write a run's document into the folder, made if absent, and return the path of the latest one.

    ``{agent_name}_{test_set}_{model}_{run_id}.json`` stays; ``{agent_name}_{test_set}.json`` is another name of it
    until the next run of the agent on the test set, or a copy if the disk gives no file two names. Each file is
    replaced as a whole: a reader sees the old document or the new one, also if the process dies. Names are made safe
    for files; they cannot lead out of the folder.

    Args:
        entries: as ``document_parts`` takes them.

    Raises:
        DataError: the folder or a file cannot be written.
    """
    about = document["metadata"]
    kept, latest = kept_path(document, folder), document_path(about["agent_name"], about["test_set"], folder)
    path = kept
    try:
        make_private_folder(kept.parent)
        with replacing(kept) as file:
            file.writelines(document_parts(document, entries))
            file.write(b"\n")
        path = latest
        give_second_name(kept, latest)
    except OSError as error:
        raise unwritable(path, error) from error
    return latest


def unwritable(path: str | os.PathLike[str], error: OSError) -> DataError:
    """Return an error for documents that cannot be written at this place."""
    return DataError(f"{path} cannot be written: {error.strerror}; name another folder with --output")


def safe_name(name: str, most: int = MAX_NAME) -> str:
    """Return a safe name for a file or folder, which cannot lead out of its folder and is unique for each name.

    It is the name itself if it is safe, else its safe part and a hash. The colon before a profile, which not every file
    system takes, becomes ``@``.
    """
    safe = re.sub(r"[^A-Za-z0-9._:-]", "_", name).lstrip(".")[:most]
    kept = safe.replace(PROFILE, "@")
    if safe == name:
        return kept
    return f"{kept}-{hashlib.sha256(name.encode(errors='backslashreplace')).hexdigest()[:8]}"
