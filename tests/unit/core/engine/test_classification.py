"""Every rule of the classes of failures, as a table."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each
from support.trials import NOW

from trialbed.engine import cause_of, classify
from trialbed.records import Answer, Failure, FailureKind, ModelCall, Outcome, WireLog

ANSWER = Answer(final_answer="Yes", finish="give_answer")


def call(cause: Any = None, *, started: float = 0.0, duration: float = 1.0, **more: Any) -> ModelCall:
    status = {None: 200, "gone": 0, "limit": 403, "path": 404, "request": 400}.get(cause, 502)
    error = None if cause is None else f"because of {cause}"
    fields = {"status": status, "error": error, "cause": cause, "request": "{}", "response": "", **more}
    return ModelCall(started=started, duration=duration, request_bytes=2, response_bytes=0, **fields)


def wire(*causes: Any) -> WireLog:
    """Model requests one after the other."""
    calls = tuple(
        cause if isinstance(cause, ModelCall) else call(cause, started=float(place))
        for place, cause in enumerate(causes)
    )
    return WireLog(trial="token-token", opened_at=NOW, model_calls=calls)


def outcome(kind: FailureKind | None) -> Outcome:
    """An agent's end: an answer, or a failure of this kind."""
    if kind is None:
        return Outcome(started_at=NOW, wall_time=1, answer=ANSWER)
    return Outcome(started_at=NOW, wall_time=1, failure=Failure(kind=kind, message=f"own {kind}", detail="trace"))


def kind_of(found: Outcome) -> FailureKind | None:
    return found.failure.kind if found.failure else None


@for_each(
    ("own", "causes", "expected"),
    [
        # 1. The engine's own failure stands.
        ("server", (None, "limit"), "server"),
        ("server", ("endpoint",), "server"),
        # 2. A request past the limit, whatever the agent says.
        (None, (None, None, "limit"), "limit"),
        ("agent", (None, "limit"), "limit"),
        ("timeout", (None, "limit"), "limit"),
        ("memory", (None, "limit"), "limit"),
        (None, (None, "limit", "endpoint"), "limit"),
        # 3. No failure of the agent's process is the endpoint's.
        ("memory", (None, "endpoint"), "memory"),
        ("protocol", ("gateway",), "protocol"),
        # 4. The last request failed for the endpoint or the gateway.
        ("agent", ("endpoint",), "endpoint"),
        ("model", (None, None, "endpoint"), "endpoint"),
        ("crash", (None, "endpoint"), "endpoint"),
        ("timeout", (None, "endpoint"), "endpoint"),
        ("answer", (None, "endpoint"), "endpoint"),
        (None, (None, "endpoint"), "endpoint"),
        ("agent", (None, "gateway"), "server"),
        (None, ("gateway",), "server"),
        # … unless the agent, which had an answer, closed it itself; its executor closes it at the timeout.
        ("agent", (None, call("endpoint", status=0, started=1)), "agent"),
        (None, (None, call("endpoint", status=0, started=1)), None),
        ("timeout", (None, call("endpoint", status=0, started=1)), "endpoint"),
        ("agent", (call("endpoint", status=0),), "endpoint"),
        # … but something good came after it.
        ("agent", ("endpoint", None), "agent"),
        (None, ("endpoint", None), None),
        ("timeout", (None, "endpoint", "gone"), "timeout"),
        # 5. Nothing answered the agent, and it answers.
        (None, (), "agent"),
        (None, ("request",), "model"),
        (None, ("gone",), "agent"),
        (None, (None, "request"), None),
        (None, (None, "gone"), None),
        (None, (None,), None),
        # 6. The endpoint refused what was sent.
        ("agent", (None, "request"), "model"),
        ("timeout", (None, "request"), "model"),
        ("model", ("request",), "model"),
        ("agent", ("request", None), "agent"),
        # 7. A request for something that is not served asks no model.
        ("agent", ("path",), "agent"),
        ("agent", (None, "path"), "agent"),
        ("agent", ("endpoint", "path"), "endpoint"),
        ("model", ("path",), "agent"),
        (None, ("path",), "agent"),
        (None, (None, "path"), None),
        # 8. Else the agent's own failure stands.
        ("model", (None,), "model"),
        ("model", (), "agent"),
        ("agent", (), "agent"),
        ("timeout", (), "timeout"),
        ("timeout", (None, "gone"), "timeout"),
        ("crash", (None,), "crash"),
        ("adapter", (), "adapter"),
        ("answer", (None,), "answer"),
    ],
)
def test_the_wire_decides(own: FailureKind | None, causes: tuple[Any, ...], expected: FailureKind | None) -> None:
    assert kind_of(classify(outcome(own), wire(*causes))) == expected


