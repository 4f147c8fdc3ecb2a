"""Cache folders of StableToolBench, imported into the response cache."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import read_bytes
from trialbed_server.response_store import Entry, Origin, ResponseStore
from trialbed_server.standard_names import StandardName, canonical_json, request_key, requested_name, standard_input

FOLDER = "tool_response_cache"
LAYOUTS = "{category}/{tool}_for_{category}/{api}.json or {category}/{tool_name}/{api_name}.json"


def cache_folder(folder: Path) -> Path | None:
    """Return this folder if it is a cache folder, or the one in it if it is a copy of StableToolBench, or None.

    A cache folder has the usual name, or has files at the depth of both layouts.
    """
    for candidate in (folder, folder / FOLDER, folder / "server" / FOLDER):
        if candidate.is_dir() and (candidate.name == FOLDER or next(cache_files(candidate), None) is not None):
            return candidate
    return None


def cache_files(folder: Path) -> Iterator[Path]:
    """Return the files of a cache folder."""
    return (path for path in folder.glob("*/*/*.json") if path.is_file())


NOT_AN_ANSWER = "Failed to generate fake response"
"""The response that StableToolBench's server caches when its simulator fails, which is not an Api's answer."""


@dataclass(frozen=True)
class ImportProblem:
    """A file, or one key of it, that was not imported, and the reason."""

    file: Path
    key: str | None
    message: str


def read_entries(file: Path) -> Iterator[Entry | ImportProblem]:
    """Yield the entries of a file, and a problem for every unreadable entry."""
    try:
        # A tool's folder is ``{tool}_for_{category}``, or the tool's name alone; names may be original or standardised.
        name = requested_name(file.parent.parent.name, file.parent.name, file.stem)
        answers = json.loads(read_bytes(file).decode("utf-8-sig"), object_pairs_hook=_object)
        if not isinstance(answers, dict):
            raise TypeError("the file is not a JSON object")
    except (OSError, DataError, ValueError, TypeError, RecursionError) as error:
        yield ImportProblem(file, None, str(error))
        return
    for key, answer in answers.items():
        try:
            yield _entry(name, key, answer)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            yield ImportProblem(file, key, str(error) or type(error).__name__)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs more than once")
    return found


def alias(entry: Entry) -> Entry | None:
    """Return the entry under the standardised names of its parameters; None if it has them already."""
    tool_input = standard_input(json.loads(entry.input))
    text, key = canonical_json(tool_input), request_key(entry.name, tool_input)
    return None if key == entry.key else Entry(key, entry.name, text, entry.body, entry.origin)


def _entry(name: StandardName, key: str, answer: Any) -> Entry:
    tool_input = _input(key)
    text = canonical_json(tool_input)
    if json.loads(text) != tool_input:
        raise ValueError("the key is not the text of a JSON value")
    return Entry(request_key(name, tool_input), name, text, _body(answer), Origin("imported"))


def _input(key: str) -> Any:
    """Parse the input in a key, which is the text of a Python value, or JSON."""
    for read in (ast.literal_eval, json.loads):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return read(key)
    raise ValueError("the key is neither the text of a Python value nor JSON")


def _body(answer: Any) -> str:
    if not isinstance(answer, dict) or not isinstance(answer.get("error"), str) or "response" not in answer:
        raise ValueError("the answer is not an object with 'error' (a text) and 'response'")
    if answer["error"] == NOT_AN_ANSWER:
        raise ValueError(f"the answer is a failure of the server: {NOT_AN_ANSWER}")
    return json.dumps(answer, allow_nan=False)


BATCH = 2000
"""Entries in one transaction, at least; files are never split."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ImportReport:
    """The outcome of an import.

    Attributes:
        files: files of the folder.
        new: entries that are in the cache now and were not before.
        known: entries that were there already, or twice in the folder.
    """

    files: int
    new: int
    known: int
    problems: tuple[ImportProblem, ...]


def import_cache(folder: Path, location: str, progress: Progress | None = None) -> ImportReport:
    """Import every readable entry of a cache folder, and report the unreadable ones.

    An entry is found again by the spelling of its parameters in the folder and by the standardised one. Every batch is
    kept, so an import that was interrupted can be repeated.

    Args:
        folder: laid out as ``{category}/{tool}_for_{category}/{api}.json``, or as
            ``{category}/{tool_name}/{api_name}.json``.
        location: the response cache, a file or a database URL.
        progress: called after each batch with the number of files done and of all.

    Raises:
        UsageError: the folder does not exist.
        DataError: there is no file of these layouts in it, or the response cache cannot be used.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; give StableToolBench's tool_response_cache")
    files = sorted(cache_files(folder))
    if not files:
        raise DataError(f"{folder} holds no cache files; they are expected at {LAYOUTS}")
    problems: list[ImportProblem] = []
    entries: dict[str, Entry] = {}
    new = known = 0
    with closing(ResponseStore(location)) as store:
        for done, file in enumerate(files, 1):
            for found in read_entries(file):
                if isinstance(found, ImportProblem):
                    problems.append(found)
                elif entries.setdefault(found.key, found) is not found:
                    known += 1
            if len(entries) >= BATCH or done == len(files):
                aliases = [other for entry in entries.values() if (other := alias(entry)) is not None]
                added = store.add(list(entries.values()), aliases)
                new, known = new + added, known + len(entries) - added
                entries.clear()
                if progress is not None:
                    progress(done, len(files))
    return ImportReport(len(files), new, known, tuple(problems))
