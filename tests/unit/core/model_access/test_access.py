from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from trialbed.errors import ModelFailed
from trialbed.model_access import CompletionCache, ModelAccess, ModelBudget, read_object
from trialbed.records import ModelEndpoint
from trialbed.wire import RetryWaits

ASK = [{"role": "user", "content": "say it"}]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.wire._client.WAITS", RetryWaits(first=0.0))


class Endpoint:
    """An endpoint that gives these replies in turn, the last one for ever, and keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Callable[[], web.Response]] = [lambda: said("yes")]
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    def gives(self, *replies: Callable[[], web.Response]) -> None:
        self.replies = list(replies)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        return self.replies[min(len(self.asked), len(self.replies)) - 1]()

    def access(self, **settings: Any) -> ModelAccess:
        endpoint = ModelEndpoint(base_url=self.url, api_key="k", model="helper", seed=3)
        return ModelAccess(endpoint, **settings)


def said(text: str | None, **message: Any) -> web.Response:
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    served = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", served.answer)
    async with TestServer(app) as server:
        served.url = str(server.make_url("/v1"))
        yield served


async def asked(access: ModelAccess, **how: Any) -> str:
    try:
        return await access.ask(ASK, **how)
    finally:
        await access.close()


async def test_a_model_is_asked_and_its_use_is_counted(endpoint: Endpoint) -> None:
    access = endpoint.access()
    assert await asked(access, max_tokens=5) == "yes"
    (request,) = endpoint.asked
    assert (request["model"], request["seed"], request["temperature"], request["max_tokens"]) == ("helper", 3, 0, 5)
    assert (access.use.requests, access.use.tokens, access.use.cached) == (1, 10, 0)
    assert access.model == "helper"


async def test_a_budget_of_requests_ends_the_asking(endpoint: Endpoint) -> None:
    budget = ModelBudget(requests=1)
    await asked(endpoint.access(budget=budget))
    with pytest.raises(ModelFailed, match="budget of 1 request is used up; raise --max-helper-requests"):
        await asked(endpoint.access(budget=budget))
    assert len(endpoint.asked) == 1


async def test_equal_requests_are_asked_once(endpoint: Endpoint, tmp_path: Path) -> None:
    for number in range(2):
        cache = CompletionCache(tmp_path / "folder" / "completions.db")
        access = endpoint.access(cache=cache, origin="here")
        assert await asked(access) == "yes"
        assert await asked(access, seed=4) == "yes"
        assert access.use.cached == 2 * number
        cache.close()
    assert len(endpoint.asked) == 2
    elsewhere = CompletionCache(tmp_path / "folder" / "completions.db")
    await asked(endpoint.access(cache=elsewhere, origin="elsewhere"))
    elsewhere.close()
    assert len(endpoint.asked) == 3


async def test_a_cache_that_cannot_be_used_is_left_out(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "completions.db").write_text("this is no database, but a text that is long enough to be one" * 20)
    cache = CompletionCache(tmp_path / "completions.db")
    assert await asked(endpoint.access(cache=cache)) == "yes"
    cache.close()


async def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_not_kept(endpoint: Endpoint) -> None:
    endpoint.gives(lambda: said("no"), lambda: said("nor this"), lambda: said('{"a": 1}'))
    cache = CompletionCache(":memory:")
    access = endpoint.access(cache=cache)
    with pytest.raises(ModelFailed, match="in a row from the model cannot be read: it has no JSON object with a"):
        await access.ask_for(lambda reply: read_object(reply, "a"), ASK)
    found = await access.ask_for(lambda reply: read_object(reply, "a"), ASK)
    assert found.value == {"a": 1}
    assert len(endpoint.asked) == 3
    await access.close()
    cache.close()


async def test_what_an_endpoint_refuses_is_left_out(endpoint: Endpoint) -> None:
    endpoint.gives(
        lambda: web.Response(status=400, text="Unsupported value: 'temperature' does not support 0"),
        lambda: web.Response(status=400, text="what is json_schema?"),
        lambda: said("yes"),
    )
    access = endpoint.access()
    assert await access.ask_for(str, ASK, schema={"type": "object"}) == "yes"
    assert await access.ask_for(str, ASK, schema={"type": "object"}) == "yes"
    await access.close()
    formats = [request.get("response_format", {}).get("type") for request in endpoint.asked]
    assert formats == ["json_schema", "json_schema", "json_object", "json_object"]
    assert ["temperature" in request for request in endpoint.asked] == [True, False, False, False]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (lambda: said(None, refusal="I will not"), "the model refused: I will not"),
        (lambda: said("  "), "in a row from the model cannot be read: it is empty"),
        (lambda: web.Response(status=401, text="who?"), "status 401: who"),
        (lambda: web.Response(status=429), "status 429"),
        (lambda: web.Response(text="{}"), "no chat completion"),
    ],
)
async def test_what_is_no_reply_is_an_error(
    endpoint: Endpoint, reply: Callable[[], web.Response], message: str
) -> None:
    endpoint.gives(reply)
    with pytest.raises(ModelFailed, match=message):
        await asked(endpoint.access())


async def test_code_that_is_not_async_asks_too(endpoint: Endpoint) -> None:
    import asyncio

    access = endpoint.access(budget=ModelBudget(requests=2))
    assert await asyncio.to_thread(access.ask_blocking, ASK) == "yes"
    assert await asyncio.to_thread(access.ask_for_blocking, json.dumps, ASK) == '"yes"'
    assert access.use.requests == 2
