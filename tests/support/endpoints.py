"""Model endpoints for tests: HTTP servers in a thread that answer as a function says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """What an endpoint was sent."""

    headers: Mapping[str, str]
    document: dict[str, Any]


@dataclass(frozen=True)
class Response:
    """What an endpoint answers."""

    body: bytes
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, document: object, status: int = 200, **more: Any) -> Response:
        """A document with this status."""
        return cls(json.dumps(document).encode(), status, **more)


Reply = Mapping[str, Any] | tuple[int, Mapping[str, Any]]
"""A completion, or a status and a document."""


@contextmanager
def endpoint(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[str]:
    """The base URL of an OpenAI-compatible endpoint.

    Args:
        reply: what it answers to a request's body; called in several threads at once.
    """

    def respond(request: Request) -> Response:
        found = reply(request.document)
        status, document = found if isinstance(found, tuple) else (200, found)
        return Response.json(document, status)

    with serving(respond) as url:
        yield url


@contextmanager
def serving(respond: Callable[[Request], Response | None]) -> Iterator[str]:
    """The base URL of an endpoint that may answer anything.

    Args:
        respond: what it answers to a request, or None to drop the connection; called in several threads at once.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = respond(Request(self.headers, document))
            if response is None:
                self.close_connection = True
                return
            self.send_response(response.status)
            self.send_header("Content-Type", response.media_type)
            self.send_header("Content-Length", str(len(response.body)))
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def completion(text: str | None = None, *calls: tuple[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    """A completion of this text and these calls, each a tool's name and the text of its arguments."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for place, (name, arguments) in enumerate(calls)
        ]
    reason = finish_reason or ("tool_calls" if calls else "stop")
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
