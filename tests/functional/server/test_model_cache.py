"""Trials whose model's answers are kept: equal requests share one, whoever sends them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.servers import Serve, closed, listening, registration, until

MODEL = "noisy"


class NoisyModel:
    """An endpoint that never gives one answer twice; each waits for the gate."""

    def __init__(self) -> None:
        self.asked = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.bodies: list[bytes] = []
        self.refuses = 0
        self.known: set[str] = set()
        self.inputs: list[Any] = []
        chat = Route("/v1/chat/completions", self.chat, methods=["POST"])
        self.app = Starlette(routes=[chat, Route("/v1/responses", self.respond, methods=["POST"])])

    async def chat(self, request: Request) -> Response:
        document = await request.json()
        self.asked += 1
        number = self.asked
        await self.gate.wait()
        if self.refuses:
            self.refuses -= 1
            return JSONResponse({"error": {"message": "no"}}, 400)
        if self.bodies:
            return Response(self.bodies.pop(0), media_type="text/event-stream")
        message = {"role": "assistant", "content": f"answer {number}"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if document.get("stream"):
            chunk = {"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}], "usage": usage}
            return Response(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", media_type="text/event-stream")
        return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})

    async def respond(self, request: Request) -> Response:
        """Answer as one that keeps its responses."""
        document = await request.json()
        follows = document.get("previous_response_id")
        if follows is not None and follows not in self.known:
            return JSONResponse({"error": {"message": f"Previous response with id '{follows}' not found."}}, 400)
        self.asked += 1
        self.inputs.append(document["input"])
        self.known.add(name := f"resp_{self.asked}")
        part = {"type": "output_text", "text": f"answer {self.asked}", "annotations": []}
        message = {"type": "message", "id": f"msg_{self.asked}", "role": "assistant", "content": [part]}
        return JSONResponse({"id": name, "object": "response", "status": "completed", "output": [message]})


@pytest.fixture
async def model() -> NoisyModel:
    return NoisyModel()


@pytest.fixture
async def client(serve: Serve, model: NoisyModel, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with listening(model.app) as url:
        yield await serve(upstream=f"{url}/v1", model_cache=str(tmp_path / "answers.db"), model_retries=0)


async def opened(client: httpx.AsyncClient, trial: str, **fields: Any) -> str:
    given = {"trial": trial, "model": MODEL, "allowed_models": [], "cached_as": "noisy 1", "seed": 7, **fields}
    reply = await client.post("/control/trials", json=registration(**given))
    assert reply.status_code == 201, reply.text
    return trial


async def ask(client: httpx.AsyncClient, trial: str, text: str = "hello", **fields: Any) -> httpx.Response:
    document = {"model": MODEL, "messages": [{"role": "user", "content": text}], **fields}
    return await client.post(f"/t/{trial}/v1/chat/completions", json=document)


def text_of(reply: httpx.Response) -> str:
    return str(reply.json()["choices"][0]["message"]["content"])


async def test_equal_requests_of_two_frameworks_get_one_answer_also_while_it_is_under_way(
    client: httpx.AsyncClient, model: NoisyModel
) -> None:
    first, second = await opened(client, "framework-one"), await opened(client, "framework-two")
    model.gate.clear()
    texts = [f"question {number}" for number in range(5)]
    asked = [
        asyncio.create_task(ask(client, trial, text, user=trial)) for text in texts for trial in (first, second, first)
    ]
    await until(lambda: model.asked == 10)
    model.gate.set()
    said = [text_of(reply) for reply in await asyncio.gather(*asked)]
    logs = [await closed(client, trial) for trial in (first, second)]
    assert model.asked == 10
    for place in range(5):
        own = said[3 * place : 3 * place + 3]
        assert len(set(own)) == 2, "the trial that asks twice has two answers, and the other shares one of them"
    recorded = [call["recorded"] is not None for log in logs for call in log["model_calls"]]
    assert recorded.count(True) == 5


async def test_a_second_run_asks_nothing_and_its_times_are_the_recorded_ones(
    client: httpx.AsyncClient, model: NoisyModel
) -> None:
    said = []
    for trial in ("run-number-one", "run-number-two"):
        await opened(client, trial)
        said.append([text_of(await ask(client, trial)) for _ in range(3)])
    first, second = [await closed(client, trial) for trial in ("run-number-one", "run-number-two")]
    assert model.asked == 3
    assert said[0] == said[1] == ["answer 1", "answer 2", "answer 3"]
    assert [call["recorded"] for call in first["model_calls"]] == [None] * 3
    for asked, given in zip(first["model_calls"], second["model_calls"], strict=True):
        assert given["recorded"] == pytest.approx(asked["duration"] - asked["waited"])
        assert given["usage"] == asked["usage"]


@pytest.mark.parametrize("stream", [False, True])
async def test_streams_and_whole_answers_serve_each_other(
    client: httpx.AsyncClient, model: NoisyModel, stream: bool
) -> None:
    for trial in ("trial-number-one", "trial-number-two"):
        await opened(client, trial)
    replies = [
        await ask(client, trial, stream=way, stream_options={"include_usage": True})
        for trial, way in (("trial-number-one", stream), ("trial-number-two", not stream))
    ]
    assert model.asked == 1
    for reply in replies:
        assert "answer 1" in reply.text
        assert '"total_tokens": 15' in reply.text or '"total_tokens":15' in reply.text


async def test_a_request_that_failed_is_asked_again_and_another_trial_does_not_wait_for_ever(
    client: httpx.AsyncClient, model: NoisyModel
) -> None:
    for trial in ("trial-number-one", "trial-number-two", "trial-number-three"):
        await opened(client, trial)
    model.gate.clear()
    model.refuses = 1
    first = asyncio.create_task(ask(client, "trial-number-one"))
    await until(lambda: model.asked == 1)
    others = [asyncio.create_task(ask(client, f"trial-number-{name}")) for name in ("two", "three")]
    model.gate.set()
    assert (await first).status_code == 400
    said = {text_of(await other) for other in others} | {text_of(await ask(client, "trial-number-one"))}
    assert len(said) == 1
    assert model.asked == 3, "the one that failed, a plain request of the gateway's own after it, and the one answer"


async def test_a_framework_that_waits_for_the_answer_to_another_is_not_to_blame_when_it_leaves(
    client: httpx.AsyncClient, model: NoisyModel
) -> None:
    for trial in ("trial-number-one", "trial-number-two"):
        await opened(client, trial)
    model.gate.clear()
    first = asyncio.create_task(ask(client, "trial-number-one"))
    await until(lambda: model.asked == 1)
    second = asyncio.create_task(ask(client, "trial-number-two"))
    await asyncio.sleep(0.2)  # until it has arrived
    second.cancel()
    (call,) = (await closed(client, "trial-number-two"))["model_calls"]
    model.gate.set()
    await first
    assert call["cause"] == "endpoint"
    assert call["waited"] == call["duration"]


async def test_a_conversation_that_began_with_a_kept_answer_goes_on_at_an_endpoint_that_did_not_give_it(
    client: httpx.AsyncClient, model: NoisyModel
) -> None:
    async def turn(trial: str, text: str, **fields: Any) -> str:
        document = {"model": MODEL, "input": text, **fields}
        reply = await client.post(f"/t/{trial}/v1/responses", json=document)
        assert reply.status_code == 200, reply.text
        return str(reply.json()["id"])

    for trial in ("trial-number-one", "trial-number-two"):
        await opened(client, trial)
    first = await turn("trial-number-one", "Where?")
    model.known.clear()
    assert await turn("trial-number-two", "Where?") == first
    second = await turn("trial-number-two", "And when?", previous_response_id=first)
    await turn("trial-number-two", "And why?", previous_response_id=second)
    texts = [item["content"] if isinstance(item, dict) else item for item in model.inputs[1]]
    assert (texts[0], texts[1][0]["text"], texts[2]) == ("Where?", "answer 1", "And when?")
    assert model.inputs[2] == "And why?"


async def test_a_trial_whose_answers_shall_be_kept_needs_a_server_with_a_cache(serve: Serve) -> None:
    client = await serve()
    reply = await client.post("/control/trials", json=registration(cached_as="x"))
    assert reply.status_code == 400
    assert "needs a model cache" in reply.json()["error"]
