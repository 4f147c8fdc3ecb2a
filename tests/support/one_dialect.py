"""An endpoint that speaks one dialect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from support.servers import TOOL

from trialbed.wire.dialects import dialect
from trialbed_scripted import ReceivedRequest, call, policy


class OneDialect:
    """An endpoint of a model that calls the tool; it knows no path but that of its dialect."""

    def __init__(self, spoken: str) -> None:
        self.url = ""
        self.spoken = dialect(spoken)
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.refusal = (404, {"detail": "Not Found"})
        self.status = 200
        self.identity = "1"
        self.counts = True
        self.streams = True
        self.events: list[bytes] | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.hangs_up = asyncio.Event()
        self.hangs_up.set()
        self.app = Starlette(routes=[Route("/v1/{path:path}", self.serve, methods=["GET", "POST", "DELETE"])])
        self.model: Any = policy("gold", call(TOOL["name"], city="Oslo"))

    async def serve(self, request: Request) -> Response:
        self.paths.append(request.path_params["path"])
        if request.path_params["path"] != self.spoken.PATH:
            return JSONResponse(self.refusal[1], self.refusal[0])
        if self.status != 200:
            return JSONResponse({"error": {"message": "too much", "type": "rate_limit_error"}}, self.status)
        document = await request.json()
        self.asked.append(document)
        turn = self.model(ReceivedRequest(len(self.asked), document, dialect=self.spoken.NAME))
        turn = turn if self.counts else replace(turn, usage=None)
        answer = turn.answer(model=document["model"], id=self.identity)
        asked = document if self.streams else {**document, "stream": False}
        parts = self.spoken.write_answer(answer, self.spoken.read_request(asked))
        if not asked.get("stream"):
            return Response(parts[0], media_type="application/json")
        return StreamingResponse(self.sent(self.events or list(parts)), media_type="text/event-stream")

    async def sent(self, parts: list[bytes]) -> AsyncIterator[bytes]:
        """All but the last two at once, the rest when the gate is open."""
        yield b"".join(parts[:-2])
        await self.gate.wait()
        yield b"".join(parts[-2:])
        await self.hangs_up.wait()
