"""Whose fault a failure is."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each

from trialbed.wire import TRANSIENT
from trialbed.wire.dialects import dialect
from trialbed_server.gateway.circuit import (
    blames_request,
    cause_of_problem,
    cause_of_status,
    lacks_model,
    repeats_a_broken_call,
)

ALONE = {
    "200 201 204": None,
    "0 301 307": "endpoint",
    "400 406 411 413 415 422 431 451": "request",
    "401 402 403 407": "endpoint",
    "404 405 410": "endpoint",
    "408 409 425 429": "endpoint",
    "500 501 502 503 504 520 524 529": "endpoint",
}
WHILE_OTHERS_ARE_ANSWERED = {
    "200 201 204": None,
    "0 301 307": "endpoint",
    "400 406 411 413 415 422 431 451": "request",
    "401 402 403 407": "endpoint",
    "404 405 410": "request",
    "408 409 425 429": "endpoint",
    "500 501 502 504 520 524": "request",
    "503 529": "endpoint",
}


@pytest.mark.parametrize(("others", "table"), [(False, ALONE), (True, WHILE_OTHERS_ARE_ANSWERED)])
def test_the_cause_follows_from_the_status(others: bool, table: dict[str, str | None]) -> None:
    for statuses, cause in table.items():
        for status in statuses.split():
            assert cause_of_status(int(status), others_answered=others) == cause, status


def test_every_status_has_a_cause() -> None:
    for status in [0, *range(300, 600)]:
        for others in (False, True):
            assert cause_of_status(status, others_answered=others) in ("request", "endpoint")
    assert {status for status in range(600) if blames_request(status)} == set(range(500, 600)) - {503, 529}
    assert {400, 401, 404, 422, 501, 505} & TRANSIENT == set()


@for_each(
    ("body", "lacks"),
    [
        (b'{"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}', True),
        (b'{"error": {"code": 404, "message": "models/m is not found for API version v1beta"}}', True),
        (b'{"detail": "Not Found"}', False),
    ],
)
def test_a_refusal_may_say_that_the_model_is_missing(body: bytes, lacks: bool) -> None:
    assert lacks_model(body) == lacks


@for_each(
    ("kind", "code", "cause"),
    [
        ("html", None, "endpoint"),
        ("empty_body", None, "endpoint"),
        ("empty_stream", None, "endpoint"),
        ("error_body", None, "endpoint"),
        ("error_body", 429, "endpoint"),
        ("error_body", "502", "endpoint"),
        ("error_body", 400, "request"),
        ("error_event", "422", "request"),
        ("error_event", "server_error", "endpoint"),
        ("error_event", 200, "endpoint"),
        ("error_event", [400], "endpoint"),
        ("error_event", 10**30, "endpoint"),
        ("malformed_body", None, None),
        ("no_choices", None, None),
        ("null_message", None, None),
        ("no_finish_reason", None, None),
        ("no_done", None, None),
    ],
)
def test_an_answer_that_is_no_completion(kind: str, code: object, cause: str | None) -> None:
    assert cause_of_problem(kind, code) == cause


def conversation(*arguments: object) -> dict[str, Any]:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": text}} for text in arguments]
    return {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": calls}]}


@for_each(
    ("document", "broken"),
    [
        (conversation('{"a": 1}'), False),
        (conversation(""), False),
        (conversation({"a": 1}), False),
        (conversation('{"a": 1}', '{"from": "Tirr'), True),
        ({"messages": [{"role": "assistant", "tool_calls": None}]}, False),
        ({"messages": 3}, False),
        ({"messages": [None]}, False),
        ({}, False),
    ],
)
def test_a_call_that_was_cut_is_seen_in_the_conversation(document: dict[str, Any], broken: bool) -> None:
    assert repeats_a_broken_call(dialect().read_request(document)) == broken
