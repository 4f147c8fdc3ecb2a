"""Reports of runs as typed records, and the documents and texts that are made of them."""

from trialbed.attribution import Attribution, FirstLoss
from trialbed.integrity import Integrity, IntegrityTally, framework_integrity
from trialbed.records import AttributedCall
from trialbed.report._conclusion import Conclusion, conclusion_text, conclusions, join_alike
from trialbed.report._document import (
    DocumentEntries,
    legacy_document,
    legacy_documents,
    legacy_metadata,
    open_documents,
)
from trialbed.report._document_summary import legacy_summary
from trialbed.report._faults import fault_note
from trialbed.report._files import (
    check_folder,
    document_parts,
    document_path,
    document_text,
    kept_path,
    safe_name,
    write_document,
)
from trialbed.report._reasons import how_to_complete, reason_lines
from trialbed.report._records import (
    Claims,
    ClaimTotals,
    Counts,
    Figures,
    Reason,
    Repeated,
    ScoreMean,
    ScoreSummary,
    Success,
    Summary,
    Times,
    Tokens,
    WireFigures,
    WireTally,
    WorstQuery,
)
from trialbed.report._report import AskQueries, Queries, Report, read_report
from trialbed.report._schema import document_schema
from trialbed.report._shares import percent, points
from trialbed.report._thresholds import LESS_IS_BETTER, REPEATS, ThresholdCheck, check_thresholds
from trialbed.report._title import run_title
from trialbed.report._worst import trial_name, worst_queries
from trialbed.report.comparison import (
    ComparedRun,
    Factor,
    FactorContrast,
    FactorEffects,
    FrameworkComparison,
    ScoreFinding,
    Side,
)
from trialbed.statistics import EnoughQueries, Interval, Pilot
from trialbed.store import ScoreKind, TrialRow, TrialTable

__all__ = [
    "LESS_IS_BETTER",
    "REPEATS",
    "AskQueries",
    "AttributedCall",
    "Attribution",
    "ClaimTotals",
    "Claims",
    "ComparedRun",
    "Conclusion",
    "Counts",
    "DocumentEntries",
    "EnoughQueries",
    "Factor",
    "FactorContrast",
    "FactorEffects",
    "Figures",
    "FirstLoss",
    "FrameworkComparison",
    "Integrity",
    "IntegrityTally",
    "Interval",
    "Pilot",
    "Queries",
    "Reason",
    "Repeated",
    "Report",
    "ScoreFinding",
    "ScoreKind",
    "ScoreMean",
    "ScoreSummary",
    "Side",
    "Success",
    "Summary",
    "ThresholdCheck",
    "Times",
    "Tokens",
    "TrialRow",
    "TrialTable",
    "WireFigures",
    "WireTally",
    "WorstQuery",
    "check_folder",
    "check_thresholds",
    "conclusion_text",
    "conclusions",
    "document_parts",
    "document_path",
    "document_schema",
    "document_text",
    "fault_note",
    "framework_integrity",
    "how_to_complete",
    "join_alike",
    "kept_path",
    "legacy_document",
    "legacy_documents",
    "legacy_metadata",
    "legacy_summary",
    "open_documents",
    "percent",
    "points",
    "read_report",
    "reason_lines",
    "run_title",
    "safe_name",
    "trial_name",
    "worst_queries",
    "write_document",
]
