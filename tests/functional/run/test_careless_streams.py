"""Vendors that cut tool calls in their own way: a run reads what they mean, and blames nothing on the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench
from support.endpoints import Request, Response, serving

from trialbed.wire import DONE_EVENT, event_bytes
from trialbed.wire.dialects.chat_completions import Completion

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}

Pieces = list[dict[str, Any]]


def repeated_name(names: list[str], arguments: str) -> Pieces:
    """One call after the other, the name in every chunk, also in one after the arguments."""
    first, *others = arguments[:3], arguments[3:], ""
    pieces: Pieces = []
    for number, name in enumerate(names):
        pieces.append({"index": number, "id": f"c{number}", "function": {"name": name, "arguments": first}})
        pieces += [{"index": number, "function": {"name": name, "arguments": part}} for part in others]
    return pieces


def no_index(names: list[str], arguments: str) -> Pieces:
    """One call after the other: its id, and no index anywhere."""
    pieces: Pieces = []
    for number, name in enumerate(names):
        pieces.append({"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments[:3]}})
        pieces.append({"function": {"arguments": arguments[3:]}})
    return pieces


@contextmanager
def vendor(cut: Callable[[list[str], str], Pieces]) -> Iterator[str]:
    """An endpoint that calls the first two tools, streamed in this way, and then answers; its URL."""

    def respond(request: Request) -> Response:
        return Response(b"".join(events(request.document)), media_type="text/event-stream")

    def events(request: dict[str, Any]) -> Iterator[bytes]:
        if request["messages"][-1]["role"] == "tool":
            yield from Completion(model="x", id="i", content="This is what I found.", usage=USAGE).events()
            return
        names = [tool["function"]["name"] for tool in request["tools"][:2]]
        for piece in cut(names, '{"place": "Oslo"}'):
            yield event_bytes({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
        yield event_bytes({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        yield event_bytes({"choices": [], "usage": USAGE})
        yield DONE_EVENT

    with serving(respond) as url:
        yield url


@pytest.mark.parametrize("cut", [repeated_name, no_index])
def test_calls_are_read_as_they_are_meant(bench: Bench, streaming_site: Path, cut: Any) -> None:
    with vendor(cut) as url:
        options = ("-f", "streaming", "--model", "x", "--base-url", url, "--limit", 1, "--json")
        document = bench("run", *options, PYTHONPATH=str(streaming_site)).document
    (result,) = document["results"]
    assert "error" not in result, result
    wire = result["wire"]
    assert (wire["sent_invalid"], wire["sent_problems"]) == (0, {})
    assert len(wire["sent"]) == 2
    assert wire["sent"] == wire["observed"] == wire["claimed"]
    assert result["scores"]["claimed_vs_observed"] == 1.0
    assert result["scores"]["model_turns"] == 2
    assert result["scores"]["total_tokens"] == 20
