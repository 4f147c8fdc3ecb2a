"""A sequential test for a change: it may be looked at after every verification."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialbed_verify.panel import CATEGORIES

Night = NDArray[np.int64]
"""The answers of a verification as categories and then levels, of shape (cases, trials, places)."""

UNIT = 1000
"""Levels are logarithms in so small a unit."""

FACTOR = 1.25
"""Times change by more than this factor, or their change is not looked for: no night is as busy as another."""


class Level(NamedTuple):
    """A subject in which answers have more or less of something.

    Attributes:
        place: among the levels, which follow all categories.
        shift: added to the newest answers, so that only a change that is larger is found.
        sign: 1 where only more is looked for, -1 for less, 0 for both.
    """

    place: int
    shift: int = 0
    sign: int = 0


SHIFT = round(UNIT * math.log(FACTOR))

LEVELS: Mapping[str, Level] = {
    "text-length": Level(0),
    "completion-tokens": Level(1),
    "slower": Level(2, -SHIFT, 1),
    "faster": Level(2, SHIFT, -1),
}
"""Subject -> its level."""

CATEGORY_PLACES = 1 + max(place for places in CATEGORIES.values() for place in places)

Sums = tuple[str, NDArray[Any], NDArray[Any], int]
"""A subject, its cases in which trials differ, the sums of the newest for each split, and the sign looked for."""

MOST = 60
"""Earlier trials of a case that are compared with; of more, so many are drawn."""

SPLITS = 256
"""Ways to choose the newest trials among all, drawn for all cases."""

DEALS = 500
"""Random deals at a time."""

MOST_DEALS = 10_000

ENOUGH = 10
"""Deals as unusual as the answers, after which no more are needed."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class Assessment:
    """The state of the test after a verification.

    Attributes:
        p: how unusual its answers are among all so far; None for the first.
        evidence: for a change, up to now; a change is reported where it reaches the number of false_alarms_every.
        subject: in which its answers are most unusual.
    """

    p: float | None
    evidence: float | None
    subject: str | None


@dataclass(frozen=True)
class DetectedChange:
    """A change that was found.

    Attributes:
        since, found: numbers of verifications: the likeliest beginning, and where it was reported.
        subjects: in which answers were most unusual since then, the most frequent first.
    """

    since: int
    found: int
    subjects: tuple[str, ...]
    evidence: float


def sequential_test(
    nights: Sequence[Night], false_alarms_every: float, seed: int
) -> tuple[list[Assessment], list[DetectedChange]]:
    """Test each verification against the earlier ones.

    If nothing changed, the trials of a case can be exchanged between verifications, so how unusual the newest are among
    all gives a p-value, and these are independent of one another (V. Vovk, I. Nouretdinov, A. Gammerman, "Testing
    Exchangeability On-Line", 2003). Each becomes an e-value, whose mean is 1 at most, and the evidence is their
    Shiryaev-Roberts sum R = (1 + R) e: it reaches a threshold after that many verifications at the earliest, on average
    (J. Shin, A. Ramdas, A. Rinaldo, "E-detectors", 2022). After a change the test begins anew with the verifications
    since then.
    """
    random = np.random.default_rng(seed)
    assessments: list[Assessment] = []
    changes: list[DetectedChange] = []
    earlier: Night | None = None
    begin, evidence, product, since = 0, 0.0, 1.0, 0
    for number, night in enumerate(nights):
        if earlier is None:
            assessments.append(Assessment(None, evidence, None))
            earlier = _draw(night, random)
            continue
        p, subject = _unusual(earlier, night, random)
        value = e_value(p)
        evidence = (1 + evidence) * value
        if product <= 1:
            since, product = number, 1.0
        product *= value
        assessments.append(Assessment(p, evidence, subject))
        earlier = _draw(np.concatenate((earlier, night), axis=1), random)
        if evidence >= false_alarms_every:
            counted = Counter(assessment.subject for assessment in assessments[since:] if assessment.subject)
            changes.append(DetectedChange(since, number, tuple(name for name, _ in counted.most_common(3)), evidence))
            begin, evidence, product = since, 0.0, 1.0
            earlier = _draw(np.concatenate(nights[begin : number + 1], axis=1), random)
    return assessments, changes


