"""Vendors' rows as a page shows them, with the findings and failures in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trialbed_verify.findings import findings
from trialbed_verify.rows import Body
from trialbed_verify.suites import SuiteSummary, SuiteTally
from trialbed_verify.vendor_rows import Summary, VendorRows


@dataclass(frozen=True)
class FirstExample:
    """The first example of a kind of finding or of failure.

    Attributes:
        place: of its row.
    """

    severity: str
    message: str
    evidence: str
    line: int | None
    place: Any


@dataclass
class Source:
    """The rows of a vendor as a page shows them.

    Attributes:
        found, counts: by kind of finding; an example, and the number of rows.
        failures, failed: the same by kind of failure, of requests that got no valid answer.
        summary: of the verification that they are of, where it is known.
    """

    origin: VendorRows
    rows: int = 0
    vendor: str = ""
    model: str = ""
    config: str | None = None
    first_at: str | None = None
    last_at: str | None = None
    served: Counter[str] = field(default_factory=Counter)
    found: dict[str, FirstExample] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, FirstExample] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    tally: SuiteTally = field(default_factory=SuiteTally)

    @property
    def name(self) -> str:
        """The vendor, or the name of its file."""
        return self.vendor or self.origin.file_name

    @cached_property
    def suites(self) -> Mapping[str, SuiteSummary]:
        """The scores of suites."""
        return self.tally.summaries()

    @cached_property
    def summary(self) -> Summary | None:
        """The summary of the verification that they are of."""
        return self.origin.summary(self.config)

    @property
    def is_baseline(self) -> bool:
        """Return whether the summary marks it as the baseline."""
        return self.summary is not None and self.summary.get("is_baseline") is True

    def add(self, row: Body, _: VendorRows, place: Any) -> None:
        """Add a row."""
        self.rows += 1
        self.vendor = self.vendor or str(row.get("vendor") or "")
        self.model = self.model or str(row.get("model") or "")
        self.config = self.config or row.get("config")
        self.tally.add(row)
        if isinstance(at := row.get("last_run_at"), str):
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at or at, at)
        served = row.get("served")
        if isinstance(served, dict) and isinstance(served.get("model"), str):
            self.served[served["model"]] += 1
        line = row.get("data_index") if isinstance(row.get("data_index"), int) else None
        if row.get("status") != "success":
            kind, message = _failure(row)
            self.failed[kind] += 1
            self.failures.setdefault(kind, FirstExample("failure", message, "", line, place))
        seen = {one.kind: one for one in reversed(findings(row))}
        self.counts.update(list(seen))
        for kind, one in seen.items():
            self.found.setdefault(kind, FirstExample(one.severity, one.message, one.evidence, line, place))


def read_source(rows: VendorRows) -> Source:
    """Read the rows of a vendor once.

    Raises:
        DataError: they cannot be read.
    """
    source = Source(rows)
    for _, place, row in rows:
        if row is not None:
            source.add(row, rows, place)
    return source


def _failure(row: Body) -> tuple[str, str]:
    """Return the kind of a failure and its message, as this tool and others write them."""
    for key, kind, message in (("problem", "kind", "message"), ("response", "error_type", "error_message")):
        found = row.get(key)
        if isinstance(found, dict) and found.get(kind):
            return str(found[kind]), str(found.get(message) or "")
    return str(row.get("outcome") or "unknown_failure"), ""
