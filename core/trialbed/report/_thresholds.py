"""Means of scores against thresholds: ``pass@k`` and ``pass^k`` are those of repeats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trialbed.errors import UsageError
from trialbed.records import ScoreDescription, score_key, shown_name
from trialbed.report._records import Summary
from trialbed.texts import number_of

REPEATS = re.compile(r"pass([@^])([1-9]\d*)")
"""``pass@k`` and ``pass^k``, which repeats have."""


LESS_IS_BETTER = "lower is better, so a mean below a threshold does not fail"


@dataclass(frozen=True, slots=True)
class ThresholdCheck:
    """The mean of a framework's score beside the least that it may be.

    Attributes:
        problem: why it is below, in words; empty where it is not.
    """

    framework: str
    score: str
    least: float
    problem: str


def check_values(thresholds: Mapping[str, float], described: Mapping[str, ScoreDescription]) -> None:
    """Check that thresholds are numbers, those of shares from 0 to 1, and none of a score of which less is better.

    Raises:
        UsageError: one is not.
    """
    for given, least in thresholds.items():
        name = score_key(given)
        if name in described and described[name].lower_is_better:
            raise UsageError(f"{given}: {LESS_IS_BETTER}; hold the report against an earlier run by worse_than(run_id)")
        if not isinstance(least, (int, float)) or not math.isfinite(least):
            raise UsageError(f"{given}: {least!r:.60} is not a number to be held against the score")
        is_share = bool(REPEATS.fullmatch(name)) or (name in described and described[name].bounded)
        if is_share and not 0 <= least <= 1:
            raise UsageError(f"{given}: {least:g} is not a share; give a number from 0 to 1")


def check_thresholds(frameworks: Iterable[Summary], thresholds: Mapping[str, float]) -> Iterator[ThresholdCheck]:
    """Check the mean of each score of each framework.

    Failed trials are in the means of quality as 0. Where such a score could not be determined for some trials, the mean
    is taken as it is at worst: with 0 for each of them. A mean that is not known is below every threshold, and so is
    that of a row that is void.

    Raises:
        UsageError: there is no such score; lists those that exist.
    """
    for summary in frameworks:
        for given, least in thresholds.items():
            name = score_key(given)
            void = summary.integrity.void
            mean, condition = _mean(summary, name)
            is_below = mean is None or mean < least
            shown = "not measured" if mean is None else f"{mean:.4g}{condition}"
            problem = f"{shown_name(name)} is {shown}, below {least:g}" if is_below else ""
            problem = f"{shown_name(name)} is not shown, as the row is void: {void}" if void else problem
            yield ThresholdCheck(summary.framework, name, least, problem)


def _mean(summary: Summary, name: str) -> tuple[float | None, str]:
    """Return a score's mean, and words on how it is taken."""
    if repeats := REPEATS.fullmatch(name):
        found = (summary.success.any if repeats[1] == "@" else summary.success.each).get(int(repeats[2]))
        return found.value if found else None, ""
    score = summary.scores.get(name)
    if score is None:
        raise UsageError(
            f"there is no score {name!r}; the scores are {', '.join(sorted(map(shown_name, summary.scores)))}"
        )
    if score.value is None or not score.untold or not score.quality:
        return score.value, ""
    worst = score.value * score.denominator / (score.denominator + score.untold)
    return worst, f" at worst ({number_of(score.untold, 'trial')} could not be scored)"
