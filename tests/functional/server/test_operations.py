"""What those who operate a server need: limits, readiness, its log, and a document of its routes."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from support.clocks import SleepingClock
from support.servers import TRIAL, Serve, registration, virtual

from trialbed_server import ServerOptions, create_app

TOKEN = "a-token-of-32-characters-for-this-test"


async def test_a_client_that_asks_too_often_is_told_when_to_ask_again(serve: Serve) -> None:
    clock = SleepingClock()
    client = await serve(rate_limit=2.0, clock=clock)
    statuses = [(await client.post("/virtual", json=virtual())).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = await client.post("/v1/chat/completions", json={})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert (await client.get("/healthz")).status_code == 200
    await clock.sleep(1)
    again = await client.post("/virtual", json=virtual())
    assert (again.status_code, again.json()["error"]) == (200, "")


async def test_an_answer_over_the_limit_is_an_api_error_and_not_kept(serve: Serve) -> None:
    api = {**registration()["apis"][0], "template_response": {f"field {number}": "str" for number in range(100)}}
    client = await serve(max_answer=1000)
    await client.post("/control/trials", json=registration(apis=[api]))
    for _ in range(2):
        reply = await client.post(f"/t/{TRIAL}/virtual", json=virtual())
        assert "the answer is larger than 1000 bytes" in reply.json()["error"]


async def test_a_server_is_ready_while_its_cache_can_be_read(serve: Serve, tmp_path: Path) -> None:
    client = await serve(token=TOKEN)
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    with closing(sqlite3.connect(tmp_path / "responses.db")) as connection:
        connection.execute("DROP TABLE trialbed_responses")
    lost = await client.get("/readyz")
    assert (lost.status_code, lost.json()["status"]) == (503, "not ready")
    assert str(tmp_path) not in lost.text
    assert (await client.get("/healthz")).status_code == 200


async def test_pages_of_other_origins_get_no_leave_unless_they_are_named(serve: Serve) -> None:
    client = await serve()
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for reply in (
        await client.options("/virtual", headers=headers),
        await client.post("/virtual", headers={"origin": "https://evil.example"}, json=virtual()),
    ):
        assert "access-control-allow-origin" not in reply.headers


def documented(app: Any) -> dict[str, set[str]]:
    return {
        path: {method for method in item if method != "parameters"} for path, item in app.openapi()["paths"].items()
    }


def test_one_document_has_every_route_with_examples(tmp_path: Path) -> None:
    app = create_app(ServerOptions(cache=str(tmp_path / "responses.db"), token=TOKEN))
    paths = documented(app)
    served = {
        (re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path), method.lower())
        for route in app.routes
        for method in route.methods or ()
        if method != "HEAD"
    }
    for prefix in ("", "/t/{trial}"):
        served -= {(f"{prefix}/v1/{{path}}", method) for method in ("get", "post", "put", "patch", "delete")}
        asked = ("chat/completions", "responses", "messages", "messages/count_tokens", "embeddings")
        served |= {(f"{prefix}/v1/{path}", "post") for path in asked} | {(f"{prefix}/v1/models", "get")}
        served |= {(f"{prefix}/v1/responses/{{response}}", method) for method in ("get", "delete")}
    served -= {("/openapi.json", "get")}
    assert {(path, method) for path, methods in paths.items() for method in methods} == served
    bodies = [
        operation["requestBody"]["content"]["application/json"]
        for item in app.openapi()["paths"].values()
        for name, operation in item.items()
        if name != "parameters" and "requestBody" in operation
    ]
    assert len(bodies) == 15
    assert all("example" in body for body in bodies)
    assert app.openapi()["security"] == [{"token": []}]


@pytest.mark.slow
async def test_whatever_fits_the_document_or_nearly_does_is_answered_without_a_fault(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    seen = await asyncio.to_thread(_explore, str(client.base_url))
    assert len(seen) == 31
    assert max(status for statuses in seen.values() for status in statuses) < 500
    assert (await client.get("/healthz")).status_code == 200


def _explore(url: str) -> dict[str, set[int]]:
    """Ask for every operation of the document with requests that are made up; the statuses by operation."""
    import schemathesis

    seen: dict[str, set[int]] = {}
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    with httpx.Client(base_url=url, timeout=60) as client:
        for found in schema.get_all_operations():
            operation = found.ok()
            modes = list(schemathesis.GenerationMode) if len(operation.body) else [schemathesis.GenerationMode.POSITIVE]
            seen[operation.label] = set().union(*(_asked(client, operation, mode) for mode in modes))
    return seen


def _asked(client: httpx.Client, operation: Any, mode: Any) -> set[int]:
    """Ask for an operation with requests that are made up, to fit or not to fit; the statuses."""
    statuses: set[int] = set()

    @settings(
        max_examples=8,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        # What closes the trial is asked for another one.
        trial = "trial-that-is-not-there" if case.method.upper() == "DELETE" else TRIAL
        sent = case.as_transport_kwargs().get("json")
        statuses.add(client.request(case.method, case.path.replace("{trial}", trial), json=sent).status_code)

    ask()
    return statuses
