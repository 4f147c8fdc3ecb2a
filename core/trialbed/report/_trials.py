"""The trials of a report in short, without requests and answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from trialbed.records import (
    Failure,
    IntegrityFinding,
    Prices,
    Score,
    SentCall,
    TrialKey,
    TrialResult,
    TrialStatus,
    Usage,
    WireLog,
)
from trialbed.report.attribution import AttributedCall
from trialbed.scoring import JUDGED
from trialbed.wire.redaction import redact
from trialbed.wire_log import failed, finish_reasons, observed_usage, refusals, text_calls, truncated

QueryId = int | str
Pair = tuple[QueryId, int]
"""A query and a repeat."""

CLAIMS = "claimed_vs_observed"
"""The score whose details are counted over all trials."""


@dataclass(frozen=True, slots=True)
class WireCounts:
    """Counts over the wire log of one trial.

    Attributes:
        usage: the tokens that the model reported; ``unreported`` counts the answers without a report.
        recorded: how many answers were recorded ones, and ``recorded_tokens``, what they report.
        cost: of these tokens, in US dollars, without those of other models; None where the prices are not known.
        sent_invalid: calls that the model sent and that cannot be made.
        refused: how many requests were past which limit.
        lost: the reasons of calls that the framework's offer made impossible.
        filled: optional arguments that had to be made up.
        waited: seconds for which its requests waited for the endpoint, or were repeated; no framework's time.
        translated: requests that the endpoint was asked in another dialect.
    """

    model_requests: int
    model_errors: int
    unreported: int
    usage: Usage
    recorded: int
    recorded_tokens: int
    cost: float | None
    sent_invalid: int
    finish_reasons: Mapping[str, int]
    truncated: int
    text_calls: int
    refused: Mapping[str, int]
    lost: tuple[str, ...]
    filled: int
    api_calls: int
    api_errors: int
    cached: int
    waited: float
    translated: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims of an agent beside the observed numbers.

    Attributes:
        invented, unreported, unasked: numbers of calls.
        tokens, turns: claimed and observed, where both are known.
    """

    invented: int = 0
    unreported: int = 0
    unasked: int = 0
    tokens: tuple[int, int] | None = None
    turns: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ReportedTrial:
    """A trial in short.

    Attributes:
        scores: without their details.
        selected_tools: the names of the tools on offer.
        first: whether it was the first of its worker.
        reason: the judge's words, or why it gave no verdict.
        finished: whether the agent ended by itself, with an answer.
        integrity: the findings of the trial; None where none were recorded.
        gold_calls: what became of the query's expected calls; None where not known or the trial was not measured.
    """

    key: TrialKey
    attempt: int
    trial: str
    status: TrialStatus
    failure: Failure | None
    scores: tuple[Score, ...]
    selected_tools: tuple[str, ...]
    started_at: datetime
    wall_time: float
    evaluation_time: float
    first: bool
    adapter_digest: str
    reason: str
    finished: bool
    wire: WireCounts
    claimed: Claimed
    integrity: tuple[IntegrityFinding, ...] | None = None
    gold_calls: tuple[AttributedCall, ...] | None = None

    @property
    def query_id(self) -> QueryId:
        """The query."""
        return self.key.query_id

    @property
    def repeat(self) -> int:
        """The number of the repeat, from 0."""
        return self.key.repeat

    @property
    def pair(self) -> Pair:
        """The query and the repeat."""
        return self.key.query_id, self.key.repeat

    def score(self, name: str) -> Score | None:
        """The score of this name, if there is one."""
        return next((score for score in self.scores if score.name == name), None)

    @property
    def verdict(self) -> str:
        """The judge's, or ``Error`` where there is none."""
        judged = self.score(JUDGED) if self.status == "answered" else None
        return judged.label if judged is not None and judged.value is not None and judged.label else "Error"

    @property
    def faults(self) -> int:
        """Calls that the server refused, or that could not be made, and requests to the model that failed."""
        return self.wire.api_errors + self.wire.sent_invalid + self.wire.model_errors


SCORE_FIELDS = set(Score.model_fields)
NO_DETAIL: dict[str, Any] = {}


