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
    PairedTest,
    PairedVerdict,
    count_values,
    holm,
    mcnemar,
    paired_p_values,
    paired_test,
    paired_verdict,
)
from trialbed.statistics._power import EnoughQueries, Pilot
from trialbed.statistics._repeats import pass_at_k, pass_hat_k
from trialbed.statistics._resampling import RESAMPLES, CaseBootstrap, Estimate
from trialbed.statistics._score_interval import paired_interval, paired_intervals

__all__ = [
    "LARGE",
    "LEVEL",
    "RESAMPLES",
    "CaseBootstrap",
    "EnoughQueries",
    "Estimate",
    "Interval",
    "PairedTest",
    "PairedVerdict",
    "Pilot",
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
    "wilson_interval",
]
