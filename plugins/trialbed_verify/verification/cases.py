"""Read test sets, with one chat completion request per line."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

from trialbed.errors import DataError
from trialbed.files import read_lines
from trialbed.wire import parse_json
from trialbed_verify.call_schemas import declared_schemas, schema_fault

Body = dict[str, Any]

_Place = tuple[int, bytes, int]
"""Offset of a line in the file, SHA-256 of its request, and the number of lines so far with this request."""


@dataclass(frozen=True, slots=True)
class Case:
    """One request of the test set.

    Attributes:
        index: 1-based number of its line; blank lines count.
        identity: SHA-256 of the request as canonical JSON, hex; a line that repeats an earlier one ends with ``#2``.
    """

    index: int
    identity: str
    body: Body


class TestSet:
    """A test set on disk; only the positions of its lines are kept in memory.

    Attributes:
        digest: SHA-256 of the file's bytes, hex.
        size: the bytes of all cases.
        bad_lines: lines that are not chat completion requests, with the reasons; they are not cases.
        faults: declared schemas that cannot be used, each once: line, tool and reason.
    """

    __test__ = False
    """Keeps pytest from collecting this class as a test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.bad_lines: list[tuple[int, str]] = []
        self.faults: list[tuple[int, str, str]] = []
        self._places: dict[int, _Place] = {}
        self._counts = Counter[bytes]()
        self._file: BinaryIO | None = None
        self.digest = self._scan()

    def __enter__(self) -> Self:
        self._file = self.path.open("rb", 2**16)  # mostly read in order
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Case]:
        return map(self.at_line, self._places)

    def at_line(self, line: int) -> Case:
        """Read the case at this line; the test set is open."""
        offset, digest, repeat = self._places[line]
        assert self._file is not None  # noqa: S101 - it is open, as the docstring says
        self._file.seek(offset)
        identity = digest.hex() if repeat == 1 else f"{digest.hex()}#{repeat}"
        return Case(line, identity, parse_json(self._file.readline()))

    @property
    def indices(self) -> list[int]:
        """The line of each case."""
        return [*self._places]

    def _scan(self) -> str:
        digest, offset = hashlib.sha256(), 0
        if self.path.exists() and not self.path.is_file():
            # Lines are read again when they are sent, which a pipe does not allow.
            raise DataError(f"{self.path}: not a regular file; save the test set to a file first")
        try:
            with self.path.open("rb") as file:
                for index, line in enumerate(read_lines(file), 1):
                    digest.update(line)
                    if line.strip():
                        self._add(index, line, offset)
                    offset += len(line)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        if not self._places:
            bad = f" (line {self.bad_lines[0][0]}: {self.bad_lines[0][1]})" if self.bad_lines else ""
            hint = f"a test set has one chat completion request per line{bad}"
            raise DataError(f"{self.path}: contains no requests; {hint}")
        return digest.hexdigest()

    def _add(self, index: int, line: bytes, offset: int) -> None:
        try:
            body, fault = parse_json(line), None
        except ValueError as error:
            body, fault = None, f"not JSON: {error}"
        if fault := fault or _fault(body):
            self.bad_lines.append((index, fault))
            return
        identity = hashlib.sha256(_canonical(body)).digest()
        self._counts[identity] += 1
        self._places[index] = offset, identity, self._counts[identity]
        self.size += len(line)
        for name, schema in declared_schemas(body.get("tools")).items():
            unusable = schema_fault(schema)
            if unusable is not None and (name, unusable) not in {known[1:] for known in self.faults}:
                self.faults.append((index, name, unusable))


def _fault(body: Any) -> str | None:
    """Return the reason why a line is not a case, or None. A suite's case may be an invalid request on purpose."""
    if not isinstance(body, dict):
        return "not a JSON object"
    if "suite" in body:
        from trialbed_verify.suites import suite_fault

        return suite_fault(body["suite"])
    if not isinstance(body.get("messages"), list):
        return "messages is not a list" if "messages" in body else "not a request: it has no messages"
    return None if isinstance(body.get("tools"), list | None) else "tools is not a list"


_EXPONENTS = bytes.maketrans(b"123456789E", b"000000000e")
"""Turns possible numbers with an exponent into ``0e``, ten times faster than a regular expression."""


def _canonical(body: Body) -> bytes:
    """Return a request as canonical JSON in Python's style, with sorted keys and without spaces."""
    with suppress(TypeError):
        text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
        # Python writes numbers with an exponent, small ones, and infinite ones otherwise.
        if b"null" not in text and b"0.0000" not in text and b"0e" not in text.translate(_EXPONENTS):
            return text
    written = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return written.encode("utf-8", "surrogatepass")
