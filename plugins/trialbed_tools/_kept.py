"""Answers of live tools, kept in a file beside the tools and given again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trialbed.errors import DataError, UsageError
from trialbed.wire.redaction import Redaction
from trialbed_tools.located import naming, read_json_lines

Call = tuple[str, dict[str, Any]]

ENDING = ".answers.jsonl"


class KeptAnswer(NamedTuple):
    """The answer to a call: a response, or, where the tool refused the call, its error."""

    response: Any = ""
    error: str = ""


def answers_path(tools: Path) -> Path:
    """Return the file with the answers of a file of tools."""
    return tools.with_name(tools.stem + ENDING)


class KeptAnswers:
    """The answers in a file, read when the first is asked for; each new one is written at once.

    Args:
        redaction: masks secrets in calls and answers.
    """

    def __init__(self, path: Path, redaction: Redaction) -> None:
        self.path = path
        self.redaction = redaction
        self._found: dict[str, KeptAnswer] | None = None
        self._writing = threading.Lock()

    def find(self, call: Call, after: Sequence[Call]) -> KeptAnswer | None:
        """Return the answer to a call that comes after some others of its trial; None if none is kept.

        Raises:
            DataError: the file is malformed; names the line.
        """
        return self._answers().get(_key(*self._mask(call), _digest(after)))

    def add(self, call: Call, after: Sequence[Call], answer: KeptAnswer) -> KeptAnswer:
        """Keep an answer, and return it as it is kept; the first of a call stays.

        Raises:
            UsageError: the file cannot be written.
        """
        name, arguments = self._mask(call)
        answer = KeptAnswer(*self.redaction.value(list(answer)))
        line: dict[str, Any] = {"tool": name, "arguments": arguments}
        if after:
            line["after"] = _digest(after)
        line |= {"error": answer.error} if answer.error else {"response": answer.response}
        with self._writing:
            key = _key(name, arguments, _digest(after))
            if key in self._answers():
                return self._answers()[key]
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
            except (OSError, UnicodeEncodeError) as error:
                raise UsageError(f"{self.path}: the answer cannot be kept: {error}") from error
            self._answers()[key] = answer
        return answer

    def digest(self) -> str:
        """Return a text that is another where other answers are given."""
        found = {key: list(answer) for key, answer in self._answers().items()}
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()

    def _mask(self, call: Call) -> Call:
        name, arguments = call
        return name, self.redaction.value(arguments)

    def _answers(self) -> dict[str, KeptAnswer]:
        if self._found is None:
            self._found = _read(self.path) if self.path.is_file() else {}
        return self._found


def _read(path: Path) -> dict[str, KeptAnswer]:
    found: dict[str, KeptAnswer] = {}
    located = read_json_lines(path)
    for number, line in enumerate(located.value):
        with naming(located.place((number,))):
            error, arguments = line.get("error", ""), line.get("arguments")
            if not isinstance(line.get("tool"), str) or not isinstance(arguments, dict) or not isinstance(error, str):
                raise DataError("an answer has a tool, its arguments, and a response or an error")
            key = _key(line["tool"], arguments, line.get("after", ""))
            found.setdefault(key, KeptAnswer(line.get("response", ""), error))
    return found


def _key(name: str, arguments: dict[str, Any], after: str) -> str:
    return json.dumps([name, arguments, after], sort_keys=True)


def _digest(calls: Sequence[Call]) -> str:
    """Return a short text for calls that were made before; empty for none."""
    text = json.dumps(list(calls), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16] if calls else ""
