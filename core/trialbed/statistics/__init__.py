"""Estimates over trials, with their uncertainty.

``numpy`` is imported by what resamples, when it is used: a mean with its interval needs none.
"""

from trialbed.statistics._intervals import (
    LEVEL,
    Interval,
    clustered_interval,
    count_values,
    paired_interval,
    paired_intervals,
    pass_at_k,
    pass_hat_k,
    quantile,
    wilson_interval,
)
from trialbed.statistics._paired import (
    EnoughQueries,
    PairedTest,
    PairedVerdict,
    Pilot,
    holm,
    mcnemar,
    paired_p_values,
    paired_test,
    paired_verdict,
)
from trialbed.statistics._resampling import LARGE, RESAMPLES, CaseBootstrap, Estimate, mean_estimate

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
