"""An endpoint that plays a judge's model."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from trialbed.records import ModelEndpoint
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, say, serve

NEVER = Response(bare=True, ending="never")

Said = ModelTurn | Response
Decide = Callable[[Mapping[str, Any]], Said]


class JudgeEndpoint:
    """Answers each request as a function says, and keeps what it was asked.

    Attributes:
        asked: the requests, in order.
        url: its address, ending in ``/v1``.
    """

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.decide: Decide = lambda _request: vote("Solved")
        self.url = ""

    def gives(self, *replies: Said) -> None:
        """Give these replies in turn, the last one for ever."""
        left = list(replies)
        self.decide = lambda _request: left.pop(0) if len(left) > 1 else left[0]

    def endpoint(self) -> ModelEndpoint:
        """The endpoint as a judge is given it."""
        return ModelEndpoint(base_url=self.url, api_key="dummy", model="grader", seed=7)

    def __call__(self, request: ReceivedRequest) -> Said:
        """Answer a request."""
        self.asked.append(request.document)
        return self.decide(request.document)


@asynccontextmanager
async def judge_endpoint() -> AsyncIterator[JudgeEndpoint]:
    """A running endpoint."""
    served = JudgeEndpoint()
    async with serve(served) as server:
        served.url = server.url
        yield served


def vote(status: str, reason: str = "because") -> ModelTurn:
    """A chat completion with this vote."""
    return say(json.dumps({"reason": reason, "answer_status": status}))


def shown(request: Mapping[str, Any]) -> Any:
    """The material that a request shows to the model: the JSON of its last message of the user."""
    return json.loads(next(message["content"] for message in request["messages"] if message["role"] == "user"))


def obeys(request: Mapping[str, Any], otherwise: str = "Unsolved") -> ModelTurn:
    """What a model answers that obeys whatever it reads: any mention of a status in the material is its vote."""
    text = json.dumps(shown(request))
    for status in statuses_in(text):
        return vote(status, "I was told so")
    return vote(otherwise)


def statuses_in(text: str) -> Iterable[str]:
    """The statuses that a text names, as whole words."""
    return [found.capitalize() for found in re.findall(r"\b(?:solved|unsolved|unsure)\b", text, re.IGNORECASE)]
