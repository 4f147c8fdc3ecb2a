"""Counts over the trials of a framework, one trial after the other, of which nothing but numbers is kept."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from trialbed.integrity import IntegrityCounter
from trialbed.records import GoldAnswer, Score, TrialKey, Usage
from trialbed.report._reasons import ReasonCounter
from trialbed.report._records import Claims, ClaimTotals, Repeated, Tokens, WireFigures, WireTally
from trialbed.report._trials import QueryId, ReportedTrial, WireCounts
from trialbed.report.attribution import CallCounter
from trialbed.scoring import JUDGED


class TrialTally:
    """Counts over the trials of a framework that count, in the order of the run's queries.

    Args:
        gold: the answers to the expected calls of queries, where the run made them.
        earlier: attempts that do not count.

    Attributes:
        ends: status -> trials.
        failures: kind -> trials that ended in such an error.
        verdicts: of the judge.
        finishes: whether the agent ended by itself -> trials for which that is known.
        untold: score -> trials without failure for which it could not be determined.
        quality: the scores that trials without failure have, in order -> whether all say how good an answer is.
        gold_times: of making the expected calls of each trial, in seconds.
        last_end: when the last of them ended.
    """

    def __init__(self, gold: Mapping[QueryId, GoldAnswer], earlier: Collection[ReportedTrial] = ()) -> None:
        self._gold = gold
        self.ends: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.verdicts: Counter[str | None] = Counter()
        self.finishes: Counter[bool] = Counter()
        self.untold: Counter[str] = Counter()
        self.quality: dict[str, bool] = {}
        self.gold_times = array("d")
        self.last_end: datetime | None = None
        self.integrity = IntegrityCounter()
        self.reasons = ReasonCounter()
        self.calls = CallCounter()
        self.wire = _WireCounter()
        self.tokens = _TokenCounter()
        self.claims = _ClaimsCounter()
        self._repeated = _RepeatedCounter(earlier)
        self._trials = 0

    def add(self, trial: ReportedTrial) -> None:
        """Add a trial."""
        self.ends[trial.status] += 1
        if trial.failure is not None:
            self.failures[trial.failure.kind] += 1
        if trial.status == "answered":
            for score in trial.scores:
                self._add_score(score)
            self.claims.add(trial)
        if trial.query_id in self._gold:
            self.gold_times.append(self._gold[trial.query_id].seconds)
        end = trial.started_at + timedelta(seconds=trial.wall_time)
        self.last_end = end if self.last_end is None else max(self.last_end, end)
        self.integrity.add(trial.integrity)
        self.reasons.add(self._trials, trial)
        self.calls.add(trial.query_id, trial.gold_calls or (), trial.failure)
        self.wire.add(trial.wire)
        self.tokens.add(trial.wire)
        self._repeated.add(trial)
        self._trials += 1

    def _add_score(self, score: Score) -> None:
        self.quality[score.name] = self.quality.get(score.name, True) and score.bounded and score.quality
        if score.value is None:
            self.untold[score.name] += 1
        elif score.name == JUDGED:
            self.verdicts[score.label] += 1
        elif score.name == "has_finish":
            self.finishes[bool(score.value)] += 1

    @property
    def repeats(self) -> Repeated:
        """The trials that were measured several times."""
        return self._repeated.total


class _RepeatedCounter:
    """Counts the trials that were measured several times, and those of which a later attempt counts."""

    def __init__(self, earlier: Collection[ReportedTrial]) -> None:
        self._others = {(other.key, other.attempt) for other in earlier if other.status != "not measured"}
        self._keys: set[TrialKey] = {key for key, _ in self._others}
        self.total = Repeated(0, 0)

    def add(self, trial: ReportedTrial) -> None:
        if trial.key in self._keys:
            is_later = any((trial.key, number) in self._others for number in range(trial.attempt))
            self.total = Repeated(self.total.trials + 1, self.total.replaced + is_later)


class _TokenCounter:
    """Counts tokens and requests."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._usage = Counter[str]()
        self._cost: float | None = None

    def add(self, wire: WireCounts) -> None:
        self._usage.update(vars(wire.usage))
        self._counts["requests"] += wire.model_requests
        self._counts["unreported"] += wire.unreported
        self._counts["recorded_requests"] += wire.recorded
        self._counts["recorded"] += wire.recorded_tokens
        if wire.cost is not None:
            self._cost = (self._cost or 0) + wire.cost

    @property
    def total(self) -> Tokens:
        used = Usage(**self._usage)
        return Tokens(
            prompt=used.prompt_tokens,
            completion=used.completion_tokens,
            total=used.total_tokens,
            requests=self._counts["requests"],
            unreported=self._counts["unreported"],
            recorded_requests=self._counts["recorded_requests"],
            recorded=self._counts["recorded"],
            cost=self._cost,
        )


