"""The server of one run: only its engine controls trials, and only trials are answered."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from support.servers import TRIAL, Serve, closed, registration, virtual

TOKEN = "the-control-token-of-this-run"
ENGINE = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def client(serve: Serve) -> httpx.AsyncClient:
    client = await serve(control_token=TOKEN)
    opened = await client.post("/control/trials", json=registration(), headers=ENGINE)
    assert opened.status_code == 201
    return client


async def test_an_agent_cannot_close_or_open_trials_with_what_it_knows(client: httpx.AsyncClient) -> None:
    for headers in ({}, {"Authorization": f"Bearer {TRIAL}"}, {"Authorization": "Bearer trialbed"}):
        assert (await client.delete(f"/control/trials/{TRIAL}", headers=headers)).status_code == 401
        opening = await client.post("/control/trials", json=registration(trial="another-trial"), headers=headers)
        assert opening.status_code == 401
        assert (await client.get("/metrics", headers=headers)).status_code == 401
    client.headers.update(ENGINE)
    assert (await closed(client))["trial"] == TRIAL


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/chat/completions", {"model": "m", "messages": []}),
        ("GET", "/v1/models", None),
        ("POST", "/virtual", virtual()),
    ],
)
async def test_requests_outside_of_a_trial_are_refused(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None
) -> None:
    refused = await client.request(method, path, json=body)
    assert refused.status_code == 403
    assert "answers only for its trials" in refused.text
    assert (await client.request(method, f"/t/{TRIAL}{path}", json=body)).status_code == 200


async def test_an_ambient_trial_takes_them_in_while_it_is_open(client: httpx.AsyncClient) -> None:
    ambient = registration(trial="ambient-trial", ambient=True)
    await client.post("/control/trials", json=ambient, headers=ENGINE)
    assert (await client.post("/virtual", json=virtual())).status_code == 200
    client.headers.update(ENGINE)
    assert len((await closed(client, "ambient-trial"))["api_calls"]) == 1
    assert (await client.post("/virtual", json=virtual())).status_code == 403
