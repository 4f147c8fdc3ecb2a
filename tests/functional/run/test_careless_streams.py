"""Vendors that cut tool calls in their own way: a run reads what they mean, and blames nothing on the model."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench

from trialbed.chat import DONE_EVENT, Completion, event_bytes

AGENT = Path(__file__).parent / "streaming" / "streaming_agent.py"
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

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = b"".join(self._events(request))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _events(self, request: dict[str, Any]) -> Iterator[bytes]:
            if request["messages"][-1]["role"] == "tool":
                yield from Completion(model="x", id="i", content="This is what I found.", usage=USAGE).events()
                return
            names = [tool["function"]["name"] for tool in request["tools"][:2]]
            for piece in cut(names, '{"place": "Oslo"}'):
                yield event_bytes({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
            yield event_bytes({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
            yield event_bytes({"choices": [], "usage": USAGE})
            yield DONE_EVENT

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that holds the framework as an installed distribution."""
    folder = tmp_path / "site"
    metadata = folder / "streaming-1.0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(AGENT, folder)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: streaming\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[trialbed.frameworks]\nstreaming = streaming_agent:StreamingAgent\n")
    return folder


@pytest.mark.parametrize("cut", [repeated_name, no_index])
def test_calls_are_read_as_they_are_meant(bench: Bench, site: Path, cut: Any) -> None:
    with vendor(cut) as url:
        document = bench(
            "run", "-f", "streaming", "--model", "x", "--base-url", url, "--limit", 1, "--json", PYTHONPATH=str(site)
        ).document
    (result,) = document["results"]
    assert "error" not in result, result
    wire = result["wire"]
    assert (wire["sent_invalid"], wire["sent_problems"]) == (0, {})
    assert len(wire["sent"]) == 2
    assert wire["sent"] == wire["observed"] == wire["claimed"]
    assert result["scores"]["claimed_vs_observed"] == 1.0
    assert result["scores"]["model_turns"] == 2
    assert result["scores"]["total_tokens"] == 20
