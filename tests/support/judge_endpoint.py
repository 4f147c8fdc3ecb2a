"""An endpoint that plays a judge's model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from trialbed.records import ModelEndpoint

Decide = Callable[[dict[str, Any]], web.StreamResponse]


class JudgeEndpoint:
    """Answers each request as a function says, and keeps what it was asked.

    Attributes:
        asked: the requests, in order.
        url: its address, ending in ``/v1``.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.decide: Decide = lambda _request: vote("Solved")
        self.url = ""
        self.hangs = False

    def gives(self, *replies: Callable[[], web.StreamResponse]) -> None:
        """Give these replies in turn, the last one for ever."""
        left = list(replies)
        self.decide = lambda _request: (left.pop(0) if len(left) > 1 else left[0])()

    def endpoint(self) -> ModelEndpoint:
        """The endpoint as a judge is given it."""
        return ModelEndpoint(base_url=self.url, api_key="dummy", model="grader", seed=7)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        self.asked.append(await request.json())
        if self.hangs:
            await asyncio.Event().wait()
        return self.decide(self.asked[-1])


@asynccontextmanager
async def judge_endpoint() -> AsyncIterator[JudgeEndpoint]:
    """A running endpoint."""
    served = JudgeEndpoint()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", served.answer)
    async with TestServer(app, shutdown_timeout=0) as server:
        served.url = str(server.make_url("/v1"))
        yield served


def completion(content: str | None, *, finish_reason: str = "stop", **message: Any) -> web.Response:
    """A chat completion with this text."""
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish_reason}
    return web.json_response({"choices": [choice]})


def vote(status: str, reason: str = "because") -> web.Response:
    """A chat completion with this vote."""
    return completion(json.dumps({"reason": reason, "answer_status": status}))


def shown(request: dict[str, Any]) -> Any:
    """The material that a request shows to the model: the JSON of its last message of the user."""
    return json.loads(next(message["content"] for message in request["messages"] if message["role"] == "user"))


def obeys(request: dict[str, Any], otherwise: str = "Unsolved") -> web.Response:
    """What a model answers that obeys whatever it reads: any mention of a status in the material is its vote."""
    text = json.dumps(shown(request))
    for status in statuses_in(text):
        return vote(status, "I was told so")
    return vote(otherwise)


def statuses_in(text: str) -> Iterable[str]:
    """The statuses that a text names, as whole words."""
    import re

    return [found.capitalize() for found in re.findall(r"\b(?:solved|unsolved|unsure)\b", text, re.IGNORECASE)]
