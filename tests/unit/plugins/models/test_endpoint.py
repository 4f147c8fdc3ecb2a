"""Models at an endpoint: what is listed, refused and said before the first trial."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from support.cases import for_each

from trialbed.contracts import ModelInfo, OpenedModel
from trialbed.errors import UsageError
from trialbed.models import find_model
from trialbed.settings import RunSettings

CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
AS_TEXT = '```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```'


@dataclass
class Endpoint:
    """An endpoint with these models, whose answers are this message."""

    message: dict[str, Any]
    models: Any = ("small", "large")
    known: frozenset[str] = frozenset({"small", "large"})
    asked: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    async def list(self, request: web.Request) -> web.Response:
        if isinstance(self.models, tuple):
            return web.json_response({"data": [{"id": name} for name in self.models]})
        return web.Response(text=str(self.models), status=404 if self.models == "" else 200)

    async def answer(self, request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        self.asked.append(asked)
        if asked["model"] not in self.known:
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        message = {"role": "assistant", **self.message}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def notes(self, model: str, **settings: Any) -> tuple[str, ...]:
        """Open a model here; the notes that it is opened with."""
        app = web.Application()
        app.router.add_get("/v1/models", self.list)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            async with find_model(model).open(RunSettings(base_url=self.url, **settings)) as opened:
                assert (opened.model, opened.base_url) == (model, self.url)
                return opened.notes
        finally:
            await runner.cleanup()


async def test_a_model_whose_call_is_parsed_is_asked_once_and_nothing_is_said() -> None:
    endpoint = Endpoint({"content": None, "tool_calls": [CALL]})
    assert await endpoint.notes("small") == ()
    assert len(endpoint.asked) == 1
    assert endpoint.asked[0]["tools"][0]["function"]["name"] == "get_weather"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (AS_TEXT, "the template of 'small' parses 0 of 3 calls: 3 came as text"),
        ("It rains.", "'small' called no tool in 3 requests that asked for one: it answered in words"),
    ],
)
async def test_a_model_without_a_call_that_was_parsed_is_reported(said: str, told: str) -> None:
    endpoint = Endpoint({"content": said})
    (note,) = await endpoint.notes("small")
    assert note.startswith(told)
    assert len(endpoint.asked) == 3


async def test_a_name_that_is_neither_listed_nor_answered_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"the endpoint has no model 'smal'; did you mean 'small'\? It lists large, small"
    ):
        await Endpoint({"content": "x"}).notes("smal")


def described(model: str, **settings: Any) -> ModelInfo:
    return find_model(model).describe(RunSettings(**settings))


def test_a_model_that_names_its_endpoint_needs_no_other() -> None:
    found = described("small@http://127.0.0.1:8000/v1")
    assert (found.at_endpoint, found.told_name, found.costs) == (False, "small", False)
    assert described("small@https://api.example/v1").costs is None


@for_each(
    ("model", "message"),
    [
        ("small@https://me:secret@h/v1", "with a password, a query or a fragment, which would be stored"),
        ("small@https://h/v1?key=secret", "with a password, a query or a fragment, which would be stored"),
        ("small@https:///v1", r"does not end in an http\(s\) URL"),
        ("small@http://h:x/v1", r"does not end in an http\(s\) URL"),
    ],
)
def test_an_endpoint_that_cannot_be_named_is_refused(model: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        described(model)
    assert "with a password" not in message or "secret" not in str(error.value)


@for_each(
    ("model", "settings", "key"),
    [
        ("m@https://api.openai.com/v1", {}, "openai"),
        ("m@https://other.example/v1", {}, None),
        ("m@https://other.example/v1", {"endpoint_key_env": ("other.example=OTHER_KEY",)}, "other"),
        ("m@http://h:1/v1", {"endpoint_key_env": ("h=OTHER_KEY", "h:1=OPENAI_API_KEY")}, "openai"),
        ("m@http://h:1/v1", {"endpoint_key_env": ("h:2=OTHER_KEY",)}, None),
        ("m@http://h:1/v1", {"base_url": "http://h:1/v1", "api_key_env": "OTHER_KEY"}, "other"),
        ("m", {"base_url": "http://h:1/v1"}, "openai"),
    ],
)
def test_a_key_goes_to_the_host_that_it_is_for(model: str, settings: dict[str, Any], key: str | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "openai")
        patch.setenv("OTHER_KEY", "other")
        opened = asyncio.run(opened_as(model, **settings))
        assert (opened.model, opened.api_key) == ("m", key)


async def opened_as(model: str, **settings: Any) -> OpenedModel:
    async with find_model(model).open(RunSettings(probe=0, **settings)) as opened:
        return opened
