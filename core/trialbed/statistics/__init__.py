"""Estimates over trials, with their uncertainty.

``numpy`` is imported by what resamples, when it is used: a mean with its interval needs none.
"""

from trialbed.statistics._intervals import (
    LEVEL,
    Interval,
    bounded_mean_interval,
    clustered_interval,
    quantile,
    wilson_interval,
)
from trialbed.statistics._large_samples import LARGE, mean_estimate
from trialbed.statistics._paired import (
    DifferenceSpread,
    EnoughQueries,
    PairedTest,
    PairedVerdict,
    count_values,
    holm,
    mcnemar,
    paired_p_values,
    paired_test,
    paired_verdict,
    queries_for_unseen,
    queries_needed,
    sign_flip,
    unseen_reach,
)
from trialbed.statistics._repeats import pass_at_k, pass_hat_k
from trialbed.statistics._resampling import RESAMPLES, CaseBootstrap, Estimate
from trialbed.statistics._score_interval import paired_interval, paired_intervals

__all__ = [
    "LARGE",
    "LEVEL",
    "RESAMPLES",
    "CaseBootstrap",
    "DifferenceSpread",
    "EnoughQueries",
    "Estimate",
    "Interval",
    "PairedTest",
    "PairedVerdict",
    "bounded_mean_interval",
    "clustered_interval",
    "count_values",
    "holm",
    "mcnemar",
    "mean_estimate",
    "paired_interval",
    "paired_intervals",
    "paired_p_values",
    "paired_test",
    "paired_verdict",
    "pass_at_k",
    "pass_hat_k",
    "quantile",
    "queries_for_unseen",
    "queries_needed",
    "sign_flip",
    "unseen_reach",
    "wilson_interval",
]
