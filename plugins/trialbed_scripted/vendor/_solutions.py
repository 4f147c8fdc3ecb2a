"""Right answers from a test set, to simulate good and bad vendors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed.wire import ModelMessage, ModelRequest
from trialbed.wire.dialects import dialect

Solution = Mapping[str, Any]
"""``calls``, each with ``name`` and ``arguments``; ``text``; ``variations``, the texts for sampling."""


class Solutions:
    """The right answers to the requests of a test set."""

    def __init__(self) -> None:
        self._known: dict[bytes, Solution] = {}

    @classmethod
    def read(cls, path: str) -> Solutions:
        """Read the answers in the lines of a file, under ``suite`` and ``answer``. An empty path gives no answers.

        Raises:
            UsageError: the file cannot be read, or no line has an answer.
        """
        found = cls()
        if not path:
            return found
        try:
            with Path(path).open(encoding="utf-8") as file:
                for number, text in enumerate(file, 1):
                    found._add(path, number, text)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"answers: test_set {path}: cannot be read: {error}") from error
        if not found._known:
            raise UsageError(f"answers: test_set {path}: no line has an answer; see bench verify --write-test-set")
        return found

    def of(self, request: ModelRequest) -> Solution | None:
        """Return the right answer to a request, if it is known."""
        return self._known.get(_key(request)) if self._known else None

    def _add(self, path: str, number: int, text: str) -> None:
        if not text.strip():
            return
        try:
            line = json.loads(text)
        except ValueError as error:
            raise UsageError(f"answers: test_set {path}, line {number}: not JSON: {error}") from error
        suite = line.get("suite") if isinstance(line, dict) else None
        answer = suite.get("answer") if isinstance(suite, dict) else None
        if isinstance(answer, dict):
            self._known[_key(dialect().read_request(line))] = answer


def _key(request: ModelRequest) -> bytes:
    """Return a digest of the parts of a request that determine the right answer, independent of the transport."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    content = [[_core(message) for message in request.messages], tools]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _core(message: ModelMessage) -> list[Any]:
    """Return the parts of a message that model adapters leave unchanged."""
    role = "system" if message.role == "_input" else message.role
    calls = [[call.name, call.arguments, call.id] for call in message.calls]
    return [role, message.content, calls, message.call_id]