@dataclass
class Shortener:
    """Makes trials short.

    Args:
        secrets: redacted in words.
        prices: of the run's model; None where they are not known.
    """

    secrets: Collection[str] = ()
    prices: Prices | None = None

    def __call__(self, result: TrialResult, gold_calls: tuple[AttributedCall, ...] | None = None) -> ReportedTrial:
        """The trial, with what became of its expected calls."""
        outcome = result.outcome
        judged = result.score(JUDGED)
        return ReportedTrial(
            key=result.key,
            attempt=result.attempt,
            trial=result.trial,
            status=result.status,
            failure=self._failure(outcome.failure),
            scores=tuple(map(self._score, result.scores)),
            selected_tools=result.selected_tools,
            started_at=outcome.started_at,
            wall_time=outcome.wall_time,
            evaluation_time=result.evaluation_time,
            first=outcome.first,
            adapter_digest=result.adapter_digest,
            reason=redact(_reason(judged), self.secrets),
            finished=is_finished(result),
            wire=_counts(result.wire, self.prices),
            claimed=_read_claims(result),
            integrity=result.integrity,
            gold_calls=gold_calls,
        )

    def _failure(self, failure: Failure | None) -> Failure | None:
        if failure is None:
            return None
        return failure.model_copy(update={"message": redact(failure.message, self.secrets), "detail": ""})

    def _score(self, score: Score) -> Score:
        if score.failure is not None:
            return score.model_copy(update={"detail": {}, "failure": self._failure(score.failure)})
        return short_score(score.name, score.label, score.bounded, score.quality, score.value)


@lru_cache(maxsize=1_024, typed=True)  # 1, 1.0 and True are equal
def short_score(
    name: str,
    label: str | None,
    bounded: bool,
    quality: bool,
    value: float | None,
) -> Score:
    """Return a score in short: with a set and a dict that all share, which of its own would be most of its memory."""
    return Score.model_construct(
        SCORE_FIELDS,
        name=name,
        value=value,
        label=label,
        detail=NO_DETAIL,
        bounded=bounded,
        quality=quality,
        failure=None,
    )


def is_finished(result: TrialResult) -> bool:
    """Return whether the agent ended by itself, with an answer that counts."""
    answer = result.outcome.answer
    return result.status == "answered" and answer is not None and answer.finish is not None


def sent_calls(wire: WireLog) -> list[SentCall]:
    """The calls that the model sent, in order."""
    return [call for turn in wire.model_calls for call in turn.tool_calls]


def _reason(judged: Score | None) -> str:
    if judged is None:
        return ""
    return judged.failure.message if judged.failure else str(judged.detail.get("reason") or "")


def _counts(wire: WireLog, prices: Prices | None) -> WireCounts:
    turns, calls = wire.model_calls, wire.api_calls
    return WireCounts(
        model_requests=len(turns),
        model_errors=sum(map(failed, turns)),
        unreported=sum(1 for turn in turns if turn.usage is None and not failed(turn)),
        usage=sum((turn.usage for turn in turns if turn.usage is not None), Usage()),
        recorded=sum(1 for turn in turns if turn.recorded is not None),
        recorded_tokens=sum(turn.usage.total_tokens for turn in turns if turn.usage and turn.recorded is not None),
        cost=None
        if prices is None
        else sum(prices.cost(turn.usage) for turn in turns if turn.usage is not None and not turn.other_model),
        sent_invalid=sum(1 for call in sent_calls(wire) if call.problem is not None),
        finish_reasons=finish_reasons(wire),
        truncated=truncated(wire),
        text_calls=len(text_calls(wire)),
        refused=refusals(wire),
        lost=tuple(call.reason for call in wire.lost),
        filled=len(wire.filled),
        api_calls=len(calls),
        api_errors=sum(1 for call in calls if call.error or call.status != 200),
        cached=sum(1 for call in calls if call.cached),
        waited=sum(turn.waited for turn in turns if turn.recorded is None),
        translated=sum(1 for turn in turns if turn.translated),
    )


def _read_claims(result: TrialResult) -> Claimed:
    answer = result.outcome.answer
    score = result.score(CLAIMS)
    detail = score.detail if score else {}
    invented, unreported, unasked = (len(detail.get(kind, ())) for kind in ("invented", "unreported", "unasked"))
    if answer is None:
        return Claimed(invented, unreported, unasked)
    observed, turns = observed_usage(result.wire), result.wire.model_calls
    return Claimed(
        invented,
        unreported,
        unasked,
        tokens=None if answer.usage is None or observed is None else (answer.usage.total_tokens, observed.total_tokens),
        turns=None
        if answer.model_turns is None or not turns
        else (answer.model_turns, sum(1 for turn in turns if not failed(turn))),
    )
