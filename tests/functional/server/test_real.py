"""The cache, then the real API, then the simulator."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.response_caches import cached
from support.servers import TRIAL, Serve, closed, listening, registration, virtual

from trialbed_server.standard_names import request_key, requested_name

KEY = "toolbench-key-of-the-test"


class Real:
    """An endpoint of ToolBench's protocol."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Response] = lambda _: JSONResponse({"error": "", "response": "real"})
        self.app = Starlette(routes=[Route("/rapidapi", self.post, methods=["POST"])])

    async def post(self, request: Request) -> Response:
        fields = await request.json()
        self.asked.append({**fields, "header": request.headers.get("toolbench_key")})
        return self.answer(fields)


@pytest.fixture
async def real() -> AsyncIterator[Real]:
    found = Real()
    async with listening(found.app) as url:
        found.url = f"{url}/rapidapi"
        yield found


def entries(folder: Path, tool_input: dict[str, Any]) -> list[Any]:
    """What is kept for this input: provenance, response and settings."""
    key = request_key(requested_name("Weather", "Weather Now", "Current"), tool_input)
    found = (entry for entry in cached(folder) if entry.key == key)
    return [(entry.provenance, json.loads(entry.body)["response"], entry.settings) for entry in found]


async def test_a_real_answer_is_asked_for_once_kept_with_its_origin_and_recorded(
    serve: Serve, real: Real, tmp_path: Path
) -> None:
    client = await serve(real_url=real.url, real_key=KEY)
    await client.post("/control/trials", json=registration())
    replies = [(await client.post(f"/t/{TRIAL}/virtual", json=virtual())).json() for _ in range(2)]
    assert replies == [{"error": "", "response": "real"}] * 2
    assert real.asked == [
        {
            "category": "Weather",
            "tool_name": "weather_now",
            "api_name": "current",
            "tool_input": {"city": "Oslo"},
            "strip": "",
            "toolbench_key": KEY,
            "header": KEY,
        }
    ]
    assert [call["provenance"] for call in (await closed(client))["api_calls"]] == ["real", "cache:real"]
    assert entries(tmp_path, {"city": "Oslo"}) == [("real", "real", json.dumps({"url": real.url}))]
    assert 'trialbed_real_requests_total{outcome="answered"} 1.0' in (await client.get("/metrics")).text


@pytest.mark.parametrize(
    "failure",
    [
        Response("down", 500),
        Response("busy", 429),
        Response("<html>", 200),
        Response('{"error": "", "response": NaN}', 200),
        Response('{"error": "", "response": 1e999}', 200),
        Response("[" * 100_000, 200),
        JSONResponse({"error": "Unauthorized error...", "response": ""}),
        JSONResponse({"error": "", "response": {"message": "Too many requests"}}),
        JSONResponse({"error": "", "response": "x" * 3000}),
        Response(status_code=302, headers={"location": "http://127.0.0.1:1/"}),
    ],
)
async def test_a_real_failure_is_answered_by_the_simulator_and_not_kept_as_real(
    serve: Serve, real: Real, tmp_path: Path, failure: Response
) -> None:
    real.answer = lambda _: failure
    client = await serve(real_url=real.url, max_answer=2000)
    reply = await client.post("/virtual", json=virtual())
    assert (reply.status_code, reply.json()["error"]) == (200, "")
    assert [kept[0] for kept in entries(tmp_path, {"city": "Oslo"})] == ["template"]


async def test_a_real_api_that_cannot_be_reached_or_only_fails_is_left_alone(serve: Serve, real: Real) -> None:
    real.answer = lambda _: Response("down", 503)
    client = await serve(real_url=real.url)
    for number in range(12):
        assert (await client.post("/virtual", json=virtual({"n": number}))).json()["error"] == ""
    assert len(real.asked) == 5
    refused = await serve(real_url="http://127.0.0.1:1/rapidapi")
    assert (await refused.post("/virtual", json=virtual({"n": 13}))).json()["error"] == ""


async def test_the_key_does_not_come_back_in_an_answer(serve: Serve, real: Real, tmp_path: Path) -> None:
    real.answer = lambda fields: JSONResponse({"error": "", "response": {"you sent": fields["toolbench_key"]}})
    client = await serve(real_url=real.url, real_key=KEY)
    assert KEY not in (await client.post("/virtual", json=virtual())).text
    assert all(KEY not in str(kept) for kept in entries(tmp_path, {"city": "Oslo"}))


async def test_a_read_only_server_answers_and_keeps_nothing(serve: Serve, real: Real, tmp_path: Path) -> None:
    client = await serve(real_url=real.url, read_only=True)
    for _ in range(2):
        assert (await client.post("/virtual", json=virtual())).json()["response"] == "real"
    assert len(real.asked) == 2
    assert entries(tmp_path, {"city": "Oslo"}) == []


async def test_invented_apis_are_not_looked_for_in_the_world(serve: Serve, real: Real) -> None:
    client = await serve(real_url=real.url, datasets=("mini",))
    fields = {"category": "Geography", "tool_name": "Atlas of Tarnmere", "api_name": "City by name"}
    reply = await client.post("/virtual", json=virtual({"name": "Velmora"}, **fields))
    assert reply.json()["error"] == ""
    assert real.asked == []
