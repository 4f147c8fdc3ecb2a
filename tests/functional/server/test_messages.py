"""Scripted models through Anthropic's SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, registration

from trialbed.records import WireLog
from trialbed.wire import recorded_answer, recorded_request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Oslo?"}]
RESULT = '{"temperature": 48213, "sky": "sky bcdfgh"}'
OFFERED: list[Any] = [{"name": TOOL["name"], "description": "d", "input_schema": SCHEMA}]

Sdk = Callable[[httpx.AsyncClient], "AsyncAnthropic"]


@pytest.fixture
async def sdk() -> AsyncIterator[Sdk]:
    # To import it takes seconds: only who runs these tests does.
    from anthropic import AsyncAnthropic

    clients: list[AsyncAnthropic] = []

    def make(client: httpx.AsyncClient) -> AsyncAnthropic:
        url = f"{client.base_url}/t/{TRIAL}"
        clients.append(AsyncAnthropic(base_url=url, api_key="dummy", max_retries=0))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


async def ask(anthropic: AsyncAnthropic, messages: list[Any], *, stream: bool, **more: Any) -> Any:
    """The message that the model sends."""
    arguments = {"model": "gpt-4o", "max_tokens": 500, "messages": messages, "tools": OFFERED, **more}
    if not stream:
        return await anthropic.messages.create(**arguments)
    async with anthropic.messages.stream(**arguments) as events:
        return await events.get_final_message()


@pytest.mark.parametrize("stream", [False, True])
async def test_gold_calls_its_tool_and_answers_with_the_evidence(serve: Serve, sdk: Sdk, stream: bool) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    anthropic = sdk(client)
    first = await ask(anthropic, QUESTION, stream=stream, system="Be brief.")
    (use,) = first.content
    assert (use.type, use.name, use.input, first.stop_reason) == (
        "tool_use",
        TOOL["name"],
        {"city": "Oslo"},
        "tool_use",
    )
    result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": RESULT}]}
    turn: list[Any] = [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = await ask(anthropic, [*QUESTION, *turn], stream=stream, system=[{"type": "text", "text": "Be brief."}])
    (text,) = second.content
    assert second.stop_reason == "end_turn"
    assert "48213" in text.text
    assert "sky bcdfgh" in text.text
    assert first.id != second.id
    log = WireLog.model_validate(await closed(client))
    assert [call.status for call in log.model_calls] == [200, 200]
    assert {call.dialect for call in log.model_calls} == {"messages"}
    assert [call.finish_reason for call in log.model_calls] == ["tool_calls", "stop"]
    assert [call.usage and call.usage.prompt_tokens for call in log.model_calls] == [
        first.usage.input_tokens,
        second.usage.input_tokens,
    ]
    assert [(call.name, json.loads(call.arguments), call.problem) for call in log.model_calls[0].tool_calls] == [
        (TOOL["name"], {"city": "Oslo"}, None)
    ]
    asked = recorded_request(log.model_calls[1])
    assert asked is not None
    assert [message.role for message in asked.messages] == ["system", "user", "assistant", "tool"]
    assert recorded_answer(log.model_calls[1]).answer.text == text.text


async def test_choices_of_tools_are_obeyed(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model="scripted:none"))
    anthropic = sdk(client)
    finish = {"name": "finish", "input_schema": {"type": "object", "properties": {"answer": {"type": "string"}}}}
    tools = [*OFFERED, finish]
    free = await ask(anthropic, QUESTION, stream=False)
    assert [block.type for block in free.content] == ["text"]
    forced = await ask(anthropic, QUESTION, stream=False, tools=tools, tool_choice={"type": "any"})
    assert forced.content[0].name == "finish"
    assert forced.content[0].input == {"answer": free.content[0].text}
    named = await ask(
        anthropic, QUESTION, stream=False, tools=tools, tool_choice={"type": "tool", "name": TOOL["name"]}
    )
    assert named.content[0].name == TOOL["name"]


async def test_tokens_are_counted_for_the_trials_model_only_and_in_no_step_of_it(serve: Serve, sdk: Sdk) -> None:
    from anthropic import APIStatusError

    client = await serve()
    await client.post(
        "/control/trials",
        json=registration(model_name="gpt-4o", allowed_models=[], limits={"max_steps": 1, "timeout": 60}),
    )
    anthropic = sdk(client)
    with pytest.raises(APIStatusError, match="this trial's model is 'gpt-4o'"):
        await anthropic.messages.count_tokens(model="strong", messages=QUESTION)
    counted = await anthropic.messages.count_tokens(model="gpt-4o", messages=QUESTION, tools=OFFERED)
    message = await ask(anthropic, QUESTION, stream=False)
    assert counted.input_tokens == message.usage.input_tokens
    with pytest.raises(APIStatusError) as refused:
        await ask(anthropic, QUESTION, stream=False)
    assert refused.value.status_code == 403
    assert refused.value.body["error"]["details"] == {"error_code": "max_steps"}  # type: ignore[index]
    assert [call["limit"] for call in (await closed(client))["model_calls"]] == [None, "max_steps"]


async def test_errors_have_the_form_of_the_dialect(serve: Serve, sdk: Sdk) -> None:
    from anthropic import APIStatusError

    client = await serve()
    await client.post("/control/trials", json=registration(allowed_models=[], model_name="gpt-4o"))
    url = f"/t/{TRIAL}/v1/messages"
    other = await client.post(url, json={"model": "else", "max_tokens": 5, "messages": []})
    assert (other.status_code, other.json()["error"]["type"]) == (404, "not_found_error")
    for wrong, field in (({"messages": []}, "max_tokens"), ({"max_tokens": 5}, "messages")):
        answer = await client.post(url, json={"model": "gpt-4o", **wrong})
        assert answer.status_code == 400
        assert answer.json()["type"] == "error"
        assert answer.json()["error"] == {"type": "invalid_request_error", "message": f"{field}: Field required"}
    unknown = await client.post("/t/no-such-trial/v1/messages/count_tokens", json={})
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "not_found_error")
    server_tool = {"type": "web_search_20250305", "name": "web_search"}
    with pytest.raises(APIStatusError, match="web_search_20250305"):
        await ask(sdk(client), QUESTION, stream=False, tools=[server_tool])


@pytest.mark.parametrize("fault", ["server_error", "overloaded", "rate_limit", "malformed", "empty"])
@pytest.mark.parametrize("stream", [False, True])
async def test_faults_are_put_in(serve: Serve, sdk: Sdk, fault: str, stream: bool) -> None:
    from anthropic import APIError

    client = await serve()
    plan = {"model": {"rate": 1, "faults": [fault]}}
    await client.post("/control/trials", json=registration(faults=plan, fault_key="1/0"))
    try:
        message = await ask(sdk(client), QUESTION, stream=stream)
    except (APIError, ValueError, RuntimeError, AssertionError):
        assert fault != "empty" or stream
    else:
        assert (fault, message.content) == ("empty", [])
    (call,) = WireLog.model_validate(await closed(client)).model_calls
    assert (call.dialect, call.fault) == ("messages", fault)


async def test_the_tool_runner_goes_on_without_threads(serve: Serve, sdk: Sdk) -> None:
    from anthropic import beta_async_tool

    client = await serve()
    await client.post("/control/trials", json=registration())

    @beta_async_tool(name=TOOL["name"])
    async def weather(city: str) -> str:
        """The current weather of a city.

        Args:
            city: its name.
        """
        assert city == "Oslo"
        return RESULT

    runner = sdk(client).beta.messages.tool_runner(model="gpt-4o", max_tokens=500, messages=QUESTION, tools=[weather])
    last = await runner.until_done()
    assert "48213" in last.content[0].text  # type: ignore[union-attr]
    log = WireLog.model_validate(await closed(client))
    assert [call.finish_reason for call in log.model_calls if call.status == 200] == ["tool_calls", "stop"]


async def test_what_the_vendor_refuses_is_refused_in_its_form(serve: Serve, sdk: Sdk) -> None:
    from anthropic import BadRequestError

    client = await serve()
    await client.post("/control/trials", json=registration())
    anthropic = sdk(client)
    stray: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "other", "content": "x"}]}
    with pytest.raises(BadRequestError, match="unexpected `tool_use_id`") as refused:
        await ask(anthropic, [*QUESTION, stray], stream=False)
    assert refused.value.response.json()["error"]["type"] == "invalid_request_error"
    with pytest.raises(BadRequestError, match="'other' not found"):
        await ask(anthropic, QUESTION, stream=True, tool_choice={"type": "tool", "name": "other"})
    calls = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.cause) for call in calls] == [(400, "request")] * 2
