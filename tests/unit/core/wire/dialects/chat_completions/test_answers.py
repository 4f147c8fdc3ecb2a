from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from support.cases import for_each
from support.chat import ODD_JSON

from trialbed.wire.dialects.chat_completions import (
    ChatStreamReader,
    first_choice,
    first_message,
    read_body,
)

KIND = "application/json"
MESSAGE = {"role": "assistant", "content": "hi"}


@for_each(
    ("body", "outcome", "kind"),
    [
        ({"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}, "stop", None),
        ({"choices": [{"message": MESSAGE, "finish_reason": "length"}]}, "other", None),
        ({"choices": [{"text": "hi", "finish_reason": "stop"}]}, "stop", None),
        ({"choices": [{"message": MESSAGE, "finish_reason": None}]}, "protocol_error", "no_finish_reason"),
        ({"choices": [{"message": MESSAGE, "finish_reason": 7}]}, "protocol_error", "no_finish_reason"),
        ({"choices": [{"message": None, "finish_reason": "stop"}]}, "protocol_error", "null_message"),
        ({"choices": []}, "protocol_error", "no_choices"),
        ({"choices": 5}, "protocol_error", "no_choices"),
        ({"choices": [None, 5]}, "protocol_error", "no_choices"),
        ({"error": {"message": "no"}}, "protocol_error", "error_body"),
        ({}, "protocol_error", "no_choices"),
        ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "protocol_error", "error_body"),
        ({"data": {"choices": []}, "success": True}, "protocol_error", "error_body"),
        ({"status": "fail", "reason": "quota used up"}, "protocol_error", "error_body"),
        ({"errno": 110, "errmsg": "quota used up"}, "protocol_error", "error_body"),
        ({"choices": None, "code": 20012, "message": "busy"}, "protocol_error", "error_body"),
        (
            {"choices": [{"message": MESSAGE, "finish_reason": "stop"}], "base_resp": {"status_code": 0}, "code": 0},
            "stop",
            None,
        ),
        ([], "protocol_error", "malformed_body"),
    ],
)
def test_a_body_is_an_answer_or_named_for_what_it_is(body: Any, outcome: str, kind: str | None) -> None:
    reading = read_body(json.dumps(body).encode(), KIND)
    assert (reading.outcome, reading.problem and reading.problem.kind) == (outcome, kind)


@for_each(
    ("body", "kind", "problem"),
    [
        (b"<html>", KIND, "html"),
        (b"oops", "text/html; charset=utf-8", "html"),
        (b"", KIND, "empty_body"),
        (b" \n", KIND, "empty_body"),
        (b'{"choices": ', KIND, "malformed_body"),
        (b'{"choices": NaN}', KIND, "malformed_body"),
        (b"\xff\xfe\x00", KIND, "malformed_body"),
        (b"[" * 5000, KIND, "malformed_body"),
    ],
)
def test_what_is_no_json_is_named(body: bytes, kind: str, problem: str) -> None:
    reading = read_body(body, kind)
    assert reading.outcome == "protocol_error"
    assert reading.problem is not None
    assert reading.problem.kind == problem


def test_a_completion_that_is_called_a_web_page_is_a_completion() -> None:
    reading = read_body(b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}', "text/html")
    assert (first_message(reading.response), reading.notes) == ({"content": "a"}, ("content_type_wrong",))


def test_the_choice_that_counts_is_the_one_of_index_0() -> None:
    second, first = {"index": 1, "message": {"content": "b"}}, {"index": 0, "message": {"content": "a"}}
    assert first_message({"choices": [second, first]}) == {"content": "a"}
    assert first_choice({"choices": [second]}) == second


@given(ODD_JSON)
def test_nothing_that_a_vendor_sends_is_more_than_an_outcome(value: Any) -> None:
    body = json.dumps(value).encode()
    stream = ChatStreamReader(("a",))
    stream.feed(b"data: " + body + b"\n\n", 1.0)
    for reading in (read_body(body, KIND), stream.end(2.0)):
        assert (reading.problem is None) == (reading.outcome in ("tool_calls", "stop", "other"))


def test_an_answer_says_what_came_even_where_it_is_broken() -> None:
    reading = read_body(
        b'{"choices": [{"message": {"content": "hi", "reasoning": "why"}}], "usage": {"prompt_tokens": 3}}'
    )
    assert reading.outcome == "protocol_error"
    assert (reading.answer.text, reading.answer.reasoning, reading.answer.finish_reason) == ("hi", "why", None)
    assert reading.answer.usage == {"prompt_tokens": 3}


def test_what_is_no_completion_says_nothing() -> None:
    assert read_body(b"<html>").answer.source is None
    assert read_body(b'{"choices": []}').answer.source is None
