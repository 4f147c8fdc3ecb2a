"""A simulated vendor's model, which gives right answers to any request."""

from trialbed_scripted.vendor._answers import LETTERS, decide_turn, possible_calls, spare_call, usage_of
from trialbed_scripted.vendor._vendor import ANSWERS, SimulatedVendor

__all__ = [
    "ANSWERS",
    "LETTERS",
    "SimulatedVendor",
    "decide_turn",
    "possible_calls",
    "spare_call",
    "usage_of",
]
