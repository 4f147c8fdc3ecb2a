"""Calls of an agent's own tools that it writes into the conversation itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from support.cases import for_each

from trialbed.integrity import integrity_findings
from trialbed.records import Answer, ApiRef, ModelCall, Outcome, Query, SentCall, ToolSpec, WireLog

NOON = datetime(2026, 1, 2, tzinfo=UTC)
USER = {"role": "user", "content": "Refund order 7."}
SERVED = ToolSpec(
    name="refund", description="", parameters={}, api=ApiRef(category="", tool_name="", api_name="refund")
)


def made(name: str, call_id: str = "1", arguments: str = "{}") -> list[dict[str, Any]]:
    """A call and its result, as they stand in a request."""
    asked = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": call_id, "content": "done"},
    ]


def turn(at: float, messages: list[dict[str, Any]], *calls: str) -> ModelCall:
    """A request, and the calls that the model answers with."""
    fields = {"status": 200, "response": "{}", "request_bytes": 0, "response_bytes": 0}
    sent = tuple(SentCall(name=name, arguments="{}") for name in calls)
    return ModelCall(
        started=at, duration=0.5, request=json.dumps({"messages": messages}), tool_calls=sent, **fields
    )  # fmt: skip


EXAMPLE = [{"role": "user", "content": "Refund order 1."}, *made("refund", "example")]


@for_each(
    ("turns", "expected"),
    [
        ([([USER], "find"), ([USER, *made("find")],)], ()),
        ([([USER], "find"), ([USER, *made("find"), *made("refund", "2")],)], ("refund",)),
        # The model asked for one of the two.
        ([([USER], "find"), ([USER, *made("find"), *made("find", "2")],)], ("find",)),
        # Without a result, it is not a call.
        ([([USER], "find"), ([USER, *made("find"), made("refund", "2")[0]],)], ()),
        # Frameworks give calls other ids and arguments.
        ([([USER], "find"), ([USER, *made("find", "mine", '{"id": 7}')],)], ()),
        # Examples, and the history of another conversation.
        ([([*EXAMPLE, USER], "find"), ([*EXAMPLE, USER, *made("find")],)], ()),
        ([([USER], "find"), ([{"role": "system", "content": "You sum up."}, *EXAMPLE],)], ()),
    ],
)
def test_a_call_that_no_answer_had_is_named(turns: list[tuple[Any, ...]], expected: tuple[str, ...]) -> None:
    calls = tuple(turn(float(place), *one) for place, one in enumerate(turns))
    wire = WireLog(trial="t", opened_at=NOON, model_calls=calls)
    query, outcome = (
        Query(query_id=1, text="?", apis=()),
        Outcome(started_at=NOON, wall_time=1, answer=Answer(final_answer="x")),
    )
    found = [one for one in integrity_findings(query, (), outcome, wire) if one.kind == "invented_call"]
    assert [(one.count, one.examples) for one in found] == ([(1, expected)] if expected else [])
    # Of the tools of a trial that Trialbed serves, the server knows the calls.
    served = integrity_findings(query, (SERVED,), outcome, wire)
    assert "invented_call" not in {one.kind for one in served}
