"""The evidence in an API's response that an answer can be checked against.

The rule judge checks whether an answer contains the evidence of a response; scripted models answer with it, and with
the short values that say too little for a judge.
"""

from trialbed.evidence._carriage import Passages, carries
from trialbed.evidence._responses import MAX_TEXT, MIN_TEXT, every_value, evidence_values, short_values

__all__ = ["MAX_TEXT", "MIN_TEXT", "Passages", "carries", "every_value", "evidence_values", "short_values"]
