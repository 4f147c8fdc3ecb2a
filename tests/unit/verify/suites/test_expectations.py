from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed_verify.suites import EXPECTATIONS, misses, score, suite_fault

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def row(
    expect: dict[str, Any], *, text: str | None = None, calls: Any = (), finish: str = "stop", **more: Any
) -> dict[str, Any]:
    listed = [{"id": "1", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    message = {"role": "assistant", "content": text, **({"tool_calls": listed} if listed else {})}
    choice = {"index": 0, "message": message, "finish_reason": finish, **more.pop("choice", {})}
    return {
        "suite": {"name": "own", "case": "1", "expect": expect},
        "status": "success",
        "outcome": "stop",
        "finish_reason": finish,
        "response": {"choices": [choice]},
        **more,
    }


@for_each(
    ("expect", "answer", "right"),
    [
        ({"calls": True}, {"calls": [("f", "{}")]}, True),
        ({"calls": True}, {"text": "no"}, False),
        ({"calls": False}, {"text": "no"}, True),
        ({"calls": False}, {"calls": [("f", "{}")]}, False),
        ({"calls": True, "tool": ["f"]}, {"calls": [("g", "{}")]}, False),
        ({"tool": ["f"]}, {"calls": [("f", "{}"), ("g", "{}")]}, False),
        ({"most_calls": 1}, {"calls": [("f", "{}"), ("f", "{}")]}, False),
        ({"arguments": {"a": 1}}, {"calls": [("f", '{"a": 1.0}')]}, True),
        ({"arguments": {"a": 1}}, {"calls": [("f", '{"a": true}')]}, False),
        ({"arguments": {"a": 1}}, {"calls": [("f", '{"a": "1"}')]}, False),
        ({"arguments": {"a": [{"b": None}]}}, {"calls": [("f", '{"a": [{"b": null}]}')]}, True),
        ({"arguments": {"a": 1}}, {"calls": [("f", '{"a"')]}, False),
        ({"json": True}, {"text": "{}"}, True),
        ({"json": True}, {"text": "[]"}, False),
        ({"json": True}, {"text": "```json\n{}\n```"}, False),
        ({"json": SCHEMA}, {"text": '{"a": 1}'}, True),
        ({"json": SCHEMA}, {"text": '{"a": "x"}'}, False),
        ({"most_tokens": 5}, {"text": "x", "completion_tokens": 5}, True),
        ({"most_tokens": 5}, {"text": "x", "completion_tokens": 6}, False),
        ({"answered": True}, {"text": " "}, False),
        ({"clean": True}, {"text": "a < b | c > d [1] \u00fc"}, True),
        ({"clean": True}, {"text": "x<|im_end|>"}, False),
        ({"clean": True}, {"text": "<think>hm"}, False),
        ({"clean": True}, {"text": "caf\ufffd"}, False),
        ({"clean": True}, {"calls": [("f", '{"a": ["<|tool_call_end|>"]}')]}, False),
        ({"choices": 2}, {"text": "x"}, False),
        ({"logprobs": 2}, {"text": "x"}, False),
        ({"logprobs": 1}, {"text": "x", "choice": {"logprobs": {"content": [{"top_logprobs": [{}]}]}}}, True),
        ({"logprobs": 1}, {"text": "x", "choice": {"logprobs": {"content": [{"top_logprobs": [{}, {}]}]}}}, False),
    ],
)
def test_an_answer_is_what_its_case_expects_or_not(expect: dict[str, Any], answer: dict[str, Any], right: bool) -> None:
    found = row(expect, **answer)
    assert score(found) == float(right), misses(found)
    assert score(json.loads(json.dumps(found))) == float(right)


@for_each(
    ("expect", "answer"),
    [
        ({"json": True}, {"text": '{"a', "finish": "length"}),
        ({"json": {"type": "thing"}}, {"text": "{}"}),
        ({"most_tokens": 5}, {"text": "x"}),
        ({"unknown": 1}, {}),
        ({}, {}),
    ],
)
def test_what_cannot_be_told_is_no_score(expect: dict[str, Any], answer: dict[str, Any]) -> None:
    assert score(row(expect, **answer)) is None


@for_each(
    ("outcome", "kind", "found"),
    [
        ("transport_error", "http_400", 0.0),
        ("transport_error", "http_503", None),
        ("timeout", "timeout", None),
        ("protocol_error", "cut_stream", 0.0),
    ],
)
def test_a_refusal_is_wrong_and_an_absence_is_nothing(outcome: str, kind: str, found: float | None) -> None:
    failed = {"status": "failed", "outcome": outcome, "problem": {"kind": kind}, "response": {"error": "x"}}
    assert score(row({"answered": True}) | failed) == found


@for_each("suite", [None, "x", [], {}, {"name": "x"}, {"name": "x", "expect": []}])
def test_a_row_of_no_suite_has_no_score(suite: Any) -> None:
    assert score(row({}) | {"suite": suite}) is None
    assert score({}) is None


def test_a_text_in_typed_parts_is_a_text() -> None:
    parts = [{"type": "text", "text": '{"a"'}, {"type": "text", "text": ": 1}"}]
    message = {"role": "assistant", "content": parts}
    expect = {"answered": True, "json": True, "without": ["never"]}
    assert misses(row(expect, choice={"message": message})) == []
    assert misses(row({"without": ['"a": 1']}, choice={"message": message})) == ["without"]


@for_each("response", [None, "x", [], {}, {"choices": None}, {"choices": [None]}, {"choices": [{"message": 1}]}])
def test_odd_answers_are_wrong_and_break_nothing(response: Any) -> None:
    expect = {"calls": True, "choices": 1, "logprobs": 1, "clean": True, "json": True, "answered": True}
    assert set(expect) <= set(EXPECTATIONS)
    assert score(row(expect) | {"response": response}) == 0.0


@for_each(
    ("about", "said"),
    [
        ({"name": "own", "expect": {"call": True}}, "did you mean 'calls'?"),
        ({"name": 5}, "suite: the name is 5, not a text"),
        ({"expect": {"calls": True}}, "suite: the name is null"),
        ({"name": "own", "expect": ["calls"]}, "expect is not an object"),
        ("own", "suite: not an object"),
    ],
)
def test_a_suite_that_cannot_be_scored_is_named(about: Any, said: str) -> None:
    assert said in str(suite_fault(about))


def test_a_suite_that_can_be_scored_has_no_fault() -> None:
    assert suite_fault({"name": "own", "expect": {"calls": True, "most_calls": 1}}) is None
    assert suite_fault({"answer": {"text": "x"}}) is None


def test_a_request_that_must_be_refused_is_right_if_it_is() -> None:
    refused = {"status": "failed", "problem": {"kind": "http_400"}}
    assert misses({**row({"refusal": True}), **refused}) == []
    assert misses({**row({"calls": True}), **refused}) == ["refused"]
    assert misses(row({"refusal": True}, text="Here you are.")) == ["refusal"]
    assert misses({**row({"refusal": True}), "status": "failed", "problem": {"kind": "http_503"}}) is None
    assert misses({**row({"refusal": True}), "status": "failed", "problem": {"kind": "http_500"}}) == ["refusal"]


def test_a_stop_sequence_in_the_text_is_a_miss() -> None:
    assert misses(row({"without": ["halt"]}, text="halt and go")) == ["without"]
    assert misses(row({"without": ["halt"]}, text="go")) == []
