"""Results files as a page shows them, with the findings and failures in them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import read_bytes, read_lines
from trialbed_verify.findings import findings
from trialbed_verify.rows import parse_row
from trialbed_verify.suites import SuiteSummary, SuiteTally

Row = Mapping[str, Any]
Document = Mapping[str, Any]


@dataclass(frozen=True)
class FirstExample:
    """The first example of a kind of finding or of failure.

    Attributes:
        offset: of its row in the file.
    """

    severity: str
    message: str
    evidence: str
    line: int | None
    offset: int


@dataclass
class Source:
    """A results file.

    Attributes:
        digest: SHA-256 of its bytes, hex.
        found, counts: by kind of finding; an example, and the number of rows.
        failures, failed: the same by kind of failure, of requests that got no valid answer.
        summary: of the verification that wrote it, if it stands beside it.
    """

    path: Path
    digest: str = ""
    size: int = 0
    rows: int = 0
    vendor: str = ""
    model: str = ""
    first_at: str | None = None
    last_at: str | None = None
    served: Counter[str] = field(default_factory=Counter)
    found: dict[str, FirstExample] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, FirstExample] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    suites: Mapping[str, SuiteSummary] = field(default_factory=dict)
    summary: Document | None = None

    @property
    def is_baseline(self) -> bool:
        """Return whether the summary marks it as the baseline."""
        return self.summary is not None and self.summary.get("is_baseline") is True


def read_source(path: Path) -> Source:
    """Read a file once, and the summary beside it.

    Raises:
        DataError: it cannot be read.
    """
    source, digest, tally, config = Source(path), hashlib.sha256(), SuiteTally(), None
    try:
        with path.open("rb") as file:
            for line in read_lines(file):
                digest.update(line)
                row = _read_row(line)
                if row is not None:
                    _add(source, row, source.size)
                    tally.add(row)
                    config = config or row.get("config")
                source.size += len(line)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    source.digest, source.suites = digest.hexdigest(), tally.summaries()
    source.summary = next((found for found in _summaries(path) if _is_of(found, config)), None)
    return source


def _read_row(line: bytes) -> Row | None:
    try:
        row = parse_row(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _add(source: Source, row: Row, offset: int) -> None:
    source.rows += 1
    source.vendor = source.vendor or str(row.get("vendor") or "")
    source.model = source.model or str(row.get("model") or "")
    if isinstance(at := row.get("last_run_at"), str):
        source.first_at = min(source.first_at or at, at)
        source.last_at = max(source.last_at or at, at)
    served = row.get("served")
    if isinstance(served, dict) and isinstance(served.get("model"), str):
        source.served[served["model"]] += 1
    line = row.get("data_index") if isinstance(row.get("data_index"), int) else None
    if row.get("status") != "success":
        kind, message = _failure(row)
        source.failed[kind] += 1
        source.failures.setdefault(kind, FirstExample("failure", message, "", line, offset))
    seen = {one.kind: one for one in reversed(findings(row))}
    source.counts.update(list(seen))
    for kind, one in seen.items():
        source.found.setdefault(kind, FirstExample(one.severity, one.message, one.evidence, line, offset))


def _failure(row: Row) -> tuple[str, str]:
    """Return the kind of a failure and its message, as this tool and others write them."""
    for key, kind, message in (("problem", "kind", "message"), ("response", "error_type", "error_message")):
        found = row.get(key)
        if isinstance(found, dict) and found.get(kind):
            return str(found[kind]), str(found.get(message) or "")
    return str(row.get("outcome") or "unknown_failure"), ""


def _summaries(path: Path) -> Iterator[Document]:
    """Yield summaries that may be of this file: beside it, by its name or by the usual one."""
    stem = path.name.removesuffix(".jsonl").removesuffix("_results")
    for name in dict.fromkeys((f"{stem}_summary.json", f"{stem}-summary.json", "summary.json")):
        beside = path.with_name(name)
        try:
            found = json.loads(read_bytes(beside))
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            yield found


def _is_of(summary: Document, config: Any) -> bool:
    provenance = summary.get("provenance")
    return isinstance(provenance, dict) and config is not None and provenance.get("configuration_digest") == config
