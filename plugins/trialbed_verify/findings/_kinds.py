"""Define every kind of finding; ``kinds.toml`` explains them and the terms of result files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, NamedTuple, get_args

from trialbed.wire import dump_json

Subject = Literal["protocol", "constraints", "schema", "text", "usage", "model"]
GATES: tuple[Subject, ...] = get_args(Subject)

Severity = Literal["violation", "note"]
"""``violation``: the specification or the request rules it out, and callers rely on it. ``note``: odd, but harmless."""

SHOWN = 300
"""Characters of evidence, at most."""


class FindingKind(NamedTuple):
    """The definition of a kind."""

    gate: Subject
    severity: Severity
    meaning: str


_FILE: dict[str, Any] = tomllib.loads(files("trialbed_verify.findings").joinpath("kinds.toml").read_text("utf-8"))

OUTCOMES: Mapping[str, str] = _FILE["outcomes"]
"""End of a case -> meaning."""

PROTOCOL_ERRORS: Mapping[str, str] = _FILE["protocol"]["error"]
"""Problems in the vendor's answer; each is a finding, too."""

PROBLEMS: Mapping[str, str] = {**PROTOCOL_ERRORS, **_FILE["failures"]}
"""Kind of failure of a case -> meaning."""

KINDS: Mapping[str, FindingKind] = {
    name: FindingKind(gate, "note" if severity == "note" else "violation", meaning)
    for gate in GATES
    for severity, meanings in _FILE[gate].items()
    for name, meaning in meanings.items()
}
"""Name -> definition."""

CALL_REASONS = {name: KINDS[name].meaning for name in (*_FILE["schema"]["violation"], "unusable_schema")}
"""The reasons in the verdicts on calls: each is a finding, too."""

PARAMETERS: Mapping[str, list[str]] = _FILE["parameters"]
"""Parameter of requests -> the kinds of findings that an answer does not obey it."""

ADVICE: Mapping[str, str] = _FILE["advice"]
"""Pattern of the problems of a vendor that never answered -> advice; the first match counts."""

UNCONSTRAINING: Mapping[str, list[Any]] = _FILE["unconstraining"]
"""Parameter -> the values that constrain an answer no more than its absence."""

LOGPROBS = _FILE["logprobs"]
"""The JSON Schema of log probabilities."""

MESSAGES: Mapping[str, str] = _FILE["messages"]
"""Kind -> the message of its finding, with places for values."""

UNRELIABLE_COUNT = frozenset(_FILE["unreliable"]["count"])
"""Kinds that make a rate of tokens per second untrustworthy."""


def kind_in_words(kind: str) -> str:
    """Return the meaning of a kind of finding or failure; unknown kinds and plain words are returned unchanged."""
    return KINDS[kind].meaning.replace("`", "") if kind in KINDS else kind


class Finding(NamedTuple):
    """One fault or oddity of an answer.

    Attributes:
        kind: a key of ``KINDS``.
        evidence: an excerpt of the answer, as raw bytes if available, otherwise as JSON.
    """

    gate: Subject
    kind: str
    severity: Severity
    message: str
    evidence: str = ""

    def as_json(self) -> dict[str, str]:
        """Return its form in a results file."""
        return self._asdict()


def finding(kind: str, message: str, evidence: Any = "") -> Finding:
    """Make a finding of a known kind; its evidence is shortened, and written as JSON unless it is text."""
    text = evidence if isinstance(evidence, str) else dump_json(evidence).decode()
    gate, severity, _ = KINDS[kind]
    return Finding(gate, kind, severity, message, text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


Check = tuple[Any, ...]
"""A condition that is true for a finding, its kind, the values in its message, and its evidence.

Kinds without a message in ``kinds.toml`` have the whole message as their value. The usage is the default evidence.
"""
