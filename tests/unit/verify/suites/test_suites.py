"""Suites, their expectations and their scores."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_verify.suites import (
    EXPECTATIONS,
    SUITES,
    misses,
    score,
    suite,
    suite_fault,
    suite_row,
    summarize_suites,
    write_test_set,
)

DIGESTS = {
    "triggering": "077bc988a0b36e8f",
    "constraints": "87bb89602fa02301",
    "refusals": "493fb4c7914b2385",
    "leaks": "e5a33436eabf1660",
    "schema-torture": "42f5c98df0554959",
    "multi-turn": "3cba4325b3013edd",
    "long-context": "006fc360bc878fb5",
    "parameters": "70704d4893421d3d",
}
"""The beginnings of the SHA-256 of the test sets: results of another test set are not compared."""


@for_each("name", list(SUITES))
def test_a_suite_is_always_the_same_and_names_its_cases(name: str) -> None:
    first, again = list(SUITES[name].cases()), list(SUITES[name].cases())
    assert json.dumps(first) == json.dumps(again)
    assert len({line["suite"]["case"] for line in first}) == len(first) == SUITES[name].size
    for line in first:
        assert line["suite"]["name"] == name
        assert set(line["suite"]["expect"]) <= set(EXPECTATIONS)
        if "refusal" in line["suite"]["expect"]:
            continue
        tools = [tool["function"]["name"] for tool in line.get("tools", ())]
        assert len(set(tools)) == len(tools) <= 128
        for call in line["suite"]["answer"].get("calls", ()):
            assert call["name"] in tools


def test_a_suite_has_the_same_bytes_on_every_machine_until_it_is_changed_on_purpose(tmp_path: Path) -> None:
    found = {}
    for name in SUITES:
        write_test_set([name], tmp_path / name)
        found[name] = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:16]
    assert found == DIGESTS


def test_an_unknown_suite_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"there is no suite 'leak'; did you mean 'leaks'"):
        suite("leak")


def answered(suite: Any, **more: Any) -> dict[str, Any]:
    response = {"choices": [{"index": 0, "message": {"content": "text"}}]}
    return {"suite": suite, "status": "success", "outcome": "stop", "response": response, **more}


def about(case: str, *, calls: bool, **more: Any) -> dict[str, Any]:
    return {"name": "own", "case": case, "expect": {"calls": calls}, **more}


def summaries(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return summarize_suites(found for row in rows if (found := suite_row(row)))


def test_trials_of_a_case_are_one_observation() -> None:
    trials = [answered(about("right", calls=False), trial=trial) for trial in range(10)]
    found = summaries(*trials, answered(about("wrong", calls=True)))["own"]
    assert (found["rows"], found["cases"], found["score"]["value"], found["score"]["n"]) == (11, 2, 0.5, 2)


def test_the_first_examples_are_those_of_the_test_set_whatever_the_order_of_arrival() -> None:
    found = summaries(*(answered(about(str(line), calls=True), data_index=line) for line in (9, 2, 7, 1, 3)))
    assert [one["line"] for one in found["own"]["examples"]["calls"]] == [1, 2, 3]


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


def test_a_request_that_must_be_refused_is_right_if_it_is() -> None:
    refused = {"status": "failed", "problem": {"kind": "http_400"}}
    assert misses({**row({"refusal": True}), **refused}) == []
    assert misses({**row({"calls": True}), **refused}) == ["refused"]
    assert misses(row({"refusal": True}, text="Here you are.")) == ["refusal"]
    assert misses({**row({"refusal": True}), "status": "failed", "problem": {"kind": "http_503"}}) is None
    assert misses({**row({"refusal": True}), "status": "failed", "problem": {"kind": "http_500"}}) == ["refusal"]
