"""Every kind of finding, and a finding; ``kinds.toml`` has their meanings, and those of the words of results files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from trialbed.wire import dump_json

Subject = Literal["protocol", "constraints", "schema", "text", "usage", "model"]
GATES: tuple[Subject, ...] = get_args(Subject)

Severity = Literal["violation", "note"]
"""``violation``: the specification or the request rules it out, and callers rely on it. ``note``: odd, but harmless."""

MOST_LETTERS = 20
"""Characters of ordinary text that one token has at most, on average; usual are three to five."""

SLACK = 40
"""Tokens that a template adds to an answer or a call, at most."""

SHOWN = 300
"""Characters of evidence, at most."""


class FindingKind(NamedTuple):
    """The definition of a kind."""

    gate: Subject
    severity: Severity
    meaning: str


_FILE: dict[str, Any] = tomllib.loads(files("trialbed_verify.findings").joinpath("kinds.toml").read_text("utf-8"))

OUTCOMES: Mapping[str, str] = MappingProxyType(_FILE["outcomes"])
"""End of a case -> meaning."""

PROTOCOL_ERRORS: Mapping[str, str] = MappingProxyType(_FILE["protocol"]["error"])
"""The problems that are the vendor's answer: each is a finding, too."""

PROBLEMS: Mapping[str, str] = MappingProxyType({**PROTOCOL_ERRORS, **_FILE["failures"]})
"""Kind of failure of a case -> meaning."""

KINDS: Mapping[str, FindingKind] = MappingProxyType(
    {
        name: FindingKind(gate, "note" if severity == "note" else "violation", meaning)
        for gate in GATES
        for severity, meanings in _FILE[gate].items()
        for name, meaning in meanings.items()
    }
)
"""Name -> definition."""

CALL_REASONS: Mapping[str, str] = MappingProxyType(
    {**_FILE["schema"]["violation"], "unusable_schema": _FILE["schema"]["note"]["unusable_schema"]}
)
"""The reasons in the verdicts on calls: each is a finding, too."""

PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(kinds) for name, kinds in _FILE["parameters"].items()}
)
"""Parameter of requests -> the kinds of findings that an answer does not obey it."""

MESSAGES: Mapping[str, str] = MappingProxyType(_FILE["messages"])
"""Kind -> the message of its finding, with places for values."""

UNRELIABLE_COUNT = frozenset(_FILE["unreliable"]["count"])
"""Kinds that make a rate of tokens per second untrustworthy."""


def kind_in_words(kind: str) -> str:
    """Return the meaning of a kind of findings or failures; one that is in words already, or not known, as it is."""
    return KINDS[kind].meaning.replace("`", "") if kind in KINDS else kind


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
        shown = {"message": self.message, "evidence": self.evidence}
        return {"gate": self.gate, "kind": self.kind, "severity": self.severity, **shown}


def finding(kind: str, message: str, evidence: Any = "") -> Finding:
    """Make a finding of a known kind; its evidence is shortened, and written as JSON unless it is text."""
    return Finding(KINDS[kind].gate, kind, message, excerpt(evidence))


Check = tuple[object, str, Any, Any]
"""A condition that is true for a finding, its kind, the values in its message, and its evidence."""


def make_findings(checks: Iterable[Check]) -> Iterator[Finding]:
    """Yield the finding of each check whose condition is true; kinds without a message in ``kinds.toml`` bring one."""
    for condition, kind, values, evidence in checks:
        if condition:
            values = values if isinstance(values, tuple) else (values,)
            yield finding(kind, MESSAGES.get(kind, "{}").format(*values), evidence)


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
