"""Read and write answers of agents and in results, with StableToolBench's names."""

from trialbed.answers._reading import (
    FINISH,
    answer_document,
    answer_names,
    change_name,
    function_name,
    look_up_claims,
    read_answer,
    standardize,
)

__all__ = [
    "FINISH",
    "answer_document",
    "answer_names",
    "change_name",
    "function_name",
    "look_up_claims",
    "read_answer",
    "standardize",
]
