"""What trials add up to: timing, consumption, calls, and the result document."""

from trialbed.results._calls import (
    Comparison,
    claimed_pairs,
    compare_calls,
    observed_pairs,
    sent_pairs,
)
from trialbed.results._timing import compute_timing
from trialbed.results._usage import failed, observed_usage, repeated_requests

__all__ = [
    "Comparison",
    "claimed_pairs",
    "compare_calls",
    "compute_timing",
    "failed",
    "observed_pairs",
    "observed_usage",
    "repeated_requests",
    "sent_pairs",
]
