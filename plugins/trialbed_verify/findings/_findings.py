"""One finding, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trialbed.wire import dump_json
from trialbed_verify.findings._kinds import KINDS, Severity, Subject

SHOWN = 300
"""Characters of evidence, at most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd about an answer.

    Attributes:
        kind: a key of ``KINDS``.
        message: one sentence for readers.
        evidence: an excerpt of what came: bytes where they were seen, else JSON.
    """

    gate: Subject
    kind: str
    message: str
    evidence: str = ""

    @property
    def severity(self) -> Severity:
        """Return its severity: a violation or a note."""
        return KINDS[self.kind].severity

    def as_json(self) -> dict[str, str]:
        """Return its form in a results file."""
        return {
            "gate": self.gate,
            "kind": self.kind,
            "severity": self.severity,
            "message": self.message,
            "evidence": self.evidence,
        }


def finding(kind: str, message: str, evidence: Any = "") -> Finding:
    """Make a finding of a known kind; its evidence is shortened, and written as JSON unless it is text."""
    return Finding(KINDS[kind].gate, kind, message, excerpt(evidence))


def stored_finding(document: Any) -> Finding | None:
    """Return the finding that a results file has in this form; None if this version does not know its kind."""
    if not isinstance(document, Mapping) or document.get("kind") not in KINDS:
        return None
    return finding(document["kind"], str(document.get("message") or ""), document.get("evidence") or "")


def excerpt(value: Any) -> str:
    """Return the beginning of a value, as text."""
    if not isinstance(value, str):
        try:
            value = dump_json(value).decode()
        except (TypeError, ValueError, RecursionError):
            value = json.dumps(value, default=str)
    return value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
