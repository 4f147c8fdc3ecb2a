"""A vendor's model: right answers to any request."""

from trialbed_scripted.vendor._answers import LETTERS, decided_turn, possible_calls, spare_call, usage_of
from trialbed_scripted.vendor._vendor import ANSWERS, AnswerSetting, Vendor

__all__ = [
    "ANSWERS",
    "LETTERS",
    "AnswerSetting",
    "Vendor",
    "decided_turn",
    "possible_calls",
    "spare_call",
    "usage_of",
]
