"""What ADK does by itself: the rows of the table in docs/reference/frameworks.md."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from support.adapters import answered, results, said

from trialbed_adapter_lab import Harness
from trialbed_adapter_lab.trials import without_message
from trialbed_scripted import ModelTurn, Response, ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("google-adk:native"),
    pytest.mark.skipif(
        tuple(map(int, version("google-adk").split(".")[:2])) < (2, 13), reason="older releases do otherwise"
    ),
]

ECHO = call("Echo_text", {"text": "one"})


async def test_the_first_request_has_fields_and_words_of_adks_own(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be brief.", seed=7, temperature=0.5)
    body = record.requests[0].body
    assert {name: body[name] for name in body if name not in ("model", "tools")} == {
        "messages": [
            {"role": "system", "content": 'Be brief.\n\nYou are an agent. Your internal name is "assistant".'},
            {"role": "user", "content": "Why?"},
        ],
        "temperature": 0.5,
        "max_tokens": 4096,
        "tool_choice": "auto",
        "response_format": None,
    }


async def test_a_word_in_braces_ends_the_run(harness: Harness) -> None:
    record = await harness.run("done", system_prompt="Be {brief}.")
    assert (said(record), record.requests) == ("KeyError", ())


async def test_an_unknown_tool_is_an_error_for_the_model(harness: Harness) -> None:
    record = await harness.run(ask(ECHO, call("no_such")), "done")
    assert (said(record), len(record.calls), len(record.requests)) == ("done", 1, 2)
    assert "Echo_text" in results(record)[-1]


async def test_arguments_that_are_not_json_are_a_call_without_arguments(harness: Harness) -> None:
    record = await harness.run(call("Echo_text", '{"text": '), "done")
    assert [made.arguments for made in record.calls] == [{}]
    assert [made.arguments for made in answered(record).calls] == [{}]


@pytest.mark.parametrize("text", ["[1]", '"text"'])
async def test_json_that_is_no_object_ends_the_run(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (said(record), record.calls) == ("ValidationError", ())


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (say(""), ""),
        (say("cut", finish_reason="length"), "cut"),
        (say(None, finish_reason="length"), ""),
        (say(None, refusal="I would rather not."), ""),
        (without_message, ""),
        (Response.text("<html>"), "JSONDecodeError"),
    ],
)
async def test_an_odd_end(harness: Harness, reply: ModelTurn | Response, seen: str) -> None:
    record = await harness.run(reply)
    assert (said(record), len(record.requests)) == (seen, 1)
    assert record.answer is None or (record.answer.finish is None) is not seen


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("status", "requests", "seen"),
    [(429, 3, "RateLimitError"), (500, 3, "InternalServerError"), (403, 1, "PermissionDeniedError")],
)
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int, seen: str) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == (seen, requests)
