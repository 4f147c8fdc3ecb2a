"""Cache folders of StableToolBench: imported into the response cache, and written from it."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import read_bytes
from trialbed_server.response_store import AUTHORITATIVE, Entry, Origin, ResponseStore
from trialbed_server.standard_names import StandardName, canonical_json, request_key, requested_name, standard_input

FOLDER = "tool_response_cache"
LAYOUTS = "{category}/{tool}_for_{category}/{api}.json or {category}/{tool_name}/{api_name}.json"
DEPTH = len(("category", "tool", "api"))
LONGEST_NAME = 255
"""Bytes of one part of a path, on the usual file systems."""


def cache_folder(folder: Path) -> Path | None:
    """Return the cache folder: this folder, or the one in it if it is a copy of StableToolBench; None if there is none.

    A folder is one by its name, or if there are files in it at the depth of both layouts.
    """
    for candidate in (folder, folder / FOLDER, folder / "server" / FOLDER):
        if candidate.is_dir() and (candidate.name == FOLDER or next(cache_files(candidate), None) is not None):
            return candidate
    return None


def cache_files(folder: Path) -> Iterator[Path]:
    """The files of a cache folder."""
    return (path for path in folder.glob("*/*/*.json") if path.is_file())


def misplaced_files(folder: Path) -> Iterator[Path]:
    """Files that look like a cache's, but whose path names no Api or leads nowhere."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.suffix.lower() != ".json" or any(part.startswith(".") for part in parts):
            continue
        if path.is_file() and len(parts) == DEPTH and path.suffix == ".json":
            continue
        if path.is_file() or path.is_symlink():
            yield path


def name_of(file: Path) -> StandardName:
    """The standardised triple of the Api whose answers a file holds.

    The folder of a tool is ``{tool}_for_{category}``, or the tool's name alone; names may be original or standardised.
    """
    category, tool = file.parent.parent.name, file.parent.name
    return requested_name(category, tool, file.name.removesuffix(".json"))


def path_of(name: StandardName) -> Path | None:
    """The path of an Api's file below a cache folder; None where its names cannot be parts of a path.

    Names come from requests: none may lead out of the folder.
    """
    parts = (name.category, f"{name.tool}_for_{name.category}", f"{name.api}.json")
    if not (name.category and name.tool and name.api) or not all(map(_is_part, parts)):
        return None
    return Path(*parts)


def _is_part(text: str) -> bool:
    if text in (".", "..") or not text.isprintable() or not {"/", "\\", ":"}.isdisjoint(text):
        return False
    return len(text.encode("utf-8", "replace")) <= LONGEST_NAME


IMPORTED = Origin("imported")
NOT_AN_ANSWER = "Failed to generate fake response"
"""The response that StableToolBench's server caches when its simulator fails, which is not an Api's answer."""

ALIAS = '{"alias": true}'
"""The settings of an entry that repeats another one under standardised names of parameters."""


@dataclass(frozen=True)
class ImportProblem:
    """A file, or one key of it, that was not imported, and the reason."""

    file: Path
    key: str | None
    message: str


def read_entries(file: Path) -> Iterator[Entry | ImportProblem]:
    """Yield the entries of a file, and the problems of those that cannot be read."""
    try:
        name = name_of(file)
        answers = json.loads(read_bytes(file).decode("utf-8-sig"), object_pairs_hook=_object)
        if not isinstance(answers, dict):
            raise TypeError("the file is not a JSON object")
    except (OSError, DataError, ValueError, TypeError, RecursionError) as error:
        yield ImportProblem(file, None, str(error))
        return
    if isinstance(answers, _Repeating):
        for key in answers.repeated:
            yield ImportProblem(file, key, "the key is there more than once; the last of its answers is imported")
    for key, answer in answers.items():
        try:
            yield _entry(name, key, answer)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            yield ImportProblem(file, key, str(error) or type(error).__name__)


