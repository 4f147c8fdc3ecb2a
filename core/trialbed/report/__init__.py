"""Reports of runs as typed records, and the documents and texts that are made of them."""

from trialbed.integrity import Integrity, IntegrityTally, framework_integrity
from trialbed.report._build import read_report
from trialbed.report._conclusion import Conclusion, conclusion_text, conclusions, join_alike
from trialbed.report._document import (
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
    KeptFigures,
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
from trialbed.report._report import Report
from trialbed.report._schema import document_schema
from trialbed.report._scores import ScoreValues
from trialbed.report._shares import percent, points
from trialbed.report._thresholds import LESS_IS_BETTER, REPEATS, ThresholdCheck, check_thresholds
from trialbed.report._title import run_title
from trialbed.report._trials import Claimed, ReportedTrial, WireCounts
from trialbed.report._worst import trial_name, worst_queries
from trialbed.report.attribution import AttributedCall, Attribution, FirstLoss
from trialbed.report.comparison import (
    ComparedRun,
    ComparedTrial,
    Factor,
    FactorContrast,
    FactorEffects,
    FrameworkComparison,
    HelperTotals,
    ScoreFinding,
    Side,
    SideColumn,
    TrialTable,
)
from trialbed.statistics import EnoughQueries, Interval, Pilot

__all__ = [
    "LESS_IS_BETTER",
    "REPEATS",
    "AttributedCall",
    "Attribution",
    "ClaimTotals",
    "Claimed",
    "Claims",
    "ComparedRun",
    "ComparedTrial",
    "Conclusion",
    "Counts",
    "EnoughQueries",
    "Factor",
    "FactorContrast",
    "FactorEffects",
    "Figures",
    "FirstLoss",
    "FrameworkComparison",
    "HelperTotals",
    "Integrity",
    "IntegrityTally",
    "Interval",
    "KeptFigures",
    "Pilot",
    "Reason",
    "Repeated",
    "Report",
    "ReportedTrial",
    "ScoreFinding",
    "ScoreMean",
    "ScoreSummary",
    "ScoreValues",
    "Side",
    "SideColumn",
    "Success",
    "Summary",
    "ThresholdCheck",
    "Times",
    "Tokens",
    "TrialTable",
    "WireCounts",
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
