"""Trials as samples, which the metrics score."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from trialbed.records import Answer, ApiCall, ApiRef, Query, ToolSpec, WireLog
from trialbed.tool_calls import AskedCall, asked_calls
from trialbed_evaluation.conversations import Message, Sample, ToolCall, read_call

FORMAT = "trial"


def trial_sample(
    query: Query,
    tools: Sequence[ToolSpec],
    wire: WireLog,
    answer: Answer | None,
    *,
    unasked: Collection[ApiCall] = (),
) -> Sample:
    """Return a trial as a sample, with the model's calls as seen by the server and the expected calls.

    Args:
        tools: the offered tools, which also give the expected calls their names.
        answer: None if the trial failed. It then has no calls that count, and no messages.
        unasked: calls without a request by the model; they are left out.
    """
    names = {spec.api: spec.name for spec in tools}
    asked = asked_calls(wire, tools, unasked) if answer is not None else ()
    made = [(_call(call, names), call) for call in asked]
    return Sample(
        id=str(query.query_id),
        format=FORMAT,
        messages=None if answer is None else _messages(query, made, answer),
        calls=tuple(call for call, _ in made),
        reference=tuple(ToolCall(_name(gold.api, names), gold.arguments) for gold in query.gold_calls),
        reference_goal=query.reference_answer,
        tools={spec.name: spec.parameters for spec in tools},
    )


def _call(call: AskedCall, names: Mapping[ApiRef, str]) -> ToolCall:
    name = call.name if call.api is None else _name(call.api, names)
    given = call.arguments
    return read_call({"name": name, "arguments": given if isinstance(given, str | Mapping | None) else str(given)})


def _name(api: ApiRef, names: Mapping[ApiRef, str]) -> str:
    return names.get(api, api.title)


def _messages(query: Query, made: Sequence[tuple[ToolCall, AskedCall]], answer: Answer) -> tuple[Message, ...]:
    messages = [Message("user", query.text)]
    for call, asked in made:
        given = asked.response
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        messages += [Message("assistant", "", (call,)), Message("tool", asked.problem or text)]
    return (*messages, Message("assistant", answer.final_answer))