class _Repeating(dict[str, Any]):
    """An object with keys that occur more than once; it has the last value of each."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.repeated = [key for key, count in counts.items() if count > 1]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Repeating(pairs)


def alias(entry: Entry) -> Entry | None:
    """The entry under standardised names of its parameters; None where these are its own."""
    found = json.loads(entry.input)
    tool_input = standard_input(found)
    if tool_input is found or tool_input == found:
        return None
    text, key = canonical_json(tool_input), request_key(entry.name, tool_input)
    return Entry(key, entry.name, text, entry.body, entry.origin, ALIAS)


def _entry(name: StandardName, key: str, answer: Any) -> Entry:
    tool_input = _input(key)
    text = canonical_json(tool_input)
    parsed = json.loads(text)
    if parsed != tool_input:
        raise ValueError("the key is not the text of a JSON value")
    # Only if the input does not give it, as Python's text: most keys have their parameters in another order.
    settings = "" if str(parsed) == key else json.dumps({"key": key})
    return Entry(request_key(name, tool_input), name, text, _body(answer), IMPORTED, settings)


def _input(key: str) -> Any:
    """The input that a key stands for: the text of a Python value, or JSON."""
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
    problems = [ImportProblem(file, None, f"it is not a file at {LAYOUTS}") for file in sorted(misplaced_files(folder))]
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


EVERY = "all"


@dataclass(frozen=True)
class ExportReport:
    """The outcome of an export.

    Attributes:
        files: files written.
        entries: entries written.
        left_out: entries of other provenances, and of inputs for which there is a better one.
        unwritable: Apis whose names cannot be parts of a path.
    """

    files: int
    entries: int
    left_out: int
    unwritable: tuple[StandardName, ...]


def export_cache(location: str, folder: Path, provenances: Sequence[str] = AUTHORITATIVE) -> ExportReport:
    """Write the answers of a response cache as StableToolBench's server keeps them.

    There is one file for each Api, ``{category}/{tool}_for_{category}/{api}.json``, with Python's text of each input
    as its key, as it was imported. Of two answers to one input, the better one is written: a real one, an imported one,
    then any other.

    Args:
        location: the response cache, a file or a database URL.
        folder: created; must be empty if it is there.
        provenances: of the entries that are written, ``llm`` standing for each model's; ``all`` for all.

    Raises:
        UsageError: the folder is not empty, or cannot be written.
        DataError: the response cache cannot be used.
    """
    with closing(ResponseStore(location)) as store:
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise UsageError(f"{folder} is not an empty folder; name another one")
            return _write(store, folder, provenances)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error}") from error


def _write(store: ResponseStore, folder: Path, provenances: Sequence[str]) -> ExportReport:
    files = written = left_out = 0
    unwritable: list[StandardName] = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, group in groupby(store.all(), lambda entry: entry.name):
        chosen, left = _choose(list(group), provenances)
        left_out += left
        if not chosen:
            continue
        path = path_of(name)
        if path is None:
            unwritable.append(name)
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(chosen, indent=4), encoding="ascii")
        files, written = files + 1, written + len(chosen)
    return ExportReport(files, written, left_out, tuple(unwritable))


def _choose(entries: Sequence[Entry], provenances: Sequence[str]) -> tuple[dict[str, Any], int]:
    """The answers of a file by key, and how many entries are not in it."""
    real = [entry for entry in entries if entry.settings != ALIAS]
    # ``llm`` stands for each model's.
    kinds = [{EVERY, entry.origin.provenance, entry.origin.provenance.partition(":")[0]} for entry in real]
    fitting = [entry for entry, kind in zip(real, kinds, strict=True) if not kind.isdisjoint(provenances)]
    answers: dict[str, Any] = {}
    for entry in sorted(fitting, key=_rank):
        answers.setdefault(_key(entry), json.loads(entry.body))
    return answers, len(real) - len(answers)


def _rank(entry: Entry) -> tuple[int, str]:
    provenance = entry.origin.provenance
    known = AUTHORITATIVE.index(provenance) if provenance in AUTHORITATIVE else len(AUTHORITATIVE)
    return known, entry.input


def _key(entry: Entry) -> str:
    """The key as it was imported, or that of the input."""
    try:
        return str(json.loads(entry.settings)["key"])
    except (ValueError, KeyError, TypeError):
        return str(json.loads(entry.input))
