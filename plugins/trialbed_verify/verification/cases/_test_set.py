"""The test set: one chat completion request per line."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trialbed.chat import parse_json
from trialbed.errors import DataError

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One request of the test set.

    Attributes:
        index: 1-based number of its line; blank lines count.
        identity: SHA-256 of the request as canonical JSON, hex; a line that repeats an earlier one is ``…#2``.
        body: the request as it stands in the file.
    """

    index: int
    identity: str
    body: Body


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that holds no request, and why."""

    index: int
    reason: str


class TestSet:
    """A test set on disk; only where its lines are is kept in memory.

    Attributes:
        path: the file.
        digest: SHA-256 of the file's bytes, hex.
        bad_lines: lines that are no JSON object; they are no cases.
    """

    __test__ = False
    """The name is the field's; pytest must not take it for a test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bad_lines: list[BadLine] = []
        self._spots = array("Q")
        self._lengths = array("Q")
        self._indices = array("Q")
        self._identities: list[bytes] = []
        self._repeats = array("I")
        self._file = -1
        self.digest = self._scan()

    def __enter__(self) -> Self:
        self._file = os.open(self.path, os.O_RDONLY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def __len__(self) -> int:
        return len(self._spots)

    def __iter__(self) -> Iterator[Case]:
        return (self.case(number) for number in range(len(self)))

    def case(self, number: int) -> Case:
        """The case of this number, counted from 0; reads it from the file."""
        line = os.pread(self._file, self._lengths[number], self._spots[number])
        return Case(self._indices[number], self.identity(number), parse_json(line))

    def index(self, number: int) -> int:
        """The line of the case of this number."""
        return self._indices[number]

    def identity(self, number: int) -> str:
        """The identity of the case of this number."""
        repeat = self._repeats[number]
        digest = self._identities[number].hex()
        return digest if repeat == 1 else f"{digest}#{repeat}"

    def faults(self) -> Iterator[tuple[int, str, str]]:
        """Declared schemas that cannot be used, each once: line, tool and what is wrong. Not the vendors' fault."""
        from trialbed_verify.verification.cases._schemas import SchemaChecker, declared_schemas

        checker, seen = SchemaChecker(), set[tuple[str, str]]()
        with self:
            for case in self:
                for name, schema in declared_schemas(case.body.get("tools")).items():
                    fault = checker.fault(schema)
                    if fault is not None and (name, fault) not in seen:
                        seen.add((name, fault))
                        yield case.index, name, fault

    def _scan(self) -> str:
        whole, seen, spot = hashlib.sha256(), dict[bytes, int](), 0
        if self.path.exists() and not self.path.is_file():
            # Lines are read again when they are sent, which a pipe does not allow.
            raise DataError(f"{self.path}: is no file; write the test set into one")
        try:
            with self.path.open("rb") as file:
                for index, line in enumerate(file, 1):
                    whole.update(line)
                    if line.strip():
                        self._note(index, line, spot, seen)
                    spot += len(line)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        if not self._spots:
            bad = f" (line {self.bad_lines[0].index}: {self.bad_lines[0].reason})" if self.bad_lines else ""
            raise DataError(f"{self.path}: holds no request; a test set has one chat completion request per line{bad}")
        return whole.hexdigest()

    def _note(self, index: int, line: bytes, spot: int, seen: dict[bytes, int]) -> None:
        try:
            body = parse_json(line)
        except ValueError as error:
            self.bad_lines.append(BadLine(index, f"not JSON: {error}"))
            return
        if not isinstance(body, dict):
            self.bad_lines.append(BadLine(index, "not a JSON object"))
            return
        identity = content_digest(body)
        seen[identity] = seen.get(identity, 0) + 1
        self._spots.append(spot)
        self._lengths.append(len(line))
        self._indices.append(index)
        self._identities.append(identity)
        self._repeats.append(seen[identity])


def content_digest(body: Body) -> bytes:
    """SHA-256 of a request as canonical JSON: sorted keys, no spaces."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
