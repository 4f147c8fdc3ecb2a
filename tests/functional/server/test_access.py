"""What a server refuses: web pages, requests without its token, and, if it is a run's, all but its trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.servers import TRIAL, Serve, closed, listening, registration, virtual

from trialbed_server import ServerOptions, create_app

CHAT = {"model": "m", "messages": []}
EVIL, TOKEN = "https://evil.example", "a-token-of-16-or-more"
ENGINE = {"Authorization": f"Bearer {TOKEN}"}
NAMES = ("", "localhost", "LOCALHOST:8080", "a.localhost:1", "127.0.0.1:8080", "[::1]:80", "bench.example:1")
OTHERS = ("evil.example", "127.0.0.1.evil.example:8080", "[::", "0x7f.1", "10.0.0.1")
PAGES: list[tuple[dict[str, str], bool]] = [
    ({"Origin": EVIL}, False),
    ({"Origin": "null"}, False),
    ({"Origin": "http://localhost:3000"}, False),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, False),
    ({"Origin": EVIL, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, False),
    ({"Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"}, True),
    ({"Sec-Fetch-Site": "none"}, True),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, True),
]
"""Headers of a request for ``localhost:8080``, and whether it is served."""


async def test_web_pages_cannot_use_it_and_its_own_names_may(serve: Serve) -> None:
    client = await serve(allow_hosts=("Bench.Example",))
    seen = [({"Host": name}, name in NAMES) for name in (*NAMES, *OTHERS)]
    seen += [({"Host": "localhost:8080", **headers}, served) for headers, served in PAGES]
    for headers, served in seen:
        answer = await client.get("/healthz", headers=headers)
        assert answer.status_code == (200 if served else 403), headers
        assert served or answer.json()["error"]["message"].startswith("the request ")
    for path, body in (("/virtual", virtual()), ("/v1/chat/completions", CHAT), ("/control/trials", {})):
        assert (await client.post(path, json=body, headers={"Origin": EVIL})).status_code == 403
    await client.post("/control/trials", json=registration())
    guarded = {"Host": "gateway.internal", "Origin": EVIL}  # by the trial's token, which no page knows
    assert (await client.post(f"/t/{TRIAL}/virtual", json=virtual(), headers=guarded)).status_code == 200


RIGHT, KEY = ("Authorization", f"Bearer {TOKEN}"), ("X-Api-Key", TOKEN)
WRONG, OTHER = ("Authorization", "Bearer placeholder"), ("X-Api-Key", "placeholder")


async def test_the_token_may_come_in_either_header_beside_a_placeholder(serve: Serve) -> None:
    client = await serve(token=TOKEN, host="0.0.0.0")
    admitted = ([RIGHT], [KEY], [RIGHT, KEY], [RIGHT, OTHER], [WRONG, KEY])
    refused: tuple[list[tuple[str, str]], ...] = ([], [WRONG, OTHER], [("X-Api-Key", f"Bearer {TOKEN}")])
    for headers in (*admitted, *refused, [RIGHT, WRONG], [KEY, OTHER], [RIGHT, RIGHT]):
        own = [*headers, ("Host", "that-machine")]
        answer = await client.post("/virtual", json=virtual(), headers=own)
        assert answer.status_code == (200 if headers in admitted else 401), headers
    for method, path in (("POST", "/v1/chat/completions"), ("POST", "/control/trials"), ("GET", "/metrics")):
        assert (await client.request(method, path)).status_code == 401
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.post("/t/some-token/virtual", json={})).status_code == 404


async def answer(request: Request) -> Response:
    usage = {"prompt_tokens": 11, "completion_tokens": 22}
    return JSONResponse({"choices": [{"message": {"content": "x" * 10_000}}], "usage": usage})


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


async def test_a_server_that_is_about_to_end_does_not_say_that_it_is_well(tmp_path: Path) -> None:
    app = create_app(ServerOptions(cache=str(tmp_path / "responses.db")))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        seen = [await client.get("/healthz")]
        app.routed.state.is_ending = True
        seen.append(await client.get("/healthz"))
    assert [(answer.status_code, answer.json()["status"]) for answer in seen] == [(200, "ok"), (503, "ending")]


async def test_an_agent_cannot_close_or_open_trials_of_a_run_with_what_it_knows(serve: Serve) -> None:
    client = await serve(control_token=TOKEN)
    assert (await client.post("/control/trials", json=registration(), headers=ENGINE)).status_code == 201
    for headers in ({}, {"Authorization": f"Bearer {TRIAL}"}, {"Authorization": "Bearer trialbed"}):
        assert (await client.delete(f"/control/trials/{TRIAL}", headers=headers)).status_code == 401
        opening = await client.post("/control/trials", json=registration(trial="another-trial"), headers=headers)
        assert opening.status_code == 401
        assert (await client.get("/metrics", headers=headers)).status_code == 401
    client.headers.update(ENGINE)
    assert (await closed(client))["trial"] == TRIAL


async def test_requests_outside_of_the_trials_of_a_run_are_refused_or_belong_to_an_ambient_one(serve: Serve) -> None:
    client = await serve(control_token=TOKEN)
    await client.post("/control/trials", json=registration(), headers=ENGINE)
    requests: list[tuple[str, str, Any]] = [
        ("POST", "/v1/chat/completions", CHAT),
        ("GET", "/v1/models", None),
        ("POST", "/virtual", virtual()),
    ]
    for method, path, body in requests:
        refused = await client.request(method, path, json=body)
        assert (refused.status_code, "answers only for its trials" in refused.text) == (403, True)
        assert (await client.request(method, f"/t/{TRIAL}{path}", json=body)).status_code == 200
    ambient = registration(trial="ambient-trial", ambient=True)
    await client.post("/control/trials", json=ambient, headers=ENGINE)
    assert (await client.post("/virtual", json=virtual())).status_code == 200
    client.headers.update(ENGINE)
    assert len((await closed(client, "ambient-trial"))["api_calls"]) == 1
    assert (await client.post("/virtual", json=virtual())).status_code == 403
