"""The summary of one endpoint, as records; ``as_document`` writes them as the JSON that users read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trialbed.statistics import Estimate
from trialbed_verify.documents import as_document, fields_as_document
from trialbed_verify.suites import SuiteSummary

SATURATED = 0.05
"""Seconds of lag, at the 95th percentile, above which the times say more about this process than about the vendor."""


@dataclass(frozen=True)
class ObservedSpread:
    """The mean and the quantiles of the known values of a figure."""

    mean: float
    p50: float
    p95: float
    p99: float
    n: int


@dataclass(frozen=True)
class RowExample:
    """A case as an example.

    Attributes:
        line: of the test set.
        tool: of a call that does not fit its schema.
        evidence: of a finding.
    """

    line: int
    trial: int
    message: str
    tool: str | None = None
    evidence: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        more = {"tool": self.tool, "evidence": self.evidence}
        own = {name: value for name, value in more.items() if value is not None}
        return {"line": self.line, "trial": self.trial, **own, "message": self.message}


@dataclass(frozen=True, kw_only=True)
class AnswerCounts:
    """The counters of K2-style summaries, under their names."""

    success_count: int
    failure_count: int
    finish_stop: int
    finish_tool_calls: int
    finish_others: int
    finish_others_detail: Mapping[str, int]
    schema_validation_error_count: int
    successful_tool_call_count: int
    usage: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class RowFigures:
    """Trialbed's own figures over rows; unknown ones are None.

    Attributes:
        problems, notes, call_problems: kind -> number, the most frequent first.
        rates: name -> share, with the trials of a case taken together.
        examples: of problems, calls and findings -> kind -> the first ones.
        usage_reported: kind of tokens -> answers that report it.
        spreads: name -> tokens and times.
        served: ``models``, ``fingerprints`` and ``providers`` -> name -> answers.
        suites: name -> score.
        first_row_at, last_row_at: when the first and the last case ended.
    """

    case_count: int
    outcomes: Mapping[str, int]
    problems: Mapping[str, int]
    notes: Mapping[str, int]
    rates: Mapping[str, Estimate | None]
    call_count: int
    call_problems: Mapping[str, int]
    uncheckable_responses: int
    uncheckable_calls: int
    examples: Mapping[str, Mapping[str, Sequence[RowExample]]]
    attempt_count: int
    usage_reported: Mapping[str, int]
    spreads: Mapping[str, ObservedSpread | None]
    served: Mapping[str, Mapping[str, int]]
    suites: Mapping[str, SuiteSummary]
    first_row_at: str | None
    last_row_at: str | None

    def as_json(self) -> dict[str, Any]:
        """Return them as JSON: each rate and figure under its own name."""
        document: dict[str, Any] = {}
        for name, value in fields_as_document(self).items():
            if name in ("rates", "spreads"):
                document |= value
            elif name == "served":
                document |= {f"served_{kind}": names for kind, names in value.items()}
            else:
                document[name] = value
        return document


@dataclass(frozen=True)
class TokenCost:
    """The cost of the reported tokens, in US dollars."""

    input: float
    output: float
    total: float


@dataclass(frozen=True, kw_only=True)
class EndpointSummary:
    """The summary of one endpoint.

    Attributes:
        began, ended: of the last session; everything else describes all results.
        not_sent: cases of the last session that were not sent.
        failure: of its driver; empty without one.
        cost: None without prices.
        provenance: test set, configuration, drivers and options, as they are stored with the run.
    """

    model: str
    vendor: str
    is_baseline: bool
    began: datetime | None
    ended: datetime | None
    counts: AnswerCounts
    figures: RowFigures
    not_sent: int
    failure: str | None
    cost: TokenCost | None
    provenance: Mapping[str, Any]

    @property
    def client_saturated(self) -> bool | None:
        """Whether this process was delayed; None where its lag is not known."""
        lag = self.figures.spreads["loop_lag_ms"]
        return None if lag is None else lag.p95 > SATURATED * 1000

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The settings of the endpoint."""
        found: Mapping[str, Any] = self.provenance["configuration"]
        return found

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON: the K2-style fields, then Trialbed's own."""
        began, ended = self.began, self.ended
        return {
            "model": self.model,
            **as_document(self.counts),
            "eval_started_at": began.isoformat() if began else None,
            "eval_finished_at": ended.isoformat() if ended else None,
            "eval_duration_ms": round((ended - began).total_seconds() * 1000) if began and ended else None,
            "vendor": self.vendor,
            "is_baseline": self.is_baseline,
            **self.figures.as_json(),
            "not_sent": self.not_sent,
            "failure": self.failure,
            "client_saturated": self.client_saturated,
            "cost": as_document(self.cost),
            "provenance": as_document(self.provenance),
        }
