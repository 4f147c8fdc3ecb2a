"""Limits, origins and the end of a server."""

from __future__ import annotations

from pathlib import Path

import httpx
from support.servers import TRIAL, Serve, registration, virtual

from trialbed_server import ServerOptions, create_app


async def test_a_server_that_is_about_to_end_does_not_say_that_it_is_well(tmp_path: Path) -> None:
    app = create_app(ServerOptions(cache=str(tmp_path / "responses.db")))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        well = await client.get("/healthz")
        app.routed.state.is_ending = True
        ending = await client.get("/healthz")
    assert (well.status_code, well.json()["status"]) == (200, "ok")
    assert (ending.status_code, ending.json()["status"]) == (503, "ending")


async def test_an_answer_over_the_limit_is_an_api_error_and_not_kept(serve: Serve) -> None:
    api = {**registration()["apis"][0], "template_response": {f"field {number}": "str" for number in range(100)}}
    client = await serve(max_answer=1000)
    await client.post("/control/trials", json=registration(apis=[api]))
    for _ in range(2):
        reply = await client.post(f"/t/{TRIAL}/virtual", json=virtual())
        assert "the answer is larger than 1000 bytes" in reply.json()["error"]


async def test_pages_of_other_origins_get_no_leave_unless_they_are_named(serve: Serve) -> None:
    client = await serve()
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for reply in (
        await client.options("/virtual", headers=headers),
        await client.post("/virtual", headers={"origin": "https://evil.example"}, json=virtual()),
    ):
        assert "access-control-allow-origin" not in reply.headers
