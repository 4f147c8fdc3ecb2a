"""What trials add up to: timing, consumption, calls, and the result document."""

from trialbed.results._calls import (
    Comparison,
    claimed_pairs,
    compare_calls,
    observed_pairs,
    sent_pairs,
)
from trialbed.results._document import result_document
from trialbed.results._schema import document_schema
from trialbed.results._timing import compute_timing
from trialbed.results._usage import failed, observed_usage, repeated_requests
from trialbed.results._writing import check_folder, document_path, write_document

__all__ = [
    "Comparison",
    "check_folder",
    "claimed_pairs",
    "compare_calls",
    "compute_timing",
    "document_path",
    "document_schema",
    "failed",
    "observed_pairs",
    "observed_usage",
    "repeated_requests",
    "result_document",
    "sent_pairs",
    "write_document",
]
