"""Sums up trials: timing, tokens, calls, and the result document."""

from trialbed.results._asked import NOT_MADE, AskedCall, asked_calls
from trialbed.results._calls import (
    Comparison,
    canonical,
    claimed_pairs,
    compare_calls,
    observed_pairs,
    sent_pairs,
    unasked_calls,
)
from trialbed.results._document import document_schema, result_document
from trialbed.results._files import check_folder, document_path, document_text, kept_path, safe_name, write_document
from trialbed.results._means import ALWAYS, first_trials_apart, quality_scores
from trialbed.results._reasons import reason_lines
from trialbed.results._wire import compute_timing, failed, observed_usage, repeated_requests
from trialbed.results._worst import WorstQuery, trial_name, worst_queries

__all__ = [
    "ALWAYS",
    "NOT_MADE",
    "AskedCall",
    "Comparison",
    "WorstQuery",
    "asked_calls",
    "canonical",
    "check_folder",
    "claimed_pairs",
    "compare_calls",
    "compute_timing",
    "document_path",
    "document_schema",
    "document_text",
    "failed",
    "first_trials_apart",
    "kept_path",
    "observed_pairs",
    "observed_usage",
    "quality_scores",
    "reason_lines",
    "repeated_requests",
    "result_document",
    "safe_name",
    "sent_pairs",
    "trial_name",
    "unasked_calls",
    "worst_queries",
    "write_document",
]
