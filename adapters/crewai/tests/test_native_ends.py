"""Tests of the native profile: how a run ends, and what CrewAI makes of failures and limits."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from packaging.version import Version
from support.adapters import cell_of, refusal, said

from trialbed_adapter_lab import Harness
from trialbed_scripted import ModelTurn, ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("crewai:native"),
    pytest.mark.skipif(Version(version("crewai")) < Version("1.15.30"), reason="older releases do otherwise"),
]

ECHO = call("echo_text", {"text": "one"})
LAST = "you MUST give your absolute best final answer"


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (say(""), "ValueError"),
        (say(None), "ValueError"),
        (say("cut", finish_reason="length"), "cut"),
        (say("42\nObservation: so it is"), "42"),
    ],
)
async def test_an_odd_end(harness: Harness, reply: ModelTurn, seen: str) -> None:
    record = await harness.run(reply, "done")
    assert (said(record), len(record.requests)) == (seen, 1)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("status", "requests", "seen"),
    [
        (429, 9, "RateLimitError"),
        (500, 3, "InternalServerError"),
        (400, 1, "BadRequestError"),
        (401, 1, "AuthenticationError"),
        (404, 1, "ValueError"),
    ],
)
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int, seen: str) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == (seen, requests)


async def test_a_context_that_is_too_long_is_summarised(harness: Harness) -> None:
    refused = refusal(400, "This model's maximum context length is 10 tokens")
    record = await harness.run(ECHO, refused, "a summary", "done")
    assert said(record) == "done", record.failure
    assert ["tools" in request.body for request in record.requests] == [True, True, False, True]


async def test_the_fifth_call_with_the_same_arguments_and_result_ends_the_run(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=30)
    turns, calls, cause = cell_of("crewai:native", "loop")
    assert (len(record.requests), len(record.calls)) == (turns, calls)
    assert f"`{said(record)}`" in cause


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.long_trial
async def test_a_call_in_place_of_the_last_answer_is_the_answer_as_text(harness: Harness) -> None:
    turns = [ask(call("echo_text", {"text": str(number)})) for number in range(26)]
    record = await harness.run(*turns, max_steps=30)
    assert said(record).startswith("[ChatCompletionMessageFunctionToolCall(id=")
    assert len(record.calls) == 25


@pytest.mark.long_trial
async def test_a_model_that_never_stops_is_asked_once_more_without_tools(harness: Harness) -> None:
    turns = [ask(call("echo_text", {"text": str(number)})) for number in range(25)]
    record = await harness.run(*turns, "my best", max_steps=30)
    assert (said(record), len(record.calls)) == ("my best", 25)
    assert [request.number for request in record.requests if "tools" not in request.body] == [25]
    assert LAST in record.requests[25].messages[-1]["content"]


async def test_a_refusal_that_speaks_of_tools_makes_crewai_describe_them_in_text(harness: Harness) -> None:
    record = await harness.run(refusal(400, "this model does not support tools"), "Thought: so\nFinal Answer: done")
    assert (said(record), ["tools" in request.body for request in record.requests]) == ("done", [True, False])


@pytest.mark.parametrize(("model", "offered"), [("gpt-4o", True), ("solo1", False)])
async def test_the_models_name_decides_whether_tools_are_offered(harness: Harness, model: str, offered: bool) -> None:
    record = await harness.run("done", model=model)
    assert ("tools" in record.requests[0].body) is offered


@pytest.mark.parametrize("model", ["gpt-4o", "harness-model"])
async def test_the_models_name_decides_what_becomes_of_a_long_result(harness: Harness, model: str) -> None:
    long = {"text": "x" * 7000}
    record = await harness.run(call("echo_text", long), "done", model=model)
    names = [entry["name"] for entry in record.requests[1].functions]
    assert ("read_a_deferred_tool_result" in names) is (model != "gpt-4o")
