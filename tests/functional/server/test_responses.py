"""Scripted models through the Responses of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from openai import APIError, APIStatusError, AsyncOpenAI, BadRequestError
from support.servers import SCHEMA, TOOL, TRIAL, Serve, closed, registration

from trialbed.records import WireLog
from trialbed.wire import recorded_answer, recorded_request

QUESTION = "What is the weather in Oslo?"
RESULT = '{"temperature": 48213, "sky": "sky bcdfgh"}'
OFFERED: list[Any] = [
    {"type": "function", "name": TOOL["name"], "description": "d", "parameters": SCHEMA, "strict": False}
]

Sdk = Callable[[httpx.AsyncClient], AsyncOpenAI]


@pytest.fixture
async def sdk() -> AsyncIterator[Sdk]:
    clients: list[AsyncOpenAI] = []

    def make(client: httpx.AsyncClient) -> AsyncOpenAI:
        url = f"{client.base_url}/t/{TRIAL}/v1"
        clients.append(AsyncOpenAI(base_url=url, api_key="dummy", max_retries=0))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


async def ask(openai: AsyncOpenAI, items: Any, *, stream: bool, **more: Any) -> Any:
    """The response that the model gives."""
    arguments = {"model": "gpt-4o", "input": items, "tools": OFFERED, **more}
    if not stream:
        return await openai.responses.create(**arguments)
    async with openai.responses.stream(**arguments) as events:
        return await events.get_final_response()


def output(call: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}


@pytest.mark.parametrize("stream", [False, True])
async def test_gold_calls_its_tool_and_answers_with_the_evidence(serve: Serve, sdk: Sdk, stream: bool) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    openai = sdk(client)
    first = await ask(openai, QUESTION, stream=stream, instructions="Be brief.", temperature=0)
    (call,) = first.output
    assert (call.type, call.name, call.arguments) == ("function_call", TOOL["name"], '{"city": "Oslo"}')
    assert (first.status, first.instructions, first.temperature) == ("completed", "Be brief.", 0)
    history = [{"role": "user", "content": QUESTION}, *first.output, output(call)]
    second = await ask(openai, history, stream=stream, instructions="Be brief.")
    assert "48213" in second.output_text
    assert "sky bcdfgh" in second.output_text
    assert first.id != second.id
    log = WireLog.model_validate(await closed(client))
    assert [call.status for call in log.model_calls] == [200, 200]
    assert {call.dialect for call in log.model_calls} == {"responses"}
    assert [call.finish_reason for call in log.model_calls] == ["tool_calls", "stop"]
    assert [call.usage and call.usage.prompt_tokens for call in log.model_calls] == [
        first.usage.input_tokens,
        second.usage.input_tokens,
    ]
    assert [(call.name, call.arguments, call.problem) for call in log.model_calls[0].tool_calls] == [
        (TOOL["name"], '{"city": "Oslo"}', None)
    ]
    asked = recorded_request(log.model_calls[1])
    assert asked is not None
    assert [message.role for message in asked.messages] == ["system", "user", "assistant", "tool"]
    assert recorded_answer(log.model_calls[1]).answer.text == second.output_text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_goes_on_after_a_response_that_is_named(serve: Serve, sdk: Sdk, stream: bool) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    openai = sdk(client)
    first = await ask(openai, QUESTION, stream=stream)
    second = await ask(openai, [output(first.output[0])], stream=stream, previous_response_id=first.id)
    assert "48213" in second.output_text
    assert second.previous_response_id == first.id
    with pytest.raises(BadRequestError) as unknown:
        await ask(openai, QUESTION, stream=stream, previous_response_id="resp_other")
    assert unknown.value.code == "previous_response_not_found"
    log = WireLog.model_validate(await closed(client))
    assert [call.status for call in log.model_calls] == [200, 200, 400]


async def test_a_response_that_shall_not_be_kept_is_not(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    openai = sdk(client)
    first = await ask(openai, QUESTION, stream=False, store=False)
    with pytest.raises(BadRequestError, match="not found"):
        await ask(openai, QUESTION, stream=False, previous_response_id=first.id)


async def test_choices_of_tools_are_obeyed(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model="scripted:none"))
    openai = sdk(client)
    parameters = {"type": "object", "properties": {"answer": {"type": "string"}}}
    tools = [*OFFERED, {"type": "function", "name": "finish", "parameters": parameters, "strict": False}]
    free = await ask(openai, QUESTION, stream=False)
    assert free.output_text
    forced = await ask(openai, QUESTION, stream=False, tools=tools, tool_choice="required")
    assert forced.output[0].name == "finish"
    choice = {"type": "function", "name": TOOL["name"]}
    named = await ask(openai, QUESTION, stream=False, tools=tools, tool_choice=choice)
    assert (named.output[0].name, named.tool_choice.name) == (TOOL["name"], TOOL["name"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tools": [{"type": "web_search"}]}, "'web_search' is not supported"),
        ({"background": True}, "'background'"),
        ({"conversation": "conv_1"}, "'conversation'"),
    ],
)
async def test_what_only_the_vendor_has_is_refused(serve: Serve, sdk: Sdk, asked: Any, words: str) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    with pytest.raises(BadRequestError, match=words):
        await ask(sdk(client), QUESTION, stream=False, **asked)


async def test_a_trial_past_its_limit_is_refused(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(limits={"max_steps": 1, "timeout": 60}))
    openai = sdk(client)
    await ask(openai, QUESTION, stream=True)
    with pytest.raises(APIStatusError) as refused:
        await ask(openai, QUESTION, stream=True)
    assert (refused.value.status_code, refused.value.code) == (403, "max_steps")


@pytest.mark.parametrize("fault", ["server_error", "overloaded", "rate_limit", "malformed"])
@pytest.mark.parametrize("stream", [False, True])
async def test_faults_are_put_in(serve: Serve, sdk: Sdk, fault: str, stream: bool) -> None:
    client = await serve()
    plan = {"model": {"rate": 1, "faults": [fault]}}
    await client.post("/control/trials", json=registration(faults=plan, fault_key="1/0"))
    with pytest.raises((APIError, ValueError, RuntimeError)):
        await ask(sdk(client), QUESTION, stream=stream)
    (call,) = WireLog.model_validate(await closed(client)).model_calls
    assert (call.dialect, call.fault) == ("responses", fault)
