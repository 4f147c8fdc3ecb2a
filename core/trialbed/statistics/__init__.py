"""Estimates over trials, with their uncertainty.

``numpy`` is imported by what resamples, when it is used: a mean with its interval needs none.
"""

from trialbed.statistics._equivalence import Equivalence, judge_equivalence
from trialbed.statistics._intervals import Interval, bounded_mean_interval, clustered_interval, wilson_interval
from trialbed.statistics._multiple import holm
from trialbed.statistics._paired import PairedTest, mcnemar, paired_test, queries_needed, sign_flip
from trialbed.statistics._pilots import Pilot
from trialbed.statistics._power import (
    WORST_CASE,
    Spread,
    difference_power,
    difference_spread,
    equivalence_power,
    is_promised,
    pilot_needed,
    power_range,
    queries_for,
    queries_for_equivalence,
    smallest_difference,
    variance_range,
)
from trialbed.statistics._quantiles import quantile, quantile_interval
from trialbed.statistics._repeats import pass_at_k, pass_hat_k
from trialbed.statistics._resampling import RESAMPLES, CaseBootstrap, Estimate
from trialbed.statistics._score_interval import UNSEEN, paired_interval
from trialbed.statistics._verdicts import finds_better, finds_equivalent
from trialbed.statistics._whole_queries import WholeQueries

__all__ = [
    "RESAMPLES",
    "UNSEEN",
    "WORST_CASE",
    "CaseBootstrap",
    "Equivalence",
    "Estimate",
    "Interval",
    "PairedTest",
    "Pilot",
    "Spread",
    "WholeQueries",
    "bounded_mean_interval",
    "clustered_interval",
    "difference_power",
    "difference_spread",
    "equivalence_power",
    "finds_better",
    "finds_equivalent",
    "holm",
    "is_promised",
    "judge_equivalence",
    "mcnemar",
    "paired_interval",
    "paired_test",
    "pass_at_k",
    "pass_hat_k",
    "pilot_needed",
    "power_range",
    "quantile",
    "quantile_interval",
    "queries_for",
    "queries_for_equivalence",
    "queries_needed",
    "sign_flip",
    "smallest_difference",
    "variance_range",
    "wilson_interval",
]
