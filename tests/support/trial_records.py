"""Trials as a harness might have seen them, for tests of what is read from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from trialbed.records import Answer, ApiRef, Failure, Limits, ModelEndpoint, Outcome, ToolSpec, TrialKey, TrialSpec
from trialbed_adapter_lab import ObservedCall, ObservedRequest, TrialRecord
from trialbed_scripted import ReceivedRequest

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ANSWER = Answer(final_answer="done", finish="give_answer")
QUERY = "Report on the stations."
TOOLS = [
    ToolSpec(
        name=f"Station_{number}",
        description="What a station measured on a day.",
        parameters={"type": "object", "properties": {"day": {"type": "string"}}},
        api=ApiRef(category="Test", tool_name=f"Station {number}", api_name="Report"),
    )
    for number in range(4)
]


def definition(tool: ToolSpec) -> dict[str, Any]:
    """A tool as a faithful framework sends it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def request(*messages: dict[str, Any], started: float = 0.0, problem: str = "", **fields: Any) -> ObservedRequest:
    """A request with these messages and further fields.

    Args:
        fields: of the record if it has them, else of the body.
    """
    own = {name: fields.pop(name) for name in ("said", "usage") if name in fields}
    body = {"model": "scripted:gold", "messages": list(messages), **fields}
    received = ReceivedRequest(0, body, json.dumps(body).encode(), problem=problem)
    return ObservedRequest(number=0, started=started, ended=started, received=received, tools=TOOLS, **own)


def api_call(tool: ToolSpec, arguments: dict[str, Any], reply: str) -> ObservedCall:
    """A call of an Api."""
    return ObservedCall(number=0, started=0.0, ended=0.1, tool=tool.name, arguments=arguments, reply=reply)


def observed(
    *requests: ObservedRequest,
    calls: Sequence[ObservedCall] = (),
    failure: Failure | None = None,
    answer: Answer = ANSWER,
) -> TrialRecord:
    """A trial."""
    for number, one in enumerate(requests):
        one.number = number
    spec = TrialSpec.at(
        "http://127.0.0.1:1/t/t",
        ModelEndpoint(base_url="", api_key="-", model="scripted:gold"),
        key=TrialKey(framework="any", query_id="1"),
        query=QUERY,
        system_prompt="Do it.",
        tools=tuple(TOOLS),
        limits=Limits(),
    )
    outcome = Outcome(started_at=NOW, wall_time=1.0, answer=None if failure else answer, failure=failure)
    return TrialRecord(spec=spec, outcome=outcome, requests=requests, calls=tuple(calls))
