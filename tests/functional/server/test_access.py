"""What a server that was started alone refuses, and what it counts."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.servers import Serve, listening, virtual

from trialbed_scripted import serve

CHAT = {"model": "m", "messages": []}

USAGE = {"prompt_tokens": 11, "completion_tokens": 22}


async def test_web_pages_cannot_use_it(serve: Serve) -> None:
    client = await serve()
    for path, body in (("/virtual", virtual()), ("/v1/chat/completions", CHAT), ("/control/trials", {})):
        for header in ({"Origin": "https://evil.example"}, {"Host": "rebound.example"}):
            refused = await client.post(path, json=body, headers=header)
            assert refused.status_code == 403
            assert refused.json()["error"]["message"].startswith("the request ")


async def test_named_hosts_may(serve: Serve) -> None:
    client = await serve(allow_hosts=("bench.internal",))
    assert (await client.post("/virtual", json=virtual(), headers={"Host": "bench.internal:80"})).status_code == 200


async def test_a_server_with_a_token_is_reached_by_any_name(serve: Serve) -> None:
    client = await serve(token="a-token-of-16-or-more", host="0.0.0.0")
    client.headers["Authorization"] = "Bearer a-token-of-16-or-more"
    assert (await client.post("/virtual", json=virtual(), headers={"Host": "that-machine"})).status_code == 200


async def answer(request: Request) -> Response:
    return JSONResponse({"choices": [{"message": {"content": "x" * 10_000}}], "usage": USAGE})


async def test_what_has_no_trial_is_counted(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with listening(Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])) as url:
        client = await serve(upstream=f"{url}/v1")
        await client.post("/v1/chat/completions", json=CHAT)
    for number in range(3):
        await client.post("/virtual", json=virtual({"city": str(number)}))
    metrics = (await client.get("/metrics")).text
    assert 'trialbed_untagged_requests_total{api="model"} 1.0' in metrics
    assert 'trialbed_untagged_requests_total{api="virtual"} 3.0' in metrics
    assert "no trial: POST '/v1/chat/completions', status 200, tokens 11 + 22" in caplog.text


async def test_the_server_of_faults_asks_for_a_token_too() -> None:
    async with serve(token="a-token-of-16-or-more") as faults, httpx.AsyncClient() as client:
        url = f"{faults.url}/chat/completions"
        body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        assert (await client.post(url, json=body)).status_code == 401
        right = {"Authorization": "Bearer a-token-of-16-or-more"}
        assert (await client.post(url, json=body, headers=right)).status_code == 200
