"""Vendors' rows as a page shows them, with an example of each failure, finding and difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbed.views import Disclosure, Disclosures, Excerpt
from trialbed.wire.redaction import redact
from trialbed_verify.comparison import VendorComparison
from trialbed_verify.findings import findings, kind_in_words
from trialbed_verify.panel import GateExample
from trialbed_verify.rows import Body, sent_request
from trialbed_verify.suites import SuiteTally
from trialbed_verify.vendor_rows import VendorRows

LONGEST = 20_000
"""Characters of one excerpt; the results file has the rest."""

NOTE = "What came is shown as the results file has it; keys are redacted, and long texts are cut off."


@dataclass(frozen=True)
class FirstExample:
    """The first example of a kind of finding or of failure.

    Attributes:
        place: of its row.
    """

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
    """

    origin: VendorRows
    first_at: str | None = None
    last_at: str | None = None
    found: dict[str, FirstExample] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, FirstExample] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    tally: SuiteTally = field(default_factory=SuiteTally)

    def add(self, row: Body, _: VendorRows, place: Any) -> None:
        """Add a row."""
        self.tally.add(row)
        if isinstance(at := row.get("last_run_at"), str):
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at or at, at)
        line = row.get("data_index") if isinstance(row.get("data_index"), int) else None
        if row.get("status") != "success":
            kind, message = _failure(row)
            self.failed[kind] += 1
            self.failures.setdefault(kind, FirstExample(message, "", line, place))
        seen = {one.kind: one for one in reversed(findings(row))}
        self.counts.update(list(seen))
        for kind, one in seen.items():
            self.found.setdefault(kind, FirstExample(one.message, one.evidence, line, place))


def _failure(row: Body) -> tuple[str, str]:
    """Return the kind of a failure and its message, as this tool and others write them."""
    for key, kind, message in (("problem", "kind", "message"), ("response", "error_type", "error_message")):
        found = row.get(key)
        if isinstance(found, dict) and found.get(kind):
            return str(found[kind]), str(found.get(message) or "")
    return str(row.get("outcome") or "unknown_failure"), ""


def differences(found: VendorComparison) -> Disclosures | None:
    """Show an answer of each side for each gate at which a vendor differs; None if there is none."""
    entries = [
        _difference(one.gate.meaning, one.example, found)
        for one in found.panel.gates
        if one.finding == "different" and one.example is not None
    ]
    vendor = found.vendor.vendor
    return Disclosures(f"Examples of what differs at {vendor}", entries, [NOTE]) if entries else None


def examples_of_faults(vendors: Sequence[tuple[str, Source]]) -> Disclosures | None:
    """Show for each kind of failure and of finding the first example of each vendor; None if there is none."""
    entries = [
        _finding(vendor, source, kind, source.failures, source.failed)
        for vendor, source in vendors
        for kind in source.failures
    ]
    entries += [
        _finding(vendor, source, kind, source.found, source.counts)
        for vendor, source in vendors
        for kind in source.found
        if source.failed.get(kind) != source.counts[kind]
    ]
    return Disclosures("Examples of failures and findings", entries, [NOTE]) if entries else None


def _difference(subject: str, example: GateExample, found: VendorComparison) -> Disclosure:
    where = f"line {example.line} of the test set" if example.line else "a case"
    ours, theirs = example.baseline_row.read(), example.vendor_row.read()
    excerpts = [
        Excerpt("The request", _excerpt(sent_request(theirs))),
        Excerpt(f"The answer of {found.baseline.vendor}", _excerpt(ours.get("response"))),
        Excerpt(f"The answer of {found.vendor.vendor}", _excerpt(theirs.get("response"))),
    ]
    return Disclosure(f"{subject}, {where}: {example.baseline} | {example.vendor}", excerpts)


def _finding(
    vendor: str, source: Source, kind: str, found: Mapping[str, FirstExample], counts: Mapping[str, int]
) -> Disclosure:
    one = found[kind]
    row = source.origin.row_at(one.place)
    where = f", line {one.line} of the test set" if one.line else ""
    excerpts = [Excerpt("What was seen", _excerpt(one.evidence))] if one.evidence else []
    excerpts += [
        Excerpt("The request", _excerpt(sent_request(row))),
        Excerpt("The answer", _excerpt(row.get("response"))),
    ]
    answers = "1 answer" if counts[kind] == 1 else f"{counts[kind]:,} answers"
    meaning = kind_in_words(kind)
    said = "" if one.message == meaning else f": {one.message}"
    return Disclosure(f"{vendor}: {meaning}, {answers}{where}{said}", excerpts)


def _lines(value: Any) -> str:
    """Write a JSON value with one line for each of its own keys."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = ",\n ".join(f"{json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return f"{{{inner}}}"


def _excerpt(value: Any) -> str:
    text = value if isinstance(value, str) else _lines(value)
    # Lone surrogates, which some vendors send, cannot be written in any file.
    text = redact(text).encode("utf-8", "backslashreplace").decode()
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {len(text) - LONGEST} more characters"
