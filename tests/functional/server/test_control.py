"""Opening and closing trials."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.servers import OFFERED, TRIAL, Serve, closed, registration, virtual


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"model": "scripted:nonsense"}, 400, "did you mean 'scripted:none'?"),
        ({"model": "gpt"}, 400, "bench serve --base-url"),
        ({"simulator": "nonsense"}, 400, "'nonsense' is not installed"),
        ({"trial": "short"}, 422, "pattern"),
        ({"trial": "with/slash-and-more"}, 422, "pattern"),
        ({"nonsense": 1}, 422, "nonsense"),
        ({"model": None}, 422, "model"),
    ],
)
async def test_a_registration_that_cannot_be_served_is_refused(
    serve: Serve, fields: dict[str, Any], status: int, text: str
) -> None:
    client = await serve()
    reply = await client.post("/control/trials", json=registration(**fields))
    assert reply.status_code == status
    assert text in reply.text


async def test_a_registration_is_bounded_and_never_repeated(serve: Serve) -> None:
    client = await serve(max_body=50_000)

    async def long() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b"x" * 10_000

    assert (await client.post("/control/trials", json=registration(model="x" * 60_000))).status_code == 413
    assert (await client.post("/control/trials", content=long())).status_code == 413
    for fields in ({"model": "x" * 40_000}, {"trial": "x" * 40_000}, {"seed": "x" * 40_000}, {"x" * 40_000: 1}):
        reply = await client.post("/control/trials", json=registration(**fields))
        assert reply.status_code in (400, 422)
        assert len(reply.content) < 1000
    many = await client.post("/control/trials", json={str(number): 1 for number in range(1000)})
    assert len(many.json()["detail"]) == 20


async def test_the_upstream_must_be_the_servers_own(serve: Serve) -> None:
    client = await serve(upstream="http://127.0.0.1:9/v1")
    wrong = await client.post("/control/trials", json=registration(model="gpt", base_url="http://elsewhere/v1"))
    assert wrong.status_code == 400
    assert "http://127.0.0.1:9/v1" in wrong.json()["error"]
    right = registration(model="gpt", base_url="http://127.0.0.1:9/v1/")
    assert (await client.post("/control/trials", json=right)).status_code == 201
    assert (await client.get("/healthz")).json()["upstream"] == "http://127.0.0.1:9/v1"


async def test_a_token_is_used_once(serve: Serve) -> None:
    client = await serve()
    assert (await client.post("/control/trials", json=registration())).json() == {"trial": TRIAL}
    assert (await client.post("/control/trials", json=registration())).status_code == 409
    assert (await closed(client))["trial"] == TRIAL
    assert (await client.post("/control/trials", json=registration())).status_code == 409
    assert (await client.delete(f"/control/trials/{TRIAL}")).status_code == 404
    assert (await client.delete("/control/trials/never-opened")).status_code == 404


async def test_urls_of_closed_and_unknown_trials_answer_in_their_own_forms(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    await closed(client)
    for token, status in ((TRIAL, 410), ("never-opened", 404)):
        chat = await client.post(f"/t/{token}/v1/chat/completions", json={})
        assert chat.status_code == status
        assert chat.json()["error"]["message"]
        answer = await client.post(f"/t/{token}/virtual", json=virtual())
        assert answer.status_code == status
        assert set(answer.json()) == {"error", "response"}


async def test_requests_without_a_token_belong_to_the_ambient_trial(serve: Serve) -> None:
    client = await serve()
    assert (await client.post("/v1/chat/completions", json={})).status_code == 404
    await client.post("/control/trials", json=registration(ambient=True))
    second = registration(trial="trial-token-2", ambient=True)
    assert (await client.post("/control/trials", json=second)).status_code == 409
    await client.post("/virtual", json=virtual())
    chat = await client.post("/v1/chat/completions", json={"messages": []})
    assert chat.status_code == 200
    log = await closed(client)
    assert (len(log["api_calls"]), len(log["model_calls"])) == (1, 1)
    await client.post("/virtual", json=virtual())
    assert (await client.post("/control/trials", json=second)).status_code == 201
    assert (await closed(client, "trial-token-2"))["api_calls"] == []


async def test_a_trial_is_opened_like_one_before(serve: Serve) -> None:
    client = await serve()
    assert "setup" not in (await client.post("/control/trials", json=registration())).json()
    names = set()
    for trial in ("trial-that-is-kept", "another-such-trial"):
        opened = await client.post("/control/trials", json=registration(trial=trial, keep=True))
        names.add(opened.json()["setup"])
    (setup,) = names
    like = {"trial": "trial-like-another", "setup": setup, "seed": 7, "fault_key": "k"}
    opened = await client.post("/control/trials", json=like)
    assert (opened.status_code, opened.json()) == (201, {"trial": like["trial"]})
    asked = {"messages": [{"role": "user", "content": "?"}], "tools": OFFERED}
    for trial in (TRIAL, like["trial"]):
        chat = await client.post(f"/t/{trial}/v1/chat/completions", json=asked)
        (call,) = chat.json()["choices"][0]["message"]["tool_calls"]
        assert call["function"] == {"name": "Weather_Now_Current", "arguments": '{"city": "Oslo"}'}
        await client.post(f"/t/{trial}/virtual", json=virtual())
    first, second = [await closed(client, trial) for trial in (TRIAL, like["trial"])]
    assert second["api_calls"][0]["offered"]
    assert second["api_calls"][0]["response"] == first["api_calls"][0]["response"]
    assert (await client.post("/control/trials", json=like)).status_code == 409


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"setup": "never-named"}, 404, "send a whole registration"),
        ({"setup": 1}, 422, "setup"),
        ({"trial": "short"}, 422, "pattern"),
        ({"trial": None}, 422, "trial"),
        ({"seed": "seven"}, 422, "seed"),
        ({"model": "scripted:gold"}, 422, "model"),
    ],
)
async def test_an_opening_that_names_no_setup_is_refused(
    serve: Serve, connection: str, fields: dict[str, Any], status: int, text: str
) -> None:
    client = await serve()
    setup = (await client.post("/control/trials", json=registration(keep=True))).json()["setup"]
    like = {"trial": "trial-like-another", "setup": setup, **fields}
    reply = await client.post("/control/trials", json=like, headers={"Connection": connection})
    assert reply.status_code == status
    assert text in reply.text
    finite = json.dumps({"trial": "trial-like-another", "setup": setup, "seed": 1}).replace("1}", "1e999}")
    reply = await client.post("/control/trials", content=finite, headers={"Connection": connection})
    assert (reply.status_code, "the number 1e999 is too large" in reply.text) == (422, True)