def test_the_request_that_ended_last_counts_not_the_one_that_began_last() -> None:
    slow_failure = call("endpoint", started=0.0, duration=30.0)
    assert kind_of(classify(outcome("agent"), wire(slow_failure, call(None, started=1.0)))) == "endpoint"
    early_failure = call("endpoint", started=1.0, duration=0.5)
    slow_answer = call(None, started=0.0, duration=30.0)
    assert kind_of(classify(outcome("agent"), wire(slow_answer, early_failure))) == "agent"


def test_what_the_agent_said_is_kept() -> None:
    swallowed = classify(outcome(None), wire(None, "endpoint"))
    assert swallowed.answer == ANSWER
    assert swallowed.failure is not None
    assert swallowed.failure.message == "because of endpoint"
    assert "answered all the same" in swallowed.failure.detail
    raised = classify(outcome("agent"), wire("endpoint")).failure
    assert raised is not None
    assert raised.detail == "The agent ended with agent: own agent\ntrace"


@for_each(
    ("finish", "last", "expected"),
    [
        (None, {"cause": "request", "error": "refused"}, "model"),
        (None, {"fault": "empty", "error": "it has no choices"}, "model"),
        (None, {"fault": "slow"}, None),
        (None, {}, None),
        ("give_answer", {"cause": "request", "error": "refused"}, None),
        ("give_up_and_restart", {"fault": "empty", "error": "it has no choices"}, None),
    ],
)
def test_an_error_that_is_given_back_in_place_of_an_answer_is_a_failure(
    finish: Any, last: dict[str, Any], expected: FailureKind | None
) -> None:
    answered = outcome(None).model_copy(update={"answer": ANSWER.model_copy(update={"finish": finish})})
    asked = call(None, started=9.0).model_copy(update=last)
    log = wire(None)
    log = log.model_copy(update={"model_calls": (*log.model_calls, asked)})
    assert kind_of(classify(answered, log)) == expected


@for_each(("content", "expected"), [(None, "agent"), ({"price": 12.5}, "agent"), ("12.5", "model"), ([], "model")])
@for_each("own", [None, "agent"])
def test_a_result_of_a_wrong_type_is_the_agents_request(own: Any, content: Any, expected: FailureKind) -> None:
    sent = [{"role": "user", "content": "?"}, {"role": "tool", "tool_call_id": "1", "content": content}]
    refused = call("request", request=json.dumps({"messages": sent}))
    found = classify(outcome(own), wire(refused))
    assert found.failure is not None
    assert (found.failure.kind, found.failure.message) == (expected, "because of request")


@for_each(
    ("own", "limits", "expected"),
    [
        (None, ("max_trial_tokens",), ("limit", "stopped by the limit: 1 request past --max-trial-tokens refused")),
        ("agent", ("timeout", "max_steps"), ("limit", "stopped by the limit: 2 requests past --max-steps refused")),
        (None, ("timeout",), ("timeout", "stopped by the limit: 1 request past --timeout refused")),
        ("timeout", ("timeout",), ("timeout", "own timeout")),
    ],
)
def test_the_limit_that_was_passed_is_named(own: Any, limits: tuple[str, ...], expected: tuple[str, str]) -> None:
    found = classify(outcome(own), wire(None, *(call("limit", limit=limit) for limit in limits))).failure
    assert found is not None
    assert (found.kind, found.message) == expected


@for_each(
    ("status", "cause"),
    [
        (200, None), (0, "gone"), (400, "request"), (422, "request"), (413, "request"), (401, "endpoint"),
        (403, "endpoint"), (404, "endpoint"), (408, "endpoint"), (429, "endpoint"), (500, "endpoint"),
        (504, "endpoint"),
    ],
)  # fmt: skip
def test_without_the_gateways_word_the_status_tells(status: int, cause: str | None) -> None:
    assert cause_of(call(status=status, error=None, cause=None)) == cause


@for_each(
    ("response", "says"),
    [
        ('{"error": {"message": "no such tool", "type": "x"}}', "status 400: no such tool"),
        ('{"error": "no"}', "status 400: no"),
        ('{"detail": "no"}', 'status 400: {"detail": "no"}'),
        ("", "status 400"),
        ("x" * 9999, "x" * 100),
    ],
)
def test_the_endpoints_own_words_are_the_reason(response: str, says: str) -> None:
    refused = call(status=400, error=None, response=response)
    found = classify(outcome("agent"), wire(refused)).failure
    assert found is not None
    assert says in found.message
    assert len(found.message) <= 500
