"""Answers as documents: what agents return and what results hold, read and written."""

from trialbed.answers._names import answer_names, look_up_claims
from trialbed.answers._reading import read_answer
from trialbed.answers._writing import answer_document

__all__ = ["answer_document", "answer_names", "look_up_claims", "read_answer"]
