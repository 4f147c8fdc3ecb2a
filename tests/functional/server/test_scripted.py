"""Scripted models through the OpenAI SDK."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI
from support.servers import OFFERED, TRIAL, Serve, closed, registration

from trialbed_server import ServerOptions, create_app

QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Oslo?"}]
RESULT = '{"temperature": 48213, "sky": "sky bcdfgh"}'

Sdk = Callable[[httpx.AsyncClient], AsyncOpenAI]


@pytest.fixture
async def sdk() -> AsyncIterator[Sdk]:
    clients: list[AsyncOpenAI] = []

    def make(client: httpx.AsyncClient) -> AsyncOpenAI:
        clients.append(AsyncOpenAI(base_url=f"{client.base_url}/t/{TRIAL}/v1", api_key="dummy", max_retries=0))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


async def ask(openai: AsyncOpenAI, messages: list[Any], *, stream: bool, **more: Any) -> tuple[str, list[Any], Any]:
    """The text, the tool calls and the usage of one completion."""
    arguments = {"model": "scripted:gold", "messages": messages, "tools": OFFERED, **more}
    if not stream:
        completion = await openai.chat.completions.create(**arguments)
        message = completion.choices[0].message
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        return message.content or "", calls, completion.usage
    text, parts, usage = "", {}, None
    options = {"include_usage": True}
    async for chunk in await openai.chat.completions.create(**arguments, stream=True, stream_options=options):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or []:
                known = parts.setdefault(piece.index, ["", "", ""])
                for place, value in enumerate((piece.id, piece.function.name, piece.function.arguments)):
                    known[place] += value or ""
    return text, [tuple(part) for part in parts.values()], usage


@pytest.mark.parametrize("stream", [False, True])
async def test_gold_calls_its_tool_and_answers_with_the_evidence(serve: Serve, sdk: Sdk, stream: bool) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    openai = sdk(client)
    _, calls, first = await ask(openai, QUESTION, stream=stream, seed=7, reasoning_effort="low", extra_body={"own": 1})
    (call_id, name, arguments), = calls  # fmt: skip
    assert (name, arguments) == ("Weather_Now_Current", '{"city": "Oslo"}')
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    turn = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call_id, "content": RESULT}]
    text, calls, second = await ask(openai, [*QUESTION, *turn], stream=stream)
    assert calls == []
    assert "48213" in text
    assert "sky bcdfgh" in text
    log = (await closed(client))["model_calls"]
    assert [call["status"] for call in log] == [200, 200]
    assert [call["stream"] for call in log] == [stream] * 2
    assert [call["finish_reason"] for call in log] == ["tool_calls", "stop"]
    assert [call["usage"]["prompt_tokens"] for call in log] == [first.prompt_tokens, second.prompt_tokens]
    assert log[0]["tool_calls"] == [{"name": name, "arguments": arguments, "problem": None, "tool": ""}]
    assert all(0 <= call["first_token"] <= call["duration"] for call in log)
    assert log[0]["response_bytes"] == len(log[0]["response"].encode())
    assert log[0]["started"] < log[1]["started"]


@pytest.mark.parametrize(
    ("policy", "problem"), [("bad-json", "invalid json"), ("unknown-tool", "unknown tool"), ("wrong-args", None)]
)
async def test_what_is_wrong_with_a_call_is_recorded(serve: Serve, sdk: Sdk, policy: str, problem: str | None) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model=f"scripted:{policy}"))
    await ask(sdk(client), QUESTION, stream=True)
    (call,) = (await closed(client))["model_calls"]
    assert [sent["problem"] for sent in call["tool_calls"]] == [problem]


async def test_no_call_is_made_where_the_request_allows_none(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model="scripted:loop"))
    openai = sdk(client)
    assert (await ask(openai, QUESTION, stream=False, tool_choice="none"))[1] == []
    plain = await openai.chat.completions.create(model="any", messages=QUESTION)
    assert plain.choices[0].message.content


async def test_wrong_args_violates_the_schema_that_the_virtual_api_checks(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model="scripted:wrong-args"))
    loose = [{"type": "function", "function": {**OFFERED[0]["function"], "parameters": {"type": "object"}}}]
    _, calls, _ = await ask(sdk(client), QUESTION, stream=False, tools=loose)
    assert calls[0][2] == "{}"


async def test_models_and_other_paths(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model_name="gpt-4o"))
    assert [model.id async for model in sdk(client).models.list()] == ["gpt-4o"]
    answer = await sdk(client).chat.completions.create(model="gpt-4o", messages=QUESTION)  # type: ignore[arg-type]
    assert answer.model == "gpt-4o"
    other = await client.post(f"/t/{TRIAL}/v1/audio/speech", json={})
    assert other.status_code == 404
    assert "/v1/audio/speech is not served here" in other.json()["error"]["message"]
    bad = await client.post(f"/t/{TRIAL}/v1/chat/completions", content=b"{not json")
    assert bad.status_code == 400
    assert bad.json()["error"]["message"].startswith("the request's body is not JSON: Expecting property name")
    assert bad.json()["error"]["type"] == "invalid_request_error"
    calls = (await closed(client))["model_calls"]
    assert [(call["status"], call["cause"]) for call in calls] == [(200, None), (404, "path"), (400, "request")]


class FastClock:
    """Remembers what it was asked to wait for, and does not."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def monotonic(self) -> float:
        return time.monotonic()

    def utcnow(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


@pytest.mark.parametrize("policy", ["slow", "gold"])
async def test_slow_takes_its_time_and_gold_does_not(tmp_path: Any, policy: str) -> None:
    clock = FastClock()
    app = create_app(ServerOptions(cache=str(tmp_path / "r.db")), clock=clock)
    transport = httpx.ASGITransport(app)
    async with (
        app.routed.router.lifespan_context(app.routed),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        await client.post("/control/trials", json=registration(model=f"scripted:{policy}"))
        body = {"messages": QUESTION, "tools": OFFERED, "stream": True}
        assert (await client.post(f"/t/{TRIAL}/v1/chat/completions", json=body)).text.endswith("data: [DONE]\n\n")
    waits = [0.5, 0.02] if policy == "slow" else [0]  # before the first chunk, and between chunks
    assert sorted(set(clock.waited), reverse=True) == waits


async def test_a_tool_under_another_name_is_called_by_that_and_known_all_the_same(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    unit = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    strict = {"type": "object", "properties": {"city": {"type": "string"}, "unit": unit}, "required": ["city", "unit"]}
    tools = [{"type": "function", "function": {"name": "weather_now_current", "strict": True, "parameters": strict}}]
    _, calls, _ = await ask(sdk(client), QUESTION, stream=False, tools=tools)
    assert calls[0][1:] == ("weather_now_current", '{"city": "Oslo", "unit": null}')
    log = await closed(client)
    assert (log["model_calls"][0]["tool_calls"][0]["tool"], log["lost"]) == ("Weather_Now_Current", [])


async def test_a_loss_is_recorded_once_and_not_at_all_where_the_call_was_made_after_all(serve: Serve, sdk: Sdk) -> None:
    client = await serve()
    for offers, expected in (([[], []], ["no tools"]), ([[], OFFERED], [])):
        await client.post("/control/trials", json=registration(trial=f"{TRIAL}-{len(expected)}"))
        openai = AsyncOpenAI(base_url=f"{client.base_url}/t/{TRIAL}-{len(expected)}/v1", api_key="dummy")
        async with openai:
            for tools in offers:
                await ask(openai, QUESTION, stream=False, tools=tools)
        reply = await client.delete(f"/control/trials/{TRIAL}-{len(expected)}")
        assert [lost["reason"] for lost in reply.json()["lost"]] == expected
