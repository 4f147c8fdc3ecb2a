"""Scripted models through the SDKs of OpenAI and Anthropic, in each dialect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from openai import AsyncOpenAI, BadRequestError
from support.servers import OFFERED, SCHEMA, TOOL, TRIAL, Serve, closed, registration

from trialbed.records import WireLog
from trialbed.wire import recorded_answer, recorded_request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

QUESTION = "What is the weather in Oslo?"
ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
RESULT = '{"temperature": 48213, "sky": "sky bcdfgh"}'
FLAT: Any = {"type": "function", "name": TOOL["name"], "description": "d", "parameters": SCHEMA, "strict": False}
USED: list[Any] = [{"name": TOOL["name"], "description": "d", "input_schema": SCHEMA}]

OpenAi = Callable[[httpx.AsyncClient], AsyncOpenAI]
Anthropic = Callable[[httpx.AsyncClient], "AsyncAnthropic"]


@pytest.fixture
async def openai() -> AsyncIterator[OpenAi]:
    async with AsyncExitStack() as stack:

        def make(client: httpx.AsyncClient) -> AsyncOpenAI:
            found = AsyncOpenAI(base_url=f"{client.base_url}/t/{TRIAL}/v1", api_key="dummy", max_retries=0)
            stack.push_async_callback(found.close)
            return found

        yield make


@pytest.fixture
async def anthropic() -> AsyncIterator[Anthropic]:
    # To import it takes seconds: only who runs these tests does.
    from anthropic import AsyncAnthropic

    async with AsyncExitStack() as stack:

        def make(client: httpx.AsyncClient) -> AsyncAnthropic:
            found = AsyncAnthropic(base_url=f"{client.base_url}/t/{TRIAL}", api_key="dummy", max_retries=0)
            stack.push_async_callback(found.close)
            return found

        yield make


async def opened(serve: Serve, **fields: Any) -> httpx.AsyncClient:
    client = await serve()
    assert (await client.post("/control/trials", json=registration(**fields))).status_code == 201
    return client


async def complete(sdk: AsyncOpenAI, messages: list[Any], *, stream: bool, **more: Any) -> tuple[str, list[Any], Any]:
    """The text, the tool calls and the usage of one completion."""
    arguments = {"model": "scripted:gold", "messages": messages, "tools": OFFERED, **more}
    if not stream:
        completion = await sdk.chat.completions.create(**arguments)
        message = completion.choices[0].message
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        return message.content or "", calls, completion.usage
    text, parts, usage = "", {}, None
    options = {"include_usage": True}
    async for chunk in await sdk.chat.completions.create(**arguments, stream=True, stream_options=options):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or []:
                known = parts.setdefault(piece.index, ["", "", ""])
                for place, value in enumerate((piece.id, piece.function.name, piece.function.arguments)):
                    known[place] += value or ""
    return text, [tuple(part) for part in parts.values()], usage


async def respond(sdk: AsyncOpenAI, items: Any, *, stream: bool = False, **more: Any) -> Any:
    """The response that the model gives."""
    arguments = {"model": "gpt-4o", "input": items, "tools": [FLAT], **more}
    if not stream:
        return await sdk.responses.create(**arguments)
    async with sdk.responses.stream(**arguments) as events:
        return await events.get_final_response()


async def write(sdk: AsyncAnthropic, messages: list[Any], *, stream: bool = False, **more: Any) -> Any:
    """The message that the model sends."""
    arguments = {"model": "gpt-4o", "max_tokens": 500, "messages": messages, "tools": USED, **more}
    if not stream:
        return await sdk.messages.create(**arguments)
    async with sdk.messages.stream(**arguments) as events:
        return await events.get_final_message()


async def check_log(client: httpx.AsyncClient, dialect: str, roles: list[str], text: str, prompts: list[int]) -> None:
    """Check what is recorded of a call and of the answer that has its evidence."""
    assert "48213" in text
    assert "sky bcdfgh" in text
    first, second = WireLog.model_validate(await closed(client)).model_calls
    assert [(call.status, call.dialect) for call in (first, second)] == [(200, dialect)] * 2
    assert (first.finish_reason, second.finish_reason) == ("tool_calls", "stop")
    assert [call.usage and call.usage.prompt_tokens for call in (first, second)] == prompts
    (sent,) = first.tool_calls
    assert (sent.name, json.loads(sent.arguments), sent.problem) == (TOOL["name"], {"city": "Oslo"}, None)
    assert 0 <= (first.first_token or 0.0) <= first.duration
    assert first.response_bytes == len(first.response.encode())
    asked = recorded_request(second)
    assert asked is not None
    assert [message.role for message in asked.messages] == roles
    assert recorded_answer(second).answer.text == text


@pytest.mark.parametrize("stream", [False, True])
async def test_gold_calls_its_tool_and_answers_in_chat_completions(serve: Serve, openai: OpenAi, stream: bool) -> None:
    client = await opened(serve)
    sdk, more = openai(client), {"seed": 7, "reasoning_effort": "low", "extra_body": {"own": 1}}
    _, ((call_id, name, arguments),), first = await complete(sdk, ASKED, stream=stream, **more)
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    turn = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call_id, "content": RESULT}]
    text, calls, second = await complete(sdk, [*ASKED, *turn], stream=stream)
    assert calls == []
    await check_log(client, "", ["user", "assistant", "tool"], text, [first.prompt_tokens, second.prompt_tokens])


@pytest.mark.parametrize("stream", [False, True])
async def test_gold_calls_its_tool_and_answers_in_responses(serve: Serve, openai: OpenAi, stream: bool) -> None:
    client = await opened(serve)
    sdk = openai(client)
    first = await respond(sdk, QUESTION, stream=stream, instructions="Be brief.", temperature=0)
    assert (first.status, first.instructions, first.temperature) == ("completed", "Be brief.", 0)
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": RESULT}
    second = await respond(sdk, [*ASKED, *first.output, output], stream=stream, instructions="Be brief.")
    assert first.id != second.id
    prompts = [first.usage.input_tokens, second.usage.input_tokens]
    await check_log(client, "responses", ["system", "user", "assistant", "tool"], second.output_text, prompts)


@pytest.mark.parametrize("stream", [False, True])
async def test_gold_calls_its_tool_and_answers_in_messages(serve: Serve, anthropic: Anthropic, stream: bool) -> None:
    client = await opened(serve)
    sdk = anthropic(client)
    first = await write(sdk, ASKED, stream=stream, system="Be brief.")
    (use,) = first.content
    assert (use.type, use.input, first.stop_reason) == ("tool_use", {"city": "Oslo"}, "tool_use")
    result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": RESULT}]}
    turn: list[Any] = [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = await write(sdk, [*ASKED, *turn], stream=stream, system=[{"type": "text", "text": "Be brief."}])
    assert (second.stop_reason, first.id != second.id) == ("end_turn", True)
    prompts = [first.usage.input_tokens, second.usage.input_tokens]
    await check_log(client, "messages", ["system", "user", "assistant", "tool"], second.content[0].text, prompts)


@pytest.mark.parametrize(
    ("policy", "problem"), [("bad-json", "invalid json"), ("unknown-tool", "unknown tool"), ("wrong-args", None)]
)
async def test_what_is_wrong_with_a_call_is_recorded(
    serve: Serve, openai: OpenAi, policy: str, problem: str | None
) -> None:
    client = await opened(serve, model=f"scripted:{policy}")
    await complete(openai(client), ASKED, stream=True)
    (call,) = (await closed(client))["model_calls"]
    assert [sent["problem"] for sent in call["tool_calls"]] == [problem]


async def test_models_and_other_paths(serve: Serve, openai: OpenAi) -> None:
    client = await opened(serve, model_name="gpt-4o")
    assert [model.id async for model in openai(client).models.list()] == ["gpt-4o"]
    assert (await openai(client).chat.completions.create(model="gpt-4o", messages=ASKED)).model == "gpt-4o"
    other = await client.post(f"/t/{TRIAL}/v1/audio/speech", json={})
    assert (other.status_code, "/v1/audio/speech is not served here" in other.text) == (404, True)
    bad = await client.post(f"/t/{TRIAL}/v1/chat/completions", content=b"{not json")
    assert (bad.status_code, bad.json()["error"]["type"]) == (400, "invalid_request_error")
    assert bad.json()["error"]["message"].startswith("the request's body is not JSON: Expecting property name")
    calls = (await closed(client))["model_calls"]
    assert [(call["status"], call["cause"]) for call in calls] == [(200, None), (404, "path"), (400, "request")]


async def test_a_tool_under_another_name_is_called_by_that_and_known_all_the_same(serve: Serve, openai: OpenAi) -> None:
    client = await opened(serve)
    unit = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    strict = {"type": "object", "properties": {"city": {"type": "string"}, "unit": unit}, "required": ["city", "unit"]}
    tools = [{"type": "function", "function": {"name": "weather_now_current", "strict": True, "parameters": strict}}]
    _, calls, _ = await complete(openai(client), ASKED, stream=False, tools=tools)
    assert calls[0][1:] == ("weather_now_current", '{"city": "Oslo", "unit": null}')
    log = await closed(client)
    assert (log["model_calls"][0]["tool_calls"][0]["tool"], log["lost"]) == ("Weather_Now_Current", [])


@pytest.mark.parametrize(("offers", "reasons"), [(([], []), ["no tools"]), (([], OFFERED), [])])
async def test_a_loss_is_recorded_once_and_not_at_all_where_the_call_was_made_after_all(
    serve: Serve, openai: OpenAi, offers: Any, reasons: list[str]
) -> None:
    client = await opened(serve)
    for tools in offers:
        await complete(openai(client), ASKED, stream=False, tools=tools)
    assert [lost["reason"] for lost in (await closed(client))["lost"]] == reasons


async def test_a_conversation_goes_on_after_a_response_that_is_named_and_kept(serve: Serve, openai: OpenAi) -> None:
    client = await opened(serve)
    sdk = openai(client)
    first = await respond(sdk, QUESTION, stream=True)
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": RESULT}
    second = await respond(sdk, [output], stream=True, previous_response_id=first.id)
    assert ("48213" in second.output_text, second.previous_response_id) == (True, first.id)
    unkept = await respond(sdk, QUESTION, store=False)
    for identity in ("resp_other", unkept.id):
        with pytest.raises(BadRequestError) as unknown:
            await respond(sdk, QUESTION, previous_response_id=identity)
        assert unknown.value.code == "previous_response_not_found"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tools": [{"type": "web_search"}]}, "'web_search' is not supported"),
        ({"background": True}, "'background'"),
        ({"conversation": "conv_1"}, "'conversation'"),
    ],
)
async def test_what_only_the_vendor_has_is_refused(serve: Serve, openai: OpenAi, asked: Any, words: str) -> None:
    with pytest.raises(BadRequestError, match=words):
        await respond(openai(await opened(serve)), QUESTION, **asked)


async def test_tokens_of_messages_are_counted_for_the_trials_model_only_and_in_no_step_of_it(
    serve: Serve, anthropic: Anthropic
) -> None:
    limits = {"max_steps": 1, "timeout": 60}
    client = await opened(serve, model_name="gpt-4o", allowed_models=[], limits=limits)
    sdk, url = anthropic(client), f"/t/{TRIAL}/v1/messages"
    foreign = await client.post(f"{url}/count_tokens", json={"model": "strong", "messages": ASKED})
    assert (foreign.status_code, "this trial's model is 'gpt-4o'" in foreign.text) == (404, True)
    counted = await sdk.messages.count_tokens(model="gpt-4o", messages=ASKED, tools=USED)
    assert counted.input_tokens == (await write(sdk, ASKED)).usage.input_tokens
    refused = await client.post(url, json={"model": "gpt-4o", "max_tokens": 5, "messages": ASKED})
    error = refused.json()["error"]
    assert (refused.status_code, error["details"]) == (403, {"error_code": "max_steps"})
    assert [call["limit"] for call in (await closed(client))["model_calls"]] == [None, "max_steps"]


async def test_errors_have_the_form_of_messages(serve: Serve, anthropic: Anthropic) -> None:
    client = await opened(serve, allowed_models=[], model_name="gpt-4o")
    url = f"/t/{TRIAL}/v1/messages"
    other = await client.post(url, json={"model": "else", "max_tokens": 5, "messages": []})
    assert (other.status_code, other.json()["error"]["type"]) == (404, "not_found_error")
    for wrong, field in (({"messages": []}, "max_tokens"), ({"max_tokens": 5}, "messages")):
        answer = await client.post(url, json={"model": "gpt-4o", **wrong})
        assert (answer.status_code, answer.json()["type"]) == (400, "error")
        assert answer.json()["error"] == {"type": "invalid_request_error", "message": f"{field}: Field required"}
    unknown = await client.post("/t/no-such-trial/v1/messages/count_tokens", json={})
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "not_found_error")
    stray: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "other", "content": "x"}]}
    refused: list[tuple[list[Any], dict[str, Any], str]] = [
        (ASKED, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
        ([*ASKED, stray], {}, "unexpected `tool_use_id`"),
        (ASKED, {"tool_choice": {"type": "tool", "name": "other"}, "stream": True}, "'other' not found"),
    ]
    for messages, more, words in refused:
        answer = await client.post(url, json={"model": "gpt-4o", "max_tokens": 5, "messages": messages, **more})
        assert (answer.status_code, words in answer.json()["error"]["message"]) == (400, True), answer.text
