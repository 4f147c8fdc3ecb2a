"""Facts of the wire that bear on whether a trial measures the framework."""

from __future__ import annotations

from typing import Literal

from trialbed.records._base import Record

IntegrityKind = Literal[
    "other_model",  # requests for another model than the run's, which were refused
    "other_model_answered",  # requests that another model answered
    "added_header",  # requests with headers or a query that no usual client sends
    "old_functions",  # requests with tools in the old field; their calls do not count
    "required_choice",  # requests that demand some call
    "forced_choice",  # requests that force a call of one tool
    "added_tool",  # tools on offer that are not the trial's
    "answer_key",  # expected values that a request has, and nothing in the trial before it
    "forced_call",  # calls that were made because the request forced them
    "dictated_call",  # calls that the request had already
    "changed_call",  # calls with arguments that the model did not write
    "unasked_call",  # calls in no answer of the model
    "invented_call",  # calls of the agent's own tools that stand in the conversation, and in no answer of the model
    "outside_clock",  # requests outside of the time that the worker reported
    "unwritten_answer",  # answers that differ from the model's last words
    "unsourced_answer",  # answers that say things without a source in the trial
    "invented_claim",  # calls that are claimed and were never made
]


class IntegrityFinding(Record):
    """One kind of finding in one trial.

    Attributes:
        count: how many requests, calls, tools, answers or claims.
        examples: the names of models, tools and Apis, each once; the first ones.
    """

    kind: IntegrityKind
    count: int
    examples: tuple[str, ...] = ()
