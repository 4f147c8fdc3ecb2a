"""Comparing runs: the same queries under two frameworks, models or settings.

``_sides`` reads what was measured, ``_findings`` and ``_differences`` compute, ``_tables`` shows, ``_run`` compares the
frameworks of one run, and ``_groups`` compares several runs.
"""

from trialbed.report.comparison._differences import CompareOptions, RunComparison
from trialbed.report.comparison._findings import ALPHA, HEADLINE, Finding, paired_findings
from trialbed.report.comparison._groups import compare_groups, complete_sides, regression_lines, regressions
from trialbed.report.comparison._ranks import Ranks, open_ranks, rank_notes
from trialbed.report.comparison._run import FrameworkComparison, chosen_baseline, compare_frameworks
from trialbed.report.comparison._sides import (
    QueryId,
    Side,
    Trial,
    are_same_trials,
    document_file,
    incomplete_note,
    is_document,
    is_run_name,
    read_sides,
    run_side,
    told_apart,
)
from trialbed.report.comparison._tables import (
    comparison_records,
    comparison_tables,
    finding_cells,
    signed,
    verdict_notes,
)

__all__ = [
    "ALPHA",
    "HEADLINE",
    "CompareOptions",
    "Finding",
    "FrameworkComparison",
    "QueryId",
    "Ranks",
    "RunComparison",
    "Side",
    "Trial",
    "are_same_trials",
    "chosen_baseline",
    "compare_frameworks",
    "compare_groups",
    "comparison_records",
    "comparison_tables",
    "complete_sides",
    "document_file",
    "finding_cells",
    "incomplete_note",
    "is_document",
    "is_run_name",
    "open_ranks",
    "paired_findings",
    "rank_notes",
    "read_sides",
    "regression_lines",
    "regressions",
    "run_side",
    "signed",
    "told_apart",
    "verdict_notes",
]
