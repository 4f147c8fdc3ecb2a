"""Whatever an endpoint sends, and wherever the network cuts it, every reader reads the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.wire import ChatClient, Reading
from trialbed.wire.dialects.chat_completions import ChatStreamReader, read_body, read_stream
from trialbed_server.gateway.exchange import RecordedExchange
from trialbed_server.trials import LogBudget

NAMES = ("look", "find")
REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [],
    "stream": True,
    "tools": [{"type": "function", "function": {"name": name}} for name in NAMES],
}
EVENTS_TYPE = "text/event-stream"

PIECES = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["look", "find", "lo", "ok", "other", "", None]),
                "arguments": st.sampled_from(["{}", '{"a"', ": 1}", "", '"ü"', None, {"a": 1}, 5]),
            },
        )
    },
    optional={"index": st.integers(0, 1), "id": st.sampled_from(["a", "b", ""]), "type": st.just("function")},
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": st.sampled_from(["hi", "ö\u2028", "", None]),
        "reasoning_content": st.just("hm"),
        "tool_calls": st.lists(PIECES, max_size=2),
    },
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS},
    optional={"index": st.integers(0, 1), "finish_reason": st.sampled_from(["stop", "tool_calls", "length", None])},
)
CHUNKS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, max_size=2)},
    optional={"usage": st.sampled_from([None, {"prompt_tokens": 3, "completion_tokens": 4}, {"prompt_tokens": "x"}])},
)
EVENTS = st.lists(
    CHUNKS.map(lambda chunk: b"data: " + json.dumps(chunk, ensure_ascii=False).encode())
    | st.sampled_from([b"data: [DONE]", b": ping", b"data: {oops", b'data: {"error": {}}', b"event: x\ndata: {}"])
    | st.just(b"\xff"),
    max_size=8,
)
ENDS = st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """The bytes of a stream, and the same bytes cut somewhere."""
    body = b"".join(event + draw(ENDS) for event in draw(EVENTS))
    body = body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body
    places = sorted(draw(st.lists(st.integers(0, len(body)), max_size=6)))
    starts, ends = [0, *places], [*places, len(body)]
    return body, [body[start:end] for start, end in zip(starts, ends, strict=True)]


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def by_verification(pieces: list[bytes]) -> Reading:
    reader = ChatStreamReader(NAMES)
    for piece in pieces:
        reader.feed(piece)
    return reader.end()


async def by_client(pieces: list[bytes], content_type: str) -> Reading:
    reply = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"content-type": content_type}, stream=Pieces(pieces))
    )
    async with ChatClient("http://model/v1", attempts=1, transport=reply) as client:
        return await client.complete(REQUEST)


def by_gateway(pieces: list[bytes], *, events: bool) -> tuple[str | None, list[tuple[str, str]]]:
    exchange = RecordedExchange(lambda: 0.0, LogBudget(), json.dumps(REQUEST).encode())
    exchange.began(200, events=events)
    for piece in pieces:
        exchange.wrote(piece)
    call = exchange.record()
    return call.finish_reason, [(sent.name, sent.arguments) for sent in call.tool_calls]


def found(reading: Reading) -> tuple[str | None, list[tuple[str, str]]]:
    return reading.finish_reason, [(call.name, call.arguments) for call in reading.answer.calls]


@settings(max_examples=examples(0.6))
@given(streams())
def test_a_stream_is_read_alike_wherever_it_is_cut(stream: tuple[bytes, list[bytes]]) -> None:
    body, pieces = stream
    reading = read_stream(body, NAMES)
    assert by_verification(pieces) == reading
    assert asyncio.run(by_client(pieces, EVENTS_TYPE)) == reading
    assert by_gateway(pieces, events=True) == found(reading)


@settings(max_examples=examples(0.2))
@given(streams())
def test_every_single_cut_makes_no_difference(stream: tuple[bytes, list[bytes]]) -> None:
    body, _ = stream
    whole = read_stream(body, NAMES)
    for place in range(len(body) + 1):
        assert by_verification([body[:place], body[place:]]) == whole


@settings(max_examples=examples(0.6))
@given(CHUNKS, st.data())
def test_a_whole_answer_is_read_alike(chunk: dict[str, Any], data: st.DataObject) -> None:
    choices = [{**choice, "message": choice["delta"]} for choice in chunk["choices"]]
    body = json.dumps({**chunk, "choices": choices}).encode()
    place = data.draw(st.integers(0, len(body)))
    pieces = [body[:place], body[place:]]
    reading = read_body(body)
    assert asyncio.run(by_client(pieces, "application/json")) == reading
    assert by_gateway(pieces, events=False) == found(reading)
