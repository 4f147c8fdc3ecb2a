"""Vendors that cut tool calls in their own way: a run reads what they mean, and blames nothing on the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench

from trialbed.wire import event_bytes
from trialbed.wire.dialects.chat_completions import DONE_EVENT
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, say, serve

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

    def respond(request: ReceivedRequest) -> ModelTurn | Response:
        if request.asked.messages[-1].role == "tool":
            return say("This is what I found.", usage=USAGE)
        names = [tool.name for tool in request.asked.tools[:2]]
        choices: list[dict[str, Any]] = [
            {"delta": {"tool_calls": [piece]}} for piece in cut(names, '{"place": "Oslo"}')
        ]
        choices.append({"delta": {}, "finish_reason": "tool_calls"})
        chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, **choice}]} for choice in choices]
        chunks.append({"choices": [], "usage": USAGE})
        return Response((*map(event_bytes, chunks), DONE_EVENT), content_type="text/event-stream", sized=False)

    with serve(respond) as model:
        yield model.url


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
