"""Findings on candidates against a baseline: better, worse, equivalent, identical, or undecided for too few queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import Any

from trialbed.records import ScoreDescription, shown_name
from trialbed.report.comparison._paired_scores import CommonQueries
from trialbed.report.comparison._sides import Side, shared_trials
from trialbed.report.comparison._trial_table import QueryId
from trialbed.statistics import (
    EnoughQueries,
    Interval,
    PairedVerdict,
    Pilot,
    count_values,
    holm,
    paired_interval,
    paired_test,
    paired_verdict,
)

HEADLINE = ("sopr_score", "api_call_score")
"""The scores on which verdicts are given, as far as both sides have them."""

ALPHA = 0.05

IntervalOf = Callable[[tuple[tuple[float, int], ...], float | None], Interval]
"""Gives the interval of differences, each with how often it occurs, and of how much one may be at most."""


def leading_scores(described: Mapping[str, ScoreDescription]) -> tuple[str, ...]:
    """Return the measures of a dataset itself, which come before those of every run."""
    return tuple(name for name, score in described.items() if score.leads)


@dataclass(frozen=True)
class ScoreFinding:
    """The finding on one score of one candidate.

    Attributes:
        baseline_mean, candidate_mean: over the queries that both have.
        n: how many these are.
        difference: candidate less baseline, the mean over queries; repeats of a query are one.
        interval: its 95 % interval. It allows for queries that were not seen and differ by all that the score allows.
        p: of the test that the true difference is 0: McNemar's where every query is won, lost or tied as a whole, else
            the sign-flip permutation test.
        p_adjusted: the same by Holm's method over all findings that are made together.
        better, worse: the queries that changed.
        verdict: ``too few`` stands for too few queries to decide.
        pilot: the differences, from which those of more queries can be drawn.
        comparisons: how many were tested together, for which the p-value is adjusted.
        bounded: whether the score lies in [0, 1]. Of one that does not, queries that were not seen are taken to differ
            by no more than those that were.
    """

    baseline: str
    candidate: str
    score: str
    n: int
    baseline_mean: float
    candidate_mean: float
    difference: float
    interval: Interval
    p: float
    p_adjusted: float
    margin: float
    better: tuple[QueryId, ...]
    worse: tuple[QueryId, ...]
    pilot: Pilot
    verdict: PairedVerdict = "too few"
    comparisons: int = 1
    bounded: bool = True

    @property
    def changed_queries(self) -> tuple[QueryId, ...]:
        """The queries on which the sides differ."""
        return (*self.worse, *self.better)

    @property
    def enough(self) -> EnoughQueries | None:
        """About how many queries would do, where there are too few, and what they would show."""
        if self.verdict != "too few":
            return None
        return self.pilot.enough(self.margin, comparisons=self.comparisons, beyond=self.n)

    @property
    def queries_needed(self) -> int | None:
        """About how many queries would do, where there are too few."""
        return self.enough.queries if self.enough else None

    @property
    def is_difference(self) -> bool:
        """Return whether the sides are shown to differ."""
        return self.verdict in ("better", "worse")

    @property
    def explanation(self) -> str:
        """The sentence that explains a verdict that the interval or the p-value alone would not give; empty if none."""
        is_off_0 = not self.interval.low <= 0 <= self.interval.high
        is_small = self.p_adjusted < ALPHA
        if not self.changed_queries or self.is_difference or not (is_off_0 or is_small):
            return ""
        if self.verdict == "equivalent":
            return f"there is a difference, but it is shown to be less than {self.margin:g}, the margin"
        if is_small:
            return (
                "p is below 0.05, but with queries that were not asked and may differ by more, the interval holds 0: "
                "not shown"
            )
        adjusted = f", as {self.comparisons} comparisons are made at once" if self.p < ALPHA else ""
        return f"the interval leaves out 0, but p is not below 0.05{adjusted}: not shown"

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON, without the names of its sides."""
        return {
            "n": self.n,
            "baseline": self.baseline_mean,
            "candidate": self.candidate_mean,
            "difference": self.difference,
            "low": self.interval.low,
            "high": self.interval.high,
            "level": self.interval.level,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "margin": self.margin,
            "verdict": self.verdict,
            "queries_needed": self.queries_needed,
            "better": list(self.better),
            "worse": list(self.worse),
        }


