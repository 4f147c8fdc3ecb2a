"""Imports StableToolBench's cache folders into the response cache."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.standard_names import StandardName, change_name, standard_category, standardize
from trialbed_server.cache import Entry, Origin, ResponseStore
from trialbed_server.virtual.keys import canonical_json, request_key, standard_input

IMPORTED = Origin("imported")
NOT_AN_ANSWER = "Failed to generate fake response"
"""The response that StableToolBench's server caches when its simulator fails, which is not an Api's answer."""

LAYOUT = "{category}/{tool}_for_{category}/{api}.json"


@dataclass(frozen=True)
class ImportProblem:
    """A file, or one key of it, that was not imported, and the reason."""

    file: Path
    key: str | None
    message: str


@dataclass(frozen=True)
class ImportReport:
    """The outcome of an import.

    Attributes:
        files: files read.
        new: entries that are in the cache now and were not before.
        known: entries that were there already, or twice in the folder.
    """

    files: int
    new: int
    known: int
    problems: tuple[ImportProblem, ...]


def import_cache(folder: Path, location: str) -> ImportReport:
    """Import every readable entry of a cache folder; what is not readable is reported.

    An entry is found again by the spelling of its parameters in the folder and by the standardised one.

    Args:
        folder: laid out as ``{category}/{tool}_for_{category}/{api}.json``.
        location: the response cache, a file or a database URL.

    Raises:
        UsageError: the folder does not exist.
        DataError: there is no file of this layout in it, or the response cache cannot be used.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; give StableToolBench's tool_response_cache")
    files = sorted(folder.glob("*/*/*.json"))
    if not files:
        raise DataError(f"{folder} holds no cache files; they are expected at {LAYOUT}")
    store = ResponseStore(location)
    try:
        return _import_files(files, store)
    finally:
        store.close()


def _import_files(files: list[Path], store: ResponseStore) -> ImportReport:
    new = known = 0
    problems: list[ImportProblem] = []
    for file in files:
        entries: dict[str, Entry] = {}
        for found in _entries(file):
            if isinstance(found, ImportProblem):
                problems.append(found)
            elif entries.setdefault(found.key, found) is not found:
                known += 1
        added = store.add(list(entries.values()))
        store.add([alias for entry in entries.values() if (alias := _alias(entry)) is not None])
        new, known = new + added, known + len(entries) - added
    return ImportReport(len(files), new, known, tuple(problems))


def _entries(file: Path) -> Iterator[Entry | ImportProblem]:
    try:
        name, content = _name(file), json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise TypeError("the file is not a JSON object")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        yield ImportProblem(file, None, str(error))
        return
    for key, answer in content.items():
        try:
            yield _entry(name, key, answer)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            yield ImportProblem(file, key, str(error) or type(error).__name__)


def _name(file: Path) -> StandardName:
    category, tool = file.parent.parent.name, file.parent.name
    ending = f"_for_{category}"
    if not tool.endswith(ending):
        raise ValueError(f"the folder {tool!r} is not named {{tool}}{ending}")
    api = change_name(standardize(file.name.removesuffix(".json")))
    return StandardName(standard_category(category), standardize(tool.removesuffix(ending)), api)


def _entry(name: StandardName, key: str, answer: Any) -> Entry:
    tool_input = ast.literal_eval(key)
    text = canonical_json(tool_input)
    if json.loads(text) != tool_input:
        raise ValueError("the key is not the text of a JSON value")
    return Entry(request_key(name, tool_input), name, text, _body(answer), IMPORTED)


def _body(answer: Any) -> str:
    if not isinstance(answer, dict) or not isinstance(answer.get("error"), str) or "response" not in answer:
        raise ValueError("the answer is not an object with 'error' (a text) and 'response'")
    if answer["error"] == NOT_AN_ANSWER:
        raise ValueError(f"the answer is a failure of the server: {NOT_AN_ANSWER}")
    return json.dumps(answer, allow_nan=False)


def _alias(entry: Entry) -> Entry | None:
    tool_input = standard_input(json.loads(entry.input))
    text = canonical_json(tool_input)
    key = request_key(entry.name, tool_input)
    return None if text == entry.input else Entry(key, entry.name, text, entry.body, entry.origin)
