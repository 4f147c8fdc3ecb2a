"""Comparing runs: the same queries under two frameworks, models or settings.

``_sides`` and ``_documents`` read, ``_findings`` and ``_differences`` compute, ``_tables`` shows, ``_run`` compares the
frameworks of one run, and ``_groups`` compares several runs.
"""

from trialbed.report.comparison._differences import ComparisonOptions, RunComparison
from trialbed.report.comparison._documents import document_file, is_document, read_groups, read_sides
from trialbed.report.comparison._factors import Factor, FactorContrast, FactorEffects, factor_effects
from trialbed.report.comparison._findings import (
    ALPHA,
    HEADLINE,
    CommonQueries,
    Ranks,
    ScoreFinding,
    explanations,
    headline_scores,
    leading_scores,
    open_ranks,
    paired_findings,
    rank_notes,
)
from trialbed.report.comparison._groups import compare_groups, complete_sides, regression_lines, regressions
from trialbed.report.comparison._run import FrameworkComparison, RunPair, chosen_baseline, compare_frameworks, run_pairs
from trialbed.report.comparison._sides import (
    DIGESTS,
    ComparedRun,
    QueryId,
    Side,
    are_same_trials,
    incomplete_note,
    is_run_name,
    missing_trials,
    run_side,
    setting_label,
    unique_names,
    void_notes,
)
from trialbed.report.comparison._tables import (
    comparison_records,
    comparison_tables,
    difference_text,
    finding_cells,
    finding_notes,
    verdict_notes,
)

__all__ = [
    "ALPHA",
    "DIGESTS",
    "HEADLINE",
    "CommonQueries",
    "ComparedRun",
    "ComparisonOptions",
    "Factor",
    "FactorContrast",
    "FactorEffects",
    "FrameworkComparison",
    "QueryId",
    "Ranks",
    "RunComparison",
    "RunPair",
    "ScoreFinding",
    "Side",
    "are_same_trials",
    "chosen_baseline",
    "compare_frameworks",
    "compare_groups",
    "comparison_records",
    "comparison_tables",
    "complete_sides",
    "difference_text",
    "document_file",
    "explanations",
    "factor_effects",
    "finding_cells",
    "finding_notes",
    "headline_scores",
    "incomplete_note",
    "is_document",
    "is_run_name",
    "leading_scores",
    "missing_trials",
    "open_ranks",
    "paired_findings",
    "rank_notes",
    "read_groups",
    "read_sides",
    "regression_lines",
    "regressions",
    "run_pairs",
    "run_side",
    "setting_label",
    "unique_names",
    "verdict_notes",
    "void_notes",
]
