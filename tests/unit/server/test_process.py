"""The server's process while it ends."""

from __future__ import annotations

from pathlib import Path

import httpx
import uvicorn

from trialbed_server import ServerOptions, create_app
from trialbed_server._process import _Server


async def test_a_server_that_is_about_to_end_does_not_say_that_it_is_well(tmp_path: Path) -> None:
    app = create_app(ServerOptions(cache=str(tmp_path / "responses.db")))
    server = _Server(uvicorn.Config(app), app, on_ready=lambda: None, watch=lambda _end: None)
    end = server._end_soon()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        well = await client.get("/healthz")
        end()
        ending = await client.get("/healthz")
    assert (well.status_code, well.json()["status"]) == (200, "ok")
    assert (ending.status_code, ending.json()["status"]) == (503, "ending")