class _ClaimsCounter:
    """Counts the claims of agents in trials without failure."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._totals = {what: ClaimTotals(0, 0, 0, 0) for what in ("tokens", "turns")}

    def add(self, trial: ReportedTrial) -> None:
        claimed = trial.claimed
        for what in ("invented", "unreported", "unasked"):
            self._calls[what] += getattr(claimed, what)
        for what, pair in (("tokens", claimed.tokens), ("turns", claimed.turns)):
            if pair is not None:
                known, (said, seen) = self._totals[what], pair
                self._totals[what] = ClaimTotals(
                    known.claimed + said, known.observed + seen, known.trials + 1, known.differ + (said != seen)
                )

    @property
    def total(self) -> Claims:
        return Claims(
            invented=self._calls["invented"],
            unreported=self._calls["unreported"],
            unasked=self._calls["unasked"],
            tokens=self._totals["tokens"],
            turns=self._totals["turns"],
        )


class _WireCounter:
    """Counts the facts of the wire."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._trials: Counter[str] = Counter()
        self._finish_reasons: Counter[str] = Counter()
        self._limits: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()

    def add(self, wire: WireCounts) -> None:
        self._finish_reasons.update(wire.finish_reasons)
        self._limits.update(wire.refused)
        self._lost.update(wire.lost)
        self._counts["api_calls"] += wire.api_calls
        self._counts["cached"] += wire.cached
        found = {
            "truncated": wire.truncated,
            "text_calls": wire.text_calls,
            "refused": sum(wire.refused.values()),
            "lost": len(wire.lost),
            "filled": wire.filled,
            "waited": round(wire.waited),
            "translated": wire.translated,
        }
        for what, number in found.items():
            if number:
                self._counts[what] += number
                self._trials[what] += 1

    @property
    def total(self) -> WireFigures:
        return WireFigures(
            finish_reasons=_positive(self._finish_reasons),
            truncated=self._tally("truncated"),
            text_calls=self._tally("text_calls"),
            refused=self._tally("refused", _positive(self._limits)),
            lost=self._tally("lost", self._lost),
            filled=self._tally("filled"),
            api_calls=self._counts["api_calls"],
            cached=self._counts["cached"],
            waited=self._tally("waited"),
            translated=self._tally("translated"),
        )

    def _tally(self, what: str, kinds: Mapping[str, int] | None = None) -> WireTally:
        return WireTally(self._counts[what], self._trials[what], dict(kinds or {}))


def _positive(counts: Counter[str]) -> dict[str, int]:
    return dict(+counts)


def quality_names(tallies: Iterable[TrialTally], always: Collection[str]) -> tuple[str, ...]:
    """Return the scores that say how good an answer is in all trials without failure that have them."""
    found = dict.fromkeys(always, True)
    for tally in tallies:
        for name, is_quality in tally.quality.items():
            found[name] = is_quality and found.get(name, True)
    return tuple(name for name, is_quality in found.items() if is_quality or name in always)
