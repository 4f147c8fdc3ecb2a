"""The bounds within which the texts of a trial are scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from trialbed.identity import once_for
from trialbed.records import Answer, Query, ToolSpec, WireLog

LONGEST_ANSWER = 500_000
"""The longest judged answer in characters, about a thousand pages. A trial with a longer one has failed."""

LONG_ANSWER = 50_000
"""Characters of an answer that Trialbed's own scorers read in about 50 ms; longer ones are scored in a process."""

LARGE_LOG = 1_000_000
"""The same limit for a server's log together with the agent's claims."""

SMALL_LOG = 50_000
"""Characters of both, and of the answer, that are read word by word in some milliseconds: 65 if all are new."""

SMALL_TASK = 20_000
"""The same limit for a task with its documentation, which is read for the first of its trials."""

PROCESSOR_SECONDS = 60
"""Seconds of work for the scores of one plugin on one trial."""

SILENT_SECONDS = 600.0
"""Seconds for these scores, or for a judge, which may wait for a model."""

MEMORY = 4 * 2**30
"""Bytes of data of a scoring process."""


TrialSize = Literal["small", "medium", "large"]


class ScoringStopped(Exception):
    """The scoring of a trial passed a limit; says which one."""


@once_for(128)
def is_short(query: Query, tools: Sequence[ToolSpec]) -> bool:
    """Return whether a task and the documentation of its Apis and tools are so small that reading them is, too."""
    texts: list[Any] = [[tool.description, tool.parameters] for tool in tools]
    for api in query.apis:
        parameters = (*api.required_parameters, *api.optional_parameters)
        values = [[one.description, one.default, *one.enum] for one in parameters]
        texts.append([api.description, api.tool_description, values, api.template_response, api.json_schema])
    return _size([query.text, *texts], SMALL_TASK) <= SMALL_TASK


@once_for(8)
def trial_size(answer: Answer, wire: WireLog) -> TrialSize:
    """Return how large the texts of a trial are.

    Reading every word of small ones holds up nothing; large ones are not scored between two events of the engine.
    """
    length, bodies = len(answer.final_answer), sum(len(call.request) + len(call.response) for call in wire.model_calls)
    results = [[call.arguments, call.response] for calls in (wire.api_calls, answer.calls) for call in calls]
    # Counted little beyond the larger bound.
    size = bodies + _size(results, LARGE_LOG - bodies)
    if length > LONG_ANSWER or size > LARGE_LOG:
        return "large"
    return "small" if size + length <= SMALL_LOG else "medium"


def _size(value: Any, most: int) -> int:
    """Return about as many characters as a value has, counted no further than ``most``."""
    size, rest = 0, [value]
    while rest and size <= most:
        value = rest.pop()
        if isinstance(value, str):
            size += len(value)
            continue
        size += 8
        if isinstance(value, dict):
            size += sum(map(len, value))
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)
    return size
