"""Comparing the results of vendors with those of a baseline."""

from trialbed_verify.comparison._compare import CompareOptions, compare
from trialbed_verify.comparison._results import Results, as_trials, read_one, read_results
from trialbed_verify.comparison._sheets import comparison_records, comparison_sheets

__all__ = [
    "CompareOptions",
    "Results",
    "as_trials",
    "compare",
    "comparison_records",
    "comparison_sheets",
    "read_one",
    "read_results",
]
