"""Compares the results of vendors with those of a baseline."""

from trialbed_verify.comparison._compare import MARGIN, CompareOptions, compare
from trialbed_verify.comparison._consistency import flip_rate_of
from trialbed_verify.comparison._figures import FIGURES, QUANTILES
from trialbed_verify.comparison._results import Results, as_trials, read_one, read_results

__all__ = [
    "FIGURES",
    "MARGIN",
    "QUANTILES",
    "CompareOptions",
    "Results",
    "as_trials",
    "compare",
    "flip_rate_of",
    "read_one",
    "read_results",
]
