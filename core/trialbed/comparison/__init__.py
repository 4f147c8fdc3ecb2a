"""Comparing the results of vendors with those of a baseline."""

from trialbed.comparison._compare import CompareOptions, compare
from trialbed.comparison._results import Results, read_one, read_results
from trialbed.comparison._sheets import comparison_records, comparison_sheets

__all__ = [
    "CompareOptions",
    "Results",
    "compare",
    "comparison_records",
    "comparison_sheets",
    "read_one",
    "read_results",
]
