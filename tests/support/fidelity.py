"""Trials as the server might have seen them, for tests of what is read from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    Failure,
    ModelCall,
    ModelEndpoint,
    Outcome,
    SentCall,
    ToolSpec,
    TrialKey,
    TrialSpec,
    WireLog,
)
from trialbed_adapter_lab.fidelity import Conditions
from trialbed_adapter_lab.harness import Observed, Scenario, stations
from trialbed_adapter_lab.report_command import PARTS

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CONDITIONS = Conditions(
    measured_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    trialbed="0.1.0",
    python="3.11.7",
    system="Linux",
    cores=4,
    seconds=60.0,
    parts=PARTS,
    tools=20,
)

ANSWER = Answer(final_answer="done", finish="give_answer")


def request(*messages: dict[str, Any], tools: Sequence[dict[str, Any]] = (), **fields: Any) -> dict[str, Any]:
    """The body of a request."""
    return {"model": "scripted:gold", "messages": list(messages), "tools": list(tools), **fields}


def model_call(body: dict[str, Any], *calls: str, **fields: Any) -> ModelCall:
    """A request to the model, which answers with calls of these tools."""
    text = json.dumps(body)
    given = {
        "started": 0.0,
        "duration": 0.0,
        "status": 200,
        "request": text,
        "response": "{}",
        "request_bytes": len(text.encode()),
        "response_bytes": 2,
        "tool_calls": tuple(SentCall(name=name, arguments="{}") for name in calls),
    }
    return ModelCall(**{**given, **fields})


def api_call(api: ApiRef, arguments: Any = None, *, started: float = 0.0, duration: float = 0.1) -> ApiCall:
    """A call of an Api."""
    return ApiCall(started=started, duration=duration, api=api, offered=True, arguments=arguments or {})


def observed(
    *calls: ModelCall,
    apis: Sequence[ApiCall] = (),
    scenario: Scenario | None = None,
    failure: Failure | None = None,
    answer: Answer = ANSWER,
) -> Observed:
    """A trial."""
    scenario = scenario or stations(4, 2)
    spec = TrialSpec.at(
        "http://127.0.0.1:1/t/t",
        ModelEndpoint(base_url="", api_key="-", model="scripted:gold"),
        key=TrialKey(framework="any", query_id="fidelity"),
        query=scenario.query,
        system_prompt="Do it.",
        tools=scenario.tools,
        limits=scenario.limits,
    )
    return Observed.of_log(
        scenario,
        spec,
        Outcome(started_at=NOW, wall_time=1.0, answer=None if failure else answer, failure=failure),
        WireLog(trial="t", opened_at=NOW, model_calls=calls, api_calls=tuple(apis)),
    )


def definition(tool: ToolSpec, **fields: Any) -> dict[str, Any]:
    """A tool as a faithful framework sends it, or with other fields."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": {**function, **fields}}
