"""Apis that a model simulates."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.response_caches import cached
from support.servers import TRIAL, Serve, closed, listening, registration, virtual

from trialbed.errors import UsageError
from trialbed_server.response_store import Entry, Origin, ResponseStore
from trialbed_server.standard_names import canonical_json, request_key, requested_name

NAME = requested_name("Weather", "Weather Now", "Current")


class Model:
    """A model that says what it is told to say; the last of it again and again."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.says = ['{"error": "", "response": {"temperature": 21}}']
        self.app = Starlette(routes=[Route("/v1/chat/completions", self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> Response:
        self.requests.append(await request.json())
        content = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return JSONResponse({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    found = Model()
    async with listening(found.app) as url:
        found.url = f"{url}/v1"
        yield found


def options(model: Model, simulator: str = "llm") -> dict[str, Any]:
    return {"simulator": simulator, "simulator_model": "m1", "simulator_upstream": model.url}


def remember(folder: Path, tool_input: dict[str, Any], response: Any, provenance: str = "imported") -> None:
    body = json.dumps({"error": "", "response": response})
    store = ResponseStore(str(folder / "responses.db"))
    text, key = canonical_json(tool_input), request_key(NAME, tool_input)
    store.add([Entry(key, NAME, text, body, Origin(provenance))])
    store.close()


async def test_a_model_answers_once_by_documentation_and_examples(serve: Serve, model: Model, tmp_path: Path) -> None:
    for number in range(7):
        remember(tmp_path, {"city": f"Place {number}"}, {"temperature": number})
    remember(tmp_path, {"city": "Elsewhere"}, "of another simulator", "template")
    client = await serve(**options(model))
    await client.post("/control/trials", json=registration(simulator="llm"))
    replies = [(await client.post(f"/t/{TRIAL}/virtual", json=virtual())).json() for _ in range(2)]
    assert replies == [{"error": "", "response": {"temperature": 21}}] * 2
    assert [call["provenance"] for call in (await closed(client))["api_calls"]] == ["llm:m1", "cache:llm:m1"]
    (asked,) = model.requests
    task = asked["messages"][1]["content"]
    assert (task.count('"input"'), "another simulator" in task) == (5, False)
    assert '"api_description": "The current weather of a city"' in task
    assert task.endswith('Input:\n{"city":"Oslo"}')
    (kept,) = (entry for entry in cached(tmp_path) if entry.key == request_key(NAME, {"city": "Oslo"}))
    assert kept.provenance == "llm:m1"
    assert json.loads(kept.settings)["model"] == "m1"


async def test_a_model_that_cannot_be_asked_is_not_the_agents_fault(serve: Serve, model: Model) -> None:
    model.says = ["Sorry."]
    client = await serve(**options(model), max_helper_requests=2)
    for city, message in (("Oslo", None), ("Rome", "LlmSimulator: the budget of 2 requests")):
        await client.post("/control/trials", json=registration(trial=f"{TRIAL}-{city}", simulator="llm"))
        reply = await client.post(f"/t/{TRIAL}-{city}/virtual", json=virtual({"city": city}))
        assert reply.json()["error"] != ""
        failure = (await closed(client, f"{TRIAL}-{city}"))["failure"]
        assert (failure is None) if message is None else (message in failure["message"])


async def test_the_model_decides_on_arguments_that_are_not_documented(serve: Serve, model: Model) -> None:
    client = await serve(**options(model))
    await client.post("/control/trials", json=registration(simulator="llm"))
    reply = await client.post(f"/t/{TRIAL}/virtual", json=virtual({"query": "Oslo"}))
    assert reply.json() == {"error": "", "response": {"temperature": 21}}
    task = model.requests[-1]["messages"][1]["content"]
    assert "The input does not fit the documentation:\n'city' is a required property\n\nInput:\n" in task


async def test_mirrorapi_is_asked_in_its_style_and_may_break_off(serve: Serve, model: Model) -> None:
    model.says = ['{"error": "", "response": "It is warm and']
    client = await serve(**options(model, "mirrorapi"))
    await client.post("/control/trials", json=registration(simulator="mirrorapi"))
    assert (await client.post(f"/t/{TRIAL}/virtual", json=virtual())).json()["response"] == "It is warm and"
    (asked,) = model.requests
    assert (asked["temperature"], asked["seed"], asked["max_tokens"]) == (0.1, 42, 2048)
    user = asked["messages"][1]["content"]
    assert user.startswith("API doc:\n{'api_name': 'Current'")
    assert user.endswith("\n\nRequest:\n{'city': 'Oslo'}")


async def test_a_model_is_asked_with_the_system_prompt_of_a_file(serve: Serve, model: Model, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Act.\n")
    for number, simulator in enumerate(("mirrorapi", "llm"), 1):
        client = await serve(**options(model, simulator), simulator_prompt=tmp_path / "prompt.txt")
        await client.post("/virtual", json=virtual())
        assert model.requests[-1]["messages"][0] == {"role": "system", "content": "Act."}
        own = await serve(**options(model, simulator))
        await own.post("/virtual", json=virtual())
        assert len(model.requests) == 2 * number, "answers of other prompts are other answers"


@pytest.mark.parametrize("content", [None, "\n"])
async def test_a_prompt_that_is_not_there_is_named_at_the_start(
    serve: Serve, model: Model, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "prompt.txt").write_text(content)
    with pytest.raises(UsageError, match="--simulator-prompt "):
        await serve(**options(model, "mirrorapi"), simulator_prompt=tmp_path / "prompt.txt")


async def test_a_simulator_without_its_model_is_refused_at_the_start(serve: Serve) -> None:
    with pytest.raises(UsageError, match="--simulator-model MODEL"):
        await serve(simulator="llm")
    client = await serve()
    refused = await client.post("/control/trials", json=registration(simulator="llm"))
    assert (refused.status_code, "--simulator-model" in refused.json()["error"]) == (400, True)
