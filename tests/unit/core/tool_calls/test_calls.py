"""Calls of Apis that no answer of the model asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from support.cases import for_each

from trialbed.records import Answer, ApiCall, ApiRef, ClaimedCall, ModelCall, SentCall, ToolSpec, WireLog
from trialbed.tool_calls import compare_calls, unasked_calls

NOON = datetime(2026, 1, 2, tzinfo=UTC)


def ref(name: str) -> ApiRef:
    return ApiRef(category="C", tool_name="t", api_name=name)


TOOLS = [ToolSpec(name=f"t_{name}", description="", parameters={}, api=ref(name)) for name in "ab"]


def turn(*calls: tuple[str, str], at: float = 0.0, request: str = "{}", **more: Any) -> ModelCall:
    sent = tuple(
        SentCall(name=f"t_{name}", arguments=arguments, problem=None if name in "ab" else "unknown tool")
        for name, arguments in calls
    )
    fields = {"tool_calls": sent, "request": request, **more}
    return ModelCall(
        started=at, duration=5, first_token=1, status=200, response="", request_bytes=0, response_bytes=0, **fields
    )


def made(name: str, arguments: Any, at: float = 2.0) -> ApiCall:
    return ApiCall(started=at, duration=1, api=ref(name), offered=True, arguments=arguments)


def unasked(turns: list[ModelCall], calls: list[ApiCall]) -> list[int]:
    """The places of the calls that were not asked for."""
    wire = WireLog(trial="t", opened_at=NOON, model_calls=tuple(turns), api_calls=tuple(calls))
    found = unasked_calls(wire, TOOLS)
    return [place for place, call in enumerate(calls) if any(call is other for other in found)]


@for_each(
    ("sent", "calls", "expected"),
    [
        ([], [made("a", {})], [0]),
        ([("a", "{}")], [made("a", {})], []),
        ([("a", '{"x": 1, "y": 2}')], [made("a", {"y": 2, "x": 1})], []),
        # Made twice, asked for once.
        ([("a", "{}")], [made("a", {}), made("a", {})], [1]),
        ([("a", "{}"), ("a", "{}")], [made("a", {}), made("a", {})], []),
        # With other arguments: converted or repaired by the framework.
        ([("a", '{"x": "1"}')], [made("a", {"x": 1})], []),
        ([("a", "{x: 1")], [made("a", {"x": 1})], []),
        ([("a", '{"x": 2}'), ("a", '{"x": 1}')], [made("a", {"x": 9}), made("a", {"x": 1}), made("a", {"x": 2})], [0]),
        # Another Api.
        ([("a", "{}")], [made("b", {})], [0]),
        ([("absent", "{}")], [made("c", {})], [0]),
    ],
)
def test_each_sent_call_accounts_for_one(
    sent: list[tuple[str, str]], calls: list[ApiCall], expected: list[int]
) -> None:
    assert unasked([turn(*sent)], calls) == expected


@for_each(
    ("request_body", "expected"),
    [
        ('{"messages": []}', []),
        ('{"tools": []}', []),
        ('{"tools": [{"type": "function"}]}', [0]),
        ('{"tools": [{…[cut', [0]),
    ],
)
def test_a_call_written_as_text_asks_only_where_no_tools_were_offered(request_body: str, expected: list[int]) -> None:
    written = turn(text_calls=(SentCall(name="t_a", arguments="{}"),), request=request_body)
    assert unasked([written], [made("a", {})]) == expected


def test_a_tool_of_the_frameworks_own_may_lead_to_any_call() -> None:
    own = turn(tool_calls=(SentCall(name="python", arguments='{"code": "t_a(); t_b()"}'),), at=10.0)
    calls = [made("a", {}), made("a", {}, at=12.0), made("b", {}, at=12.0), made("a", {}, at=13.0)]
    assert unasked([own], calls) == [0]


def test_a_number_is_the_same_with_and_without_a_point() -> None:
    claim = ClaimedCall(name="t_a", api=ref("a"), arguments={"x": [3, {"y": 2.5}]})
    wire = WireLog(trial="t", opened_at=NOON, api_calls=(made("a", {"x": [3.0, {"y": 2.5}]}), made("a", {"x": 3.5})))
    found = compare_calls(Answer(final_answer="", calls=(claim,)), wire)
    assert (found.agreed, found.invented, found.unreported) == (1, (), (("t", "a"),))
