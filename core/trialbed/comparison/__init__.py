"""Comparing runs: the same queries under two frameworks, models or settings.

``_sides`` reads what was measured, ``_findings`` and ``_differences`` compute, ``_tables`` shows, ``_run`` compares the
frameworks of one run, ``_plan`` says what a comparison can show, and ``_comparer`` is the driver of ``bench compare``.
"""

from trialbed.comparison._comparer import RunComparer, complete_sides, regressions
from trialbed.comparison._findings import HEADLINE, Finding, paired_findings
from trialbed.comparison._plan import PlanOptions, plan, plan_sides
from trialbed.comparison._ranks import open_ranks, rank_notes
from trialbed.comparison._run import chosen_baseline, compare_frameworks, rank_documents
from trialbed.comparison._sides import Side, Trial
from trialbed.comparison._tables import finding_cells, signed, verdict_notes

__all__ = [
    "HEADLINE",
    "Finding",
    "PlanOptions",
    "RunComparer",
    "Side",
    "Trial",
    "chosen_baseline",
    "compare_frameworks",
    "complete_sides",
    "finding_cells",
    "open_ranks",
    "paired_findings",
    "plan",
    "plan_sides",
    "rank_documents",
    "rank_notes",
    "regressions",
    "signed",
    "verdict_notes",
]
