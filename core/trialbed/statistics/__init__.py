"""Estimates over trials, with their uncertainty.

``numpy`` is imported by what resamples, when it is used: a mean with its interval needs none.
"""

from trialbed.statistics._equivalence import Equivalence, judge_equivalence
from trialbed.statistics._intervals import Interval, bounded_mean_interval, wilson_interval
from trialbed.statistics._multiple import holm
from trialbed.statistics._paired import mcnemar, paired_interval, queries_needed, sign_flip
from trialbed.statistics._quantiles import quantile, quantile_interval
from trialbed.statistics._resampling import RESAMPLES, CaseBootstrap, Estimate

__all__ = [
    "RESAMPLES",
    "CaseBootstrap",
    "Equivalence",
    "Estimate",
    "Interval",
    "bounded_mean_interval",
    "holm",
    "judge_equivalence",
    "mcnemar",
    "paired_interval",
    "quantile",
    "quantile_interval",
    "queries_needed",
    "sign_flip",
    "wilson_interval",
]
