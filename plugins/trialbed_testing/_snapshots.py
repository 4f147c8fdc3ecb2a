"""Texts that are stored with the tests and compared with later trials."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError
from trialbed.files import read_text, replace_file
from trialbed.records import ApiCall, WireLog
from trialbed_testing._trial import call_text

LARGEST = 1_000_000
"""Largest snapshot, in bytes."""

TOO_LARGE = f"is larger than {LARGEST:,} bytes; compare a part of the text"

SHOWN = 60
"""Most lines of a difference to show."""

HEADER = 3
"""Lines of a unified diff before its first change. They are dropped, since pytest shows few lines."""

UPDATE = "give --trialbed-update to write it"


class Snapshot:
    """The last accepted calls and answers of a test: ``assert trial.calls == trialbed.snapshot``.

    The nth comparison of a test uses its nth snapshot. Calls are compared by tool, arguments and whether they were
    refused. The calls of one model answer may come in any order.

    Args:
        path: returns the file for a comparison, by its number.
        update: writes snapshots instead of comparing with them.
        log_of: returns the wire log that contains a call.
    """

    def __init__(
        self, path: Callable[[int], Path], *, update: bool, log_of: Callable[[ApiCall], WireLog | None]
    ) -> None:
        self._path = path
        self._update = update
        self._log_of = log_of
        self._count = 0
        self.difference: list[str] = []

    def __eq__(self, other: object) -> bool:
        """Compare calls or a text with the next snapshot of the test, or write it if snapshots are updated."""
        # Replace lone surrogates, which a file cannot store.
        text = _with_plain_ends(self._text(other)).encode("utf-8", "backslashreplace").decode("utf-8")
        self._count += 1
        file = self._path(self._count)
        if self._update:
            _write(file, text)
            return True
        kept = read_text(file) if file.exists() else None
        if kept is None:
            self.difference = [f"there is no such snapshot; {UPDATE}:", *_shorten(text.splitlines())]
            return False
        changes = list(difflib.unified_diff(kept.splitlines(), text.splitlines(), lineterm=""))[HEADER:]
        self.difference = [f"- snapshot, + this trial; if this is right, {UPDATE}", *_shorten(changes)]
        return kept == text

    __hash__ = None  # type: ignore[assignment] # equal objects can differ

    def __repr__(self) -> str:
        file = self._path(max(self._count, 1))
        return f"<{file.parent.name}/{file.name}>"

    def _text(self, given: object) -> str:
        if isinstance(given, str):
            return given if given.endswith("\n") else f"{given}\n"
        if isinstance(given, Sequence) and all(isinstance(one, ApiCall) for one in given):
            return calls_text(given, self._log_of)
        raise UsageError(f"a snapshot holds calls or text, not {given!r:.60}: use trial.calls or trial.answer")


def calls_text(calls: Sequence[ApiCall], log_of: Callable[[ApiCall], WireLog | None]) -> str:
    """Format calls as lines, with a dash before the first call of each model answer."""
    turns: dict[int, list[str]] = {}
    for call in calls:
        turns.setdefault(_turn(call, log_of(call)), []).append(_line(call))
    lines = [
        f"{'- ' if place == 0 else '  '}{line}"
        for _, found in sorted(turns.items())
        for place, line in enumerate(sorted(found))
    ]
    return "\n".join(lines or ["no calls"]) + "\n"


def _turn(call: ApiCall, log: WireLog | None) -> int:
    """Return the number of model answers before a call."""
    if log is None:
        return 0
    return sum(1 for asked in log.model_calls if asked.started + asked.duration <= call.started)


def _line(call: ApiCall) -> str:
    refused = " -> refused" if call.error else ""
    return f"{call_text(call.api.api_name, call.arguments)}{refused}".replace("\n", " ")


def _shorten(lines: Sequence[str]) -> list[str]:
    more = [f"… and {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


def _with_plain_ends(text: str) -> str:
    """Normalize line ends, which editors, git and models change."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _write(file: Path, text: str) -> None:
    content = text.encode()
    if len(content) > LARGEST:
        raise DataError(f"{file}: the snapshot {TOO_LARGE}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, content)
    except OSError as error:
        raise DataError(f"{file}: the snapshot cannot be written: {error.strerror or error}") from error


def explain(operator: str, left: Any, right: Any) -> list[str] | None:
    """Explain in lines why a comparison with a snapshot failed. Returns None for other comparisons."""
    found = next((side for side in (right, left) if isinstance(side, Snapshot)), None)
    if found is None or operator != "==":
        return None
    other = left if found is right else right
    return [f"{type(other).__name__} == {found!r}", *found.difference]
