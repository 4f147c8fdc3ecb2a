"""A vendor that answers from memory, fast enough to measure clients, and counts.

    python benchmarks/vendor_mock.py [--latency 0.02] [--first-token 1.0]

Prints its URL. 40 % of answers are a valid tool call, 50 % a text, the rest wrong arguments, two calls, ``length``,
broken JSON and unknown tools; 8 to 14 events each. Every stream's first token carries in its fingerprint how many
milliseconds after the request's arrival it was written. ``GET /stats`` returns and resets requests, and the seconds
from the arrival of the first to the last byte of the last.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time

HEAD = {"id": "chatcmpl-mock", "created": 1, "model": "mock"}
USAGE = {"prompt_tokens": 1700, "completion_tokens": 24, "total_tokens": 1724}
TEXT = ("The ", "answer ", "to ", "this ", "needs ", "no tool ", "at all.")
MIX = (
    ("call",) * 40
    + ("text",) * 50
    + ("bad", "bad", "bad", "two", "two", "two", "length", "length", "broken", "unknown")
)


class Answers:
    """The answers of the mix, as bytes ready to be sent."""

    def __init__(self) -> None:
        self.streams = {kind: self._stream(kind) for kind in set(MIX)}
        self.documents = {kind: self._document(kind) for kind in set(MIX)}

    def calls(self, kind: str) -> list[tuple[str, list[str]]]:
        """Names and argument pieces."""
        good = ['{"ci', 'ty": ', '"Os', "lo", '"}']
        made = {
            "call": [("lookup_0", good)],
            "two": [("lookup_0", good), ("lookup_1", good)],
            "bad": [("lookup_0", ['{"ci', 'ty": ', "7", "}"])],
            "broken": [("lookup_0", ['{"ci', 'ty": ', '"Os'])],
            "unknown": [("nowhere", good)],
        }
        return made.get(kind, [])

    def _stream(self, kind: str) -> tuple[bytes, bytes, bytes]:
        """Return the role, the first token (with a place for its time), and the rest."""
        deltas = [{"content": piece} for piece in TEXT] if not self.calls(kind) else []
        for index, (name, pieces) in enumerate(self.calls(kind)):
            head = {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": pieces[0]}}
            deltas.append({"tool_calls": [{"index": index, **head}]})
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces[1:]]
        first, *rest = deltas
        finish = self._finish(kind)
        tail = [*(event(delta) for delta in rest), event({}, finish), event(usage=USAGE), b"data: [DONE]\n\n"]
        return event({"role": "assistant", "content": ""}), event(first, fingerprint="%s"), b"".join(tail)

    def _document(self, kind: str) -> bytes:
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": "".join(pieces)}}
            for n, (name, pieces) in enumerate(self.calls(kind))
        ]
        message = {"role": "assistant", "content": None if calls else "".join(TEXT), "tool_calls": calls or None}
        choice = {"index": 0, "message": message, "finish_reason": self._finish(kind)}
        return json.dumps({**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()

    def _finish(self, kind: str) -> str:
        return "tool_calls" if self.calls(kind) else "length" if kind == "length" else "stop"


def event(
    delta: object = None, finish: str | None = None, *, usage: object = None, fingerprint: str | None = None
) -> bytes:
    """Return one chunk in its event."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {**HEAD, "object": "chat.completion.chunk", "choices": choices}
    chunk |= {"usage": usage} if usage else {}
    chunk |= {"system_fingerprint": fingerprint} if fingerprint else {}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


class Mock:
    """What all connections share."""

    def __init__(self, latency: float, first_token: float) -> None:
        self.latency = latency
        self.first_token = first_token
        self.answers = Answers()
        self.requests = 0
        self.began = self.ended = 0.0

    def stats(self) -> bytes:
        """What was seen since the last time."""
        body = json.dumps({"requests": self.requests, "seconds": self.ended - self.began}).encode()
        self.requests, self.began, self.ended = 0, 0.0, 0.0
        return body


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, as far as clients of chat completions use it."""

    def __init__(self, mock: Mock) -> None:
        self.mock = mock
        self.buffer = b""
        self.need = -1
        self.head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the way back."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer a request immediately once it is whole."""
        self.buffer += data
        if self.need < 0:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            self.head, self.buffer, self.need = head, rest, content_length(head)
        if len(self.buffer) >= self.need:
            body, self.buffer, self.need = self.buffer[: self.need], self.buffer[self.need :], -1
            self.answer(self.head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        """Answer one request."""
        if head.startswith(b"GET"):
            self.whole(self.mock.stats())
            return
        arrived = time.perf_counter()
        self.mock.began = self.mock.began or arrived
        kind = MIX[self.mock.requests % len(MIX)]
        self.mock.requests += 1
        stream = b'"stream":true' in body or b'"stream": true' in body
        loop = asyncio.get_running_loop()
        loop.call_later(self.mock.latency, self.stream if stream else self.document, kind, arrived)

    def document(self, kind: str, _arrived: float) -> None:
        """A whole answer."""
        self.whole(self.mock.answers.documents[kind])
        self.mock.ended = time.perf_counter()

    def stream(self, kind: str, arrived: float) -> None:
        """The head and the role, and later the tokens."""
        role, first, rest = self.mock.answers.streams[kind]
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.transport.write(head + chunk(role))
        if self.mock.first_token:
            asyncio.get_running_loop().call_later(self.mock.first_token, self.tokens, first, rest, arrived)
        else:
            self.tokens(first, rest, arrived)

    def tokens(self, first: bytes, rest: bytes, arrived: float) -> None:
        """The first token with its time, then the rest."""
        now = time.perf_counter()
        self.transport.write(chunk(first % b"%.3f" % ((now - arrived) * 1000)) + chunk(rest) + b"0\r\n\r\n")
        self.mock.ended = now

    def whole(self, body: bytes) -> None:
        """A body of JSON."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)


def chunk(data: bytes) -> bytes:
    """Return a chunk of the body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def content_length(head: bytes) -> int:
    """Return the length of a request's body."""
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


async def serve(mock: Mock) -> None:
    """Serve for ever."""
    server = await asyncio.get_running_loop().create_server(lambda: Connection(mock), "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer begins")
    parser.add_argument("--first-token", type=float, default=0.0, help="seconds from there to a stream's first token")
    arguments = parser.parse_args()
    import uvloop

    uvloop.run(serve(Mock(arguments.latency, arguments.first_token)))


if __name__ == "__main__":
    main()