def explanations(findings: Iterable[ScoreFinding], named: Callable[[str], str] = shown_name) -> Iterator[str]:
    """Yield the sentences that explain verdicts, each with the findings that it is about.

    Args:
        named: names a score.
    """
    texts: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        if finding.explanation:
            key = finding.candidate, finding.baseline, finding.explanation
            texts.setdefault(key, []).append(finding.score)
    for (candidate, baseline, text), scores in texts.items():
        yield f"{candidate} against {baseline}, {' and '.join(map(named, scores))}: {text}."


def paired_findings(
    pairs: Sequence[tuple[Side, Side]], margin: float, scores: Sequence[str] | None = None
) -> list[ScoreFinding]:
    """Return the findings on every pair of a baseline and a candidate, and every score that both have.

    The p-values are adjusted over those in which anything changed, so that there is any false ``better`` or ``worse``
    among them with a chance of 5 % at most. A false ``equivalent`` has a chance of about 5 % at most for each of them.

    Args:
        margin: the largest difference that does not matter, set before the figures were seen; greater than 0.
        scores: None for the measures of the dataset, ``sopr_score`` and ``api_call_score``.
    """
    return [finding for found in findings_by_pair(pairs, margin, scores) for finding in found.values()]


def headline_scores(*sides: Side) -> tuple[str, ...]:
    """Return the scores of some sides on which verdicts are given."""
    leading = (name for side in sides for name in leading_scores(side.described))
    return tuple(dict.fromkeys([*leading, *HEADLINE]))


def findings_by_pair(
    pairs: Sequence[tuple[Side, Side]], margin: float, scores: Sequence[str] | None = None
) -> list[dict[str, ScoreFinding]]:
    """Return the same findings as ``paired_findings``: for each pair, score -> finding."""
    # Of very many pairs most differ alike, and the search of an interval takes most of the time.
    interval = cache(_interval)
    found = [
        (place, finding)
        for place, sides in enumerate(pairs)
        for common in [CommonQueries(*shared_trials(*sides))]
        for score in (scores if scores is not None else headline_scores(*sides))
        if (finding := _pair(common, score, margin, interval)) is not None
    ]
    # Where nothing changed, the test can find nothing, and does not count as one (R. E. Tarone, "A Modified Bonferroni
    # Method for Discrete Data", Biometrics 46 (1990), 515-522).
    tested = {number: finding.p for number, (_, finding) in enumerate(found) if finding.changed_queries}
    adjusted = holm(tested)
    by_pair: list[dict[str, ScoreFinding]] = [{} for _ in pairs]
    for number, (place, finding) in enumerate(found):
        by_pair[place][finding.score] = with_verdict(
            finding, adjusted.get(number, 1.0), comparisons=max(1, len(tested))
        )
    return by_pair


def _interval(counts: tuple[tuple[float, int], ...], largest: float | None) -> Interval:
    return paired_interval(dict(counts), largest=largest)


def _pair(common: CommonQueries, score: str, margin: float, interval: IntervalOf) -> ScoreFinding | None:
    """Return the figures of one score; None where no query has it on both sides."""
    found = common.score(score)
    if not len(found):
        return None
    differences = found.differences
    counts = count_values(differences)
    largest = 1.0 if all(score in side.bounded | side.quality for side in (common.baseline, common.candidate)) else None
    return ScoreFinding(
        baseline=common.baseline.name,
        candidate=common.candidate.name,
        score=score,
        n=len(found),
        baseline_mean=fmean(found.ours),
        candidate_mean=fmean(found.theirs),
        difference=fmean(differences),
        interval=interval(tuple(counts.items()), largest),
        p=paired_test(differences).p,
        p_adjusted=1.0,
        margin=margin,
        better=tuple(found.queries(differences > 0)),
        worse=tuple(found.queries(differences < 0)),
        pilot=Pilot.of(counts, largest=largest),
        bounded=largest is not None,
    )


def with_verdict(finding: ScoreFinding, p_adjusted: float, *, comparisons: int) -> ScoreFinding:
    """Return the finding with its verdict, as one of a number of comparisons that are made together."""
    verdict = paired_verdict(
        finding.interval, p_adjusted, finding.margin, alpha=ALPHA, changed=bool(finding.changed_queries)
    )
    return replace(finding, p_adjusted=p_adjusted, comparisons=comparisons, verdict=verdict)
