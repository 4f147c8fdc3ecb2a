"""Self-consistency: how far the trials of one side agree, which limits how far another side can agree with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialbed.statistics import CaseBootstrap
from trialbed_verify.comparison._decisions import Agreement, Decisions, agreement, f1, similarity
from trialbed_verify.comparison._records import BothScopes, Consistency, Similarity, Spread
from trialbed_verify.comparison._results import Trials
from trialbed_verify.comparison._unvaried import f1_of, with_width


@dataclass(frozen=True)
class SelfAgreement:
    """The agreement of one side's trials with each other, per case, over all pairs of different trials.

    Attributes:
        known: whether a case has at least two valid answers; the others do not count.
        stable: whether all valid answers of a case decide alike.
        agreement: as between two sides; its false positives and false negatives are equal.
    """

    known: NDArray[np.bool_]
    stable: NDArray[np.bool_]
    agreement: Agreement


def self_agreement(side: Decisions) -> SelfAgreement:
    """Compare each trial with all others of its case, and none with itself, so that the estimate is unbiased."""
    n, k = side.answers, side.triggers
    known = n >= 2
    pairs = np.where(known, n * (n - 1), 1.0)
    split = k * (n - k) / pairs * known
    both, neither = k * (k - 1) / pairs * known, (n - k) * (n - k - 1) / pairs * known
    return SelfAgreement(known, known & ((k == 0) | (k == n)), Agreement(both, split, split, neither))


def flip_rate(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    """The probability that two trials of a case decide differently."""
    return (fp + fn) / (tp + fp + fn + tn)


def consistency(side: Decisions, trials: Sequence[Trials], bootstrap: CaseBootstrap) -> Consistency | None:
    """Return self-F1, flip rate and stable cases; None with one trial per case, where they are unknown."""
    found = self_agreement(side)
    cases = int(found.known.sum())
    if not cases:
        return None
    self_f1 = bootstrap.estimate(f1, *found.agreement.errors, n=cases)
    flips = bootstrap.estimate(flip_rate, *found.agreement.table, n=cases)
    called = sum(float(column.sum()) for column in found.agreement.errors)
    if called:
        share = float(found.agreement.tp.sum()) / called
        self_f1 = with_width(self_f1, share, found.agreement.calling_cases, f1_of)
    return Consistency(
        cases=cases,
        trials=int(side.trials.max()),
        self_f1=self_f1,
        pairs_of_trials=_spread(_f1_of_pairs(trials)),
        flip_rate=with_width(flips, flips.value or 0.0, cases),
        stable_cases=int(found.stable.sum()),
    )


def stable_subset(baseline: Decisions, vendor: Decisions, bootstrap: CaseBootstrap) -> BothScopes[Similarity]:
    """Return the similarity over the cases in which the baseline's trials are unanimous."""
    stable = self_agreement(baseline).stable
    answered, delivered = (agreement(baseline, vendor, delivered=failures_count) for failures_count in (False, True))
    return BothScopes(similarity(answered.only(stable), bootstrap), similarity(delivered.only(stable), bootstrap))


def _f1_of_pairs(trials: Sequence[Trials]) -> Iterator[float]:
    """Yield F1 of every pair of trials; it is the same in both directions."""
    numbers = sorted({number for rows in trials for number in rows})
    triggers = np.array([[_trigger(rows, number) for number in numbers] for rows in trials])
    for one, other in combinations(triggers.T, 2):
        known = np.isfinite(one) & np.isfinite(other)
        both, either = float((one * other)[known].sum()), float((one + other)[known].sum())
        if either:
            yield 2 * both / either


def _trigger(rows: Trials, number: int) -> float:
    row = rows.get(number)
    return np.nan if row is None or row.decision == "none" else float(row.decision == "tool_calls")


def _spread(values: Iterator[float]) -> Spread:
    found = sorted(values)
    return Spread(len(found), found[0], sum(found) / len(found), found[-1]) if found else Spread(0)
