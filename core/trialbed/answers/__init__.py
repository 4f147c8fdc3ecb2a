"""Answers as documents: what agents return and what results hold, read and written."""

from trialbed.answers._converted import converted_answer, converted_name
from trialbed.answers._names import answer_names, look_up_claims
from trialbed.answers._original import api_call_score, extract_called_apis, has_finish
from trialbed.answers._reading import read_answer
from trialbed.answers._writing import answer_document

__all__ = [
    "answer_document",
    "answer_names",
    "api_call_score",
    "converted_answer",
    "converted_name",
    "extract_called_apis",
    "has_finish",
    "look_up_claims",
    "read_answer",
]