def e_value(p: float) -> float:
    """The mean of k p^(k - 1) over k from 0 to 1: large for small p-values, and 1 on average if nothing changed.

    Source: V. Vovk, R. Wang, "E-values: Calibration, Combination and Applications", Annals of Statistics 49 (2021).
    """
    if p >= 1:
        return 0.5
    log = math.log(p)
    return (1 - p + p * log) / (p * log * log)


def _draw(trials: Night, random: np.random.Generator) -> Night:
    """Return at most ``MOST`` trials of each case, chosen at random."""
    if trials.shape[1] <= MOST:
        return trials
    order = random.random(trials.shape[:2]).argsort(axis=1)[:, :MOST]
    return np.take_along_axis(trials, order[:, :, None], axis=1)


def _unusual(earlier: Night, night: Night, random: np.random.Generator) -> tuple[float, str]:
    """The p-value of the newest answers, and the subject in which they are most unusual."""
    count = night.shape[1]
    trials = np.concatenate((earlier, night), axis=1)
    total = trials.shape[1]
    splits = random.random((SPLITS, total)).argsort(axis=1) < count
    splits[0] = np.arange(total) >= total - count
    scores = [
        (subject, np.sum([_oddness(trials[:, :, place]) for place in places], axis=0), 0)
        for subject, places in CATEGORIES.items()
    ]
    scores += [(subject, _ranks(trials, count, level), level.sign) for subject, level in LEVELS.items()]
    found: list[Sums] = []
    for subject, score, sign in scores:
        active = score.max(axis=1) > score.min(axis=1)
        sums = score[active] @ splits.T.astype(np.float64)
        found.append((subject, active, sums - sums[:, 1:].mean(axis=1, keepdims=True), sign))
    return _p_value(found, len(trials), random)


def _p_value(found: Sequence[Sums], cases: int, random: np.random.Generator) -> tuple[float, str]:
    """Deal until the p-value is known well enough.

    Source: J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991), 301-304.
    """
    spreads = [math.sqrt(float(sums[:, 1:].var(axis=1).sum())) or math.inf for _, _, sums, _ in found]
    seen = [
        float(_telling(sums[:, 0].sum(), sign)) / spread
        for (_, _, sums, sign), spread in zip(found, spreads, strict=True)
    ]
    greatest = max(seen)
    subject = found[int(np.argmax(seen))][0]
    reached = drawn = 0
    while drawn < MOST_DEALS and reached < ENOUGH:
        dealt = random.integers(1, SPLITS, size=(cases, DEALS), dtype=np.uint16)
        largest = np.zeros(DEALS)
        for (_, active, sums, sign), spread in zip(found, spreads, strict=True):
            if len(sums):
                total = np.take_along_axis(sums, dealt[active], axis=1).sum(axis=0)
                largest = np.maximum(largest, _telling(total, sign) / spread)
        reached += int((largest >= greatest - ROUNDING).sum())
        drawn += DEALS
    return (reached + 1) / (drawn + 1), subject


def _telling(total: Any, sign: int) -> Any:
    return sign * total if sign else np.abs(total)


def _ranks(trials: Night, count: int, level: Level) -> NDArray[np.float64]:
    """Return the rank of each trial among those of its case; the newest ``count`` are shifted."""
    values = trials[:, :, CATEGORY_PLACES + level.place].copy()
    newest = values[:, -count:]
    newest[newest > 0] += level.shift
    more = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    alike = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    ranks: NDArray[np.float64] = more + alike / 2
    return ranks


def _oddness(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of trials of its case that each one differs from, of shape (cases, trials)."""
    order = values.argsort(axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    starts = np.ones(values.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    group = np.cumsum(starts.ravel()) - 1
    sizes = np.bincount(group)[group].reshape(values.shape)
    counts = np.empty_like(sizes)
    np.put_along_axis(counts, order, sizes, axis=1)
    differing: NDArray[np.float64] = (values.shape[1] - counts).astype(np.float64)
    return differing
