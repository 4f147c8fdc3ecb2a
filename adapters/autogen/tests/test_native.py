"""The native profile: what AutoGen 0.7.5 does when it is used as its documentation teaches."""

from __future__ import annotations

from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from support.adapters import answered, cell_of, failure, results, said

from trialbed import mcp_url
from trialbed_adapter_lab import CheckFailed, Harness, tool
from trialbed_autogen import native
from trialbed_scripted import Response, ask, call, fail, forever, say

pytestmark = [
    pytest.mark.framework("autogen:native"),
    # AutoGen warns of what a model does; in a worker that is a line on standard error.
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore:Use `streamable_http_client`:DeprecationWarning"),
]

ECHO = call("Echo_text", {"text": "one"})


async def test_the_first_request_is_autogens_own(harness: Harness) -> None:
    record = await harness.run("done", temperature=None, seed=7, query="Why?", system_prompt="Be brief.")
    (request,) = record.requests
    assert request.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "user", "content": "Why?"},
    ]
    settings = {key: value for key, value in request.body.items() if key not in ("messages", "tools", "model")}
    assert settings == {"stream": False, "tool_choice": "auto", "seed": 7}
    assert {entry["function"]["strict"] for entry in request.body["tools"]} == {False}


async def test_a_schema_loses_its_definitions(harness: Harness) -> None:
    schema = {
        "type": "object",
        "$defs": {"City": {"enum": ["Oslo"]}},
        "properties": {"city": {"$ref": "#/$defs/City", "default": None}},
    }
    (request,) = (await harness.run("done", tools=[tool("a-B_1", parameters=schema)])).requests
    assert request.parameters("a-B_1") == {
        "type": "object",
        "properties": schema["properties"],
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("no_such_tool", "{}", "Error: tool 'no_such_tool' not found in any workbench"),
        ("Echo_text", '{"text": "a', "Error: Unterminated string starting at"),
        ("Echo_text", "", "Error: Expecting value: line 1 column 1 (char 0)"),
    ],
)
async def test_the_model_is_told_what_is_wrong_with_a_call(
    harness: Harness, name: str, arguments: str, told: str
) -> None:
    record = await harness.run(call(name, arguments), "done")
    assert results(record)[0].startswith(told)
    assert (record.calls, answered(record).calls, said(record)) == ((), (), "done")


@pytest.mark.parametrize(
    "arguments", [{"text": 3}, {}, {"text": "one", "more": [None]}, {"text": ["1", {}]}, {"text": None}]
)
async def test_arguments_reach_the_tool_unchecked(harness: Harness, arguments: dict[str, Any]) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert [seen.arguments for seen in record.calls] == [arguments]
    assert [claimed.arguments for claimed in answered(record).calls] == [arguments]


@pytest.mark.parametrize("text", ["[1]", "7", '"text"'])
async def test_arguments_that_are_no_object_are_no_call(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (record.calls, answered(record).calls, said(record)) == ((), (), "done")


async def test_a_number_that_python_cannot_read_hangs_the_run(harness: Harness) -> None:
    with pytest.raises(CheckFailed, match="still running"):
        await harness.run(call("Echo_text", '{"text": ' + "1" * 5_000 + "}"), "done", timeout=5)


@pytest.mark.parametrize("content", ["", None])
async def test_an_empty_answer_is_an_answer(harness: Harness, content: str | None) -> None:
    record = await harness.run(say(content))
    assert (len(record.requests), said(record)) == (1, "")


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    ("status", "requests", "seen"),
    [
        (429, 3, "RateLimitError"),
        (500, 3, "InternalServerError"),
        (400, 1, "BadRequestError"),
        (403, 1, "PermissionDeniedError"),
    ],
)
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int, seen: str) -> None:
    record = await harness.run(forever(fail(status)))
    assert (said(record), len(record.requests)) == (seen, requests)


async def test_an_answer_without_choices_is_an_index_error(harness: Harness) -> None:
    record = await harness.run(Response.document({"id": "1", "object": "chat.completion", "choices": []}))
    assert failure(record) == "IndexError: list index out of range"


async def test_after_ten_turns_the_last_results_are_the_answer(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=12)
    assert (len(record.requests), len(record.calls)) == cell_of("autogen:native", "loop")[:2]
    assert said(record) == '{"text": "one"}'


async def test_the_documented_limit_and_no_other_setting_is_changed(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    class Watched(AssistantAgent):
        def __init__(self, *args: Any, **settings: Any) -> None:
            given.update(settings)
            super().__init__(*args, **settings)

    monkeypatch.setattr(native, "AssistantAgent", Watched)
    prepared = harness.prepare("done")
    await prepared.run()
    assert set(given) == {"model_client", "workbench", "system_message", "max_tool_iterations"}
    assert given["max_tool_iterations"] == 10
    assert given["workbench"].server_params.url == mcp_url(prepared.spec.server_url)
