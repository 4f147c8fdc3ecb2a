"""Preference between the answers of two runs: the Solvable Win Rate of StableToolBench, with both orders and ties."""

from trialbed_evaluation.preference._deciding import Contest, Decision, decide
from trialbed_evaluation.preference._runs import PreferenceResult
from trialbed_evaluation.preference._stored import compare_by_preference
from trialbed_evaluation.preference._tables import preference_records, preference_table, undecided_lines

__all__ = [
    "Contest",
    "Decision",
    "PreferenceResult",
    "compare_by_preference",
    "decide",
    "preference_records",
    "preference_table",
    "undecided_lines",
]
