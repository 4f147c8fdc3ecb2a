"""Sums up the trials of a run: figures with their denominators, failures, and the result document."""

from trialbed.report._document import document_schema, result_document
from trialbed.report._files import check_folder, document_path, document_text, kept_path, safe_name, write_document
from trialbed.report._means import first_trials_apart
from trialbed.report._reasons import reason_lines
from trialbed.report._worst import WorstQuery, trial_name, worst_queries

__all__ = [
    "WorstQuery",
    "check_folder",
    "document_path",
    "document_schema",
    "document_text",
    "first_trials_apart",
    "kept_path",
    "reason_lines",
    "result_document",
    "safe_name",
    "trial_name",
    "worst_queries",
    "write_document",
]
