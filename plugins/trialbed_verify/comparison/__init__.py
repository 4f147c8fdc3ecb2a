"""Compares the results of vendors with those of a baseline."""

from trialbed_verify.comparison._compare import compare, judge_pairs
from trialbed_verify.comparison._consistency import flip_rate_of
from trialbed_verify.comparison._figures import FIGURES, QUANTILES
from trialbed_verify.comparison._records import MARGIN, CompareOptions, Distribution, Similarity, VendorComparison
from trialbed_verify.comparison._results import Results, as_trials, read_one, read_results

__all__ = [
    "FIGURES",
    "MARGIN",
    "QUANTILES",
    "CompareOptions",
    "Distribution",
    "Results",
    "Similarity",
    "VendorComparison",
    "as_trials",
    "compare",
    "flip_rate_of",
    "judge_pairs",
    "read_one",
    "read_results",
]
