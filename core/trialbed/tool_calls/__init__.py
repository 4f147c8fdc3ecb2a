"""The tool calls of a trial: as the model asked for them, as the server saw them, and the use made of their results."""

from trialbed.tool_calls._asked import NOT_MADE, AskedCall, asked_calls
from trialbed.tool_calls._calls import (
    Comparison,
    canonical,
    claimed_pairs,
    compare_calls,
    observed_pairs,
    sent_pairs,
    unasked_calls,
)
from trialbed.tool_calls._reliance import relied_on
from trialbed.tool_calls._telling import last_turn, replaced, said, was_told
from trialbed.tool_calls._uses import Uses

__all__ = [
    "NOT_MADE",
    "AskedCall",
    "Comparison",
    "Uses",
    "asked_calls",
    "canonical",
    "claimed_pairs",
    "compare_calls",
    "last_turn",
    "observed_pairs",
    "relied_on",
    "replaced",
    "said",
    "sent_pairs",
    "unasked_calls",
    "was_told",
]
