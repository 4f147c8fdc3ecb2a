from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from trialbed.wire import Call, ChatClient, ModelAnswer, Reading, event_bytes
from trialbed.wire.dialects.chat_completions import first_message, read_request, write_answer, write_document

HELLO = ModelAnswer(model="m", id="i", content="hello")
EVENTS = b"".join(write_answer(HELLO, read_request({"stream": True})))
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
EVENTS_TYPE = {"content-type": "text/event-stream"}

Reply = Callable[[httpx.Request], httpx.Response]


class Pieces(httpx.AsyncByteStream):
    """A body that arrives in pieces; an exception among them is raised in its turn."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pass_on(_seconds: float) -> None:
        """Take no time."""

    monkeypatch.setattr("asyncio.sleep", pass_on)


async def ask(*replies: Reply, request: dict[str, Any] = REQUEST, key: str | None = "k") -> tuple[Reading, int]:
    """What the client reads from an endpoint that replies so in turn, and how often it asked."""
    asked: list[httpx.Request] = []

    def reply(seen: httpx.Request) -> httpx.Response:
        asked.append(seen)
        return replies[min(len(asked), len(replies)) - 1](seen)

    transport = httpx.MockTransport(reply)
    async with ChatClient("http://model/v1/", key, transport=transport) as client:
        reading = await client.complete(request)
    return reading, len(asked)


def whole(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=write_document(HELLO))


def status(number: int, text: str = "no") -> Reply:
    return lambda _request: httpx.Response(number, text=text)


async def test_the_request_is_sent_as_it_is_with_the_key() -> None:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return whole(request)

    await ask(reply)
    await ask(reply, key=None)
    assert str(seen[0].url) == "http://model/v1/chat/completions"
    assert json.loads(seen[0].content) == REQUEST
    assert seen[0].headers["authorization"] == "Bearer k"
    assert "authorization" not in seen[1].headers


async def test_messages_have_the_key_in_their_own_header_too() -> None:
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(400)

    transport = httpx.MockTransport(reply)
    async with ChatClient("http://model/v1", "k", transport=transport, spoken="messages") as client:
        await client.complete({"model": "m", "messages": []})
    assert (seen[0].headers["x-api-key"], seen[0].headers["authorization"]) == ("k", "Bearer k")


async def test_a_streamed_answer_is_read_with_the_names_on_offer() -> None:
    pieces = [EVENTS[start : start + 5] for start in range(0, len(EVENTS), 5)]
    reading, _ = await ask(lambda _: httpx.Response(200, headers=EVENTS_TYPE, stream=Pieces(*pieces)))
    assert first_message(reading.response)["content"] == "hello"

    def repeated(_request: httpx.Request) -> httpx.Response:
        functions = ({"name": "look", "arguments": "{"}, {"name": "look", "arguments": "}"})
        deltas = [{"tool_calls": [{"index": 0, "function": function}]} for function in functions]
        body = b"".join(event_bytes({"choices": [{"delta": delta}]}) for delta in deltas)
        return httpx.Response(200, headers=EVENTS_TYPE, content=body)

    tools = [{"type": "function", "function": {"name": "look"}}]
    reading, _ = await ask(repeated, request={**REQUEST, "stream": True, "tools": tools})
    assert reading.answer.calls == (Call("look", "{}"),)


async def test_what_came_of_a_stream_that_breaks_is_kept() -> None:
    half = Pieces(EVENTS[: EVENTS.index(b"hello") + 30], httpx.ReadError("gone"))
    reading, asked = await ask(lambda _: httpx.Response(200, headers=EVENTS_TYPE, stream=half))
    assert reading.problem is not None
    assert (reading.problem.kind, asked) == ("cut_stream", 1)
    assert "gone" in reading.problem.message


def unreachable(_request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nothing listens")


def silent(_request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("silence")


@pytest.mark.parametrize("reply", [status(429), status(500), status(503), unreachable, silent])
async def test_what_may_pass_is_tried_again(reply: Reply) -> None:
    reading, asked = await ask(reply, reply, whole)
    assert (reading.outcome, asked) == ("stop", 3)


@pytest.mark.parametrize(
    ("reply", "outcome", "kind"),
    [
        (status(500, "on fire"), "transport_error", "http_500"),
        (unreachable, "transport_error", "transport"),
        (silent, "timeout", "timeout"),
    ],
)
async def test_attempts_are_bounded(reply: Reply, outcome: str, kind: str) -> None:
    reading, asked = await ask(reply)
    assert reading.problem is not None
    assert (reading.outcome, reading.problem.kind, asked) == (outcome, kind, 4)


@pytest.mark.parametrize("number", [400, 401, 404, 302])
async def test_a_refusal_is_final(number: int) -> None:
    reading, asked = await ask(status(number, "who are you?"))
    assert reading.problem is not None
    assert (reading.problem.kind, asked) == (f"http_{number}", 1)
    assert "who are you?" in reading.problem.message


async def test_an_endpoint_can_say_that_another_attempt_is_of_no_use() -> None:
    def final(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(503, text="down", headers={"x-should-retry": "false"})

    reading, asked = await ask(final, whole)
    assert (reading.outcome, asked) == ("transport_error", 1)
    assert reading.problem is not None
    assert reading.problem.kind == "http_503"


def busy(wait: str) -> Reply:
    return lambda _request: httpx.Response(429, headers={"Retry-After": wait}, text="slow down")


@pytest.mark.parametrize(("wait", "asked"), [("0", 2), ("soon", 2), ("61", 1), ("Wed, 21 Oct 2099 07:28:00 GMT", 1)])
async def test_an_endpoint_that_asks_for_more_than_a_minute_is_not_asked_again(wait: str, asked: int) -> None:
    reading, count = await ask(busy(wait), whole)
    assert count == asked
    assert reading.outcome == ("stop" if asked == 2 else "transport_error")
