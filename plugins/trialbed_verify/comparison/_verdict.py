"""The verdict by F1: a vendor against the agreement of the baseline with itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trialbed.statistics import CaseBootstrap, Interval
from trialbed_verify.comparison._consistency import UNKNOWN, self_agreement
from trialbed_verify.comparison._decisions import Decisions, agreement, f1
from trialbed_verify.comparison._records import F1Difference, F1Verdict
from trialbed_verify.comparison._unvaried import f1_of
from trialbed_verify.panel import FEWEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_ANSWER = "the vendor gave no valid answer in any case that the baseline answered twice"
NO_TRIGGER = "neither side called tools in any case that the baseline answered twice"
ALPHA = 0.05

Finding = Literal["equivalent", "different", "inconclusive"]


def f1_difference(tp: Any, fp: Any, fn: Any, self_tp: Any, self_fp: Any, self_fn: Any) -> Any:
    """Return the vendor's F1 minus the baseline's self-F1."""
    return f1(tp, fp, fn) - f1(self_tp, self_fp, self_fn)


def f1_verdict(baseline: Decisions, vendor: Decisions, bootstrap: CaseBootstrap, margin: float) -> F1Verdict:
    """Return equivalent, different or inconclusive, with the reason and the figures behind it.

    The finding is about decisions as delivered: a failure counts as a missed call where the baseline calls tools.
    """
    delivered = _judge(baseline, vendor, bootstrap, margin, delivered=True)
    answered = _judge(baseline, vendor, bootstrap, margin, delivered=False)
    finding = "inconclusive" if isinstance(delivered, str) else delivered.finding
    cases = len(baseline.trials)
    if cases < FEWEST and finding == "equivalent":
        # Where nothing varies in a few cases, resamples vary neither.
        reason = f"{cases} cases are too few to show equivalence; it takes {FEWEST} at least"
        return F1Verdict("inconclusive", reason, margin)
    called = agreement(baseline, vendor, delivered=True).calling_cases
    if called < FEWEST and finding == "equivalent":
        # F1 does not see the other cases.
        reason = f"tools are called in {called} of the {cases} cases, too few to show equivalence"
        return F1Verdict("inconclusive", f"{reason}; it takes {FEWEST} at least", margin)
    delivered = _with_width(delivered, called)
    answered = _with_width(answered, agreement(baseline, vendor, delivered=False).calling_cases)
    return F1Verdict(
        finding="inconclusive" if isinstance(delivered, str) else delivered.finding,
        reason=delivered if isinstance(delivered, str) else _reason(delivered),
        margin=margin,
        delivered=_difference(delivered),
        answered=_difference(answered),
    )


def _judge(
    baseline: Decisions, vendor: Decisions, bootstrap: CaseBootstrap, margin: float, *, delivered: bool
) -> Equivalence | str:
    """Return the finding, or the reason why it is inconclusive."""
    itself = self_agreement(baseline)
    if not itself.known.any():
        return UNKNOWN
    theirs = vendor.shares(delivered=delivered)
    common = itself.known & np.isfinite(theirs)
    if not common.any():
        return NO_ANSWER
    columns = (
        *agreement(baseline, vendor, delivered=delivered).only(common).errors,
        *itself.agreement.only(common).errors,
    )
    difference = bootstrap.value(f1_difference, *columns)
    draws = bootstrap.draws(f1_difference, *columns)
    if not np.isfinite(difference) or not np.isfinite(draws).any():
        return NO_TRIGGER
    return judge_equivalence(difference, draws, margin)


def _with_width(found: Equivalence | str, cases: int) -> Equivalence | str:
    """Return the finding, with an interval that has a width where no resample differs from another.

    That all cases agree leaves open that some do not: a share of which as many would show none with the chance that an
    end of the interval leaves (C. Clopper and E. Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26
    (1934), 404-413).

    Args:
        cases: those in which either side calls tools; F1 does not see the others.
    """
    if isinstance(found, str) or found.interval.low < found.interval.high or cases < 1:
        return found
    low, high, level = found.interval
    width = 1 - f1_of(((1 - level) / 2) ** (1 / cases))
    interval = Interval(max(-1.0, low - width), min(1.0, high + width), level)
    within = -found.margin < interval.low and interval.high < found.margin
    if found.finding != "equivalent" or within:
        return replace(found, interval=interval)
    # The share at which F1 is lower by the rest of the margin.
    least = 1 - (found.margin - abs(found.difference))
    return replace(found, finding="inconclusive", interval=interval, p_equivalent=(least / (2 - least)) ** cases)


def _reason(found: Equivalence) -> str:
    low, high, _ = found.interval
    place = {
        "equivalent": "lies within",
        "different": "lies beyond",
        "inconclusive": "crosses a limit of",
    }[found.finding]
    return (
        f"F1 minus the baseline's self-F1 is {found.difference:+.4f}, and its 90 % interval [{low:+.4f}, {high:+.4f}] "
        f"{place} the margin of ±{found.margin:g}"
    )


def _difference(found: Equivalence | str) -> F1Difference | None:
    if isinstance(found, str):
        return None
    return F1Difference(found.finding, found.difference, *found.interval, found.p_equivalent, found.p_different)


@dataclass(frozen=True)
class Equivalence:
    """The finding on a difference.

    Attributes:
        finding: ``equivalent``: it lies within the margin; ``different``: it lies beyond it; ``inconclusive``:
            there is too little data for either. Each of the first two is false with a chance of
            about 5 % at most: just that at the margin itself, and less the farther the truth lies from it.
        difference: the estimate.
        interval: its 90 % interval, the one that two one-sided tests at 5 % correspond to.
        p_equivalent: the larger p-value of the two one-sided tests that it lies within the margin.
        p_different: the p-value of the test that it lies beyond the margin, on the side where it is.
    """

    finding: Finding
    difference: float
    interval: Interval
    margin: float
    p_equivalent: float
    p_different: float


def judge_equivalence(difference: float, draws: NDArray[Any], margin: float) -> Equivalence:
    """Two one-sided tests (TOST) of a difference against a margin that was set beforehand.

    Equivalent if the 90 % interval lies within ``-margin .. margin``, different if it lies outside.
    Source: D. J. Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing
    the Equivalence of Average Bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680.

    Args:
        draws: the difference in each bootstrap resample; where it is undefined, nan.
        margin: greater than 0.
    """
    import numpy as np

    drawn = draws[np.isfinite(draws)]
    low, high = np.quantile(drawn, (ALPHA, 1 - ALPHA))
    below, above = _share(drawn <= -margin), _share(drawn >= margin)
    within_low, within_high = _share(drawn > -margin), _share(drawn < margin)
    p_equivalent, p_different = max(below, above), within_low if difference < 0 else within_high
    finding: Finding = "inconclusive"
    if p_equivalent < ALPHA:
        finding = "equivalent"
    elif p_different < ALPHA:
        finding = "different"
    interval = Interval(float(low), float(high), 1 - 2 * ALPHA)
    return Equivalence(finding, difference, interval, margin, p_equivalent, p_different)


def _share(chosen: NDArray[Any]) -> float:
    """Return the share of draws, as a p-value: never 0."""
    return (int(chosen.sum()) + 1) / (len(chosen) + 1)
