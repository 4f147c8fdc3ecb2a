"""Reads the entries of a cache file."""

from __future__ import annotations

import ast
import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed_server.cache import Entry, Origin
from trialbed_server.cache.keys import canonical_json, request_key, standard_input
from trialbed_server.standard_names import StandardName

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


def read_entries(file: Path, name: StandardName, content: bytes) -> Iterator[Entry | ImportProblem]:
    """The entries of a file, and what cannot be read of it."""
    try:
        answers = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
        if not isinstance(answers, dict):
            raise TypeError("the file is not a JSON object")
    except (ValueError, TypeError, RecursionError) as error:
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


def key_of(tool_input: Any) -> str:
    """The key of an input in StableToolBench's files, with its parameters in this order."""
    return str(tool_input)


def _entry(name: StandardName, key: str, answer: Any) -> Entry:
    tool_input = _input(key)
    text = canonical_json(tool_input)
    parsed = json.loads(text)
    if parsed != tool_input:
        raise ValueError("the key is not the text of a JSON value")
    # Only if the input does not give it: most keys have their parameters in another order than the canonical one.
    settings = "" if key_of(parsed) == key else json.dumps({"key": key})
    return Entry(request_key(name, tool_input), name, text, _body(answer), IMPORTED, settings)


def _input(key: str) -> Any:
    """The input that a key stands for: the text of a Python value, or JSON."""
    for read in (ast.literal_eval, json.loads):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return read(key)
    raise ValueError("the key is neither the text of a Python value nor JSON")


def _body(answer: Any) -> str:
    if not isinstance(answer, dict) or not isinstance(answer.get("error"), str) or "response" not in answer:
        raise ValueError("the answer is not an object with 'error' (a text) and 'response'")
    if answer["error"] == NOT_AN_ANSWER:
        raise ValueError(f"the answer is a failure of the server: {NOT_AN_ANSWER}")
    return json.dumps(answer, allow_nan=False)
