"""A model endpoint that answers by a plan, and a trial that asks it through the gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from support.clocks import SleepingClock
from support.servers import OFFERED, TRIAL, Serve, registration
from support.wire import ANSWER

CHAT = f"/t/{TRIAL}/v1/chat/completions"
Step = Callable[[Request], Awaitable[Response]]


def says(status: int, **headers: str) -> Step:
    """A step that answers with this status; ``_`` in a header's name stands for ``-``."""

    async def step(_request: Request) -> Response:
        error = {"error": {"message": f"failed with {status}", "type": "t"}}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return JSONResponse(ANSWER if status == 200 else error, status, headers=named)

    return step


class Endpoint:
    """A model endpoint that answers the requests for a model by its plan, step by step; the last one stays."""

    def __init__(self) -> None:
        self.url = ""
        self.plans: dict[str, list[Step]] = {}
        self.requests: list[str] = []
        self.gate = asyncio.Event()
        self.app = Starlette(routes=[Route("/v1/chat/completions", self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> Response:
        """Answer."""
        model = json.loads(await request.body())["model"]
        self.requests.append(model)
        plan = self.plans.get(model, [says(200)])
        return await (plan.pop(0) if len(plan) > 1 else plan[0])(request)

    async def hang(self, _request: Request) -> Response:
        """A step that answers when the gate opens."""
        await self.gate.wait()
        return JSONResponse(ANSWER)


async def opened(serve: Serve, url: str, clock: SleepingClock | None, *, seconds: float = 60, **options: Any) -> Any:
    """A client of a server with this endpoint, and with a trial."""
    client = await serve(upstream=url, upstream_key="sk-the-real-upstream-key", clock=clock, **options)
    limits = {"max_steps": 100, "timeout": seconds}
    fields = registration(model="m", base_url=url, limits=limits)
    assert (await client.post("/control/trials", json=fields)).status_code == 201
    return client


def body(model: str = "m", **more: Any) -> dict[str, Any]:
    """A request for this model."""
    return {"model": model, "messages": [{"role": "user", "content": "?"}], "tools": OFFERED, **more}


async def status(client: httpx.AsyncClient) -> dict[str, Any]:
    """What the server says of its endpoint."""
    found: dict[str, Any] = (await client.get("/control/endpoint")).json()
    return found
