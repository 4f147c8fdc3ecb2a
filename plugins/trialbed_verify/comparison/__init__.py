"""Compares the results of vendors with those of a baseline."""

from trialbed_verify.comparison._compare import compare, verdict_shares
from trialbed_verify.comparison._figures import FIGURES, QUANTILES, schema_accuracy, success_rate
from trialbed_verify.comparison._records import CompareOptions, Distribution, VendorComparison
from trialbed_verify.comparison._results import Results, Trials, as_trials, read_one

__all__ = [
    "FIGURES",
    "QUANTILES",
    "CompareOptions",
    "Distribution",
    "Results",
    "Trials",
    "VendorComparison",
    "as_trials",
    "compare",
    "read_one",
    "schema_accuracy",
    "success_rate",
    "verdict_shares",
]
