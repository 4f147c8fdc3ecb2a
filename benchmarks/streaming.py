"""The CPU time that the gateway takes for each streamed token, and for a request without any.

A server passes on the streamed answers of an endpoint that writes one token an event: of 10 tokens, and of 1,010. The
difference is due to 1,000 tokens; the rest is due to a request. CPU time is the server's, the median of rounds.

    python benchmarks/streaming.py [--rounds 5] [--requests 20]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import httpx
from growth import save
from replay import MODEL, TOKEN_VARIABLE, cpu_of, opened, question

SHORT, LONG = 10, 1_010


def event(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request with the number of tokens in its temperature."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    tokens = int(json.loads(await reader.readexactly(length))["max_tokens"])
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    for number in range(tokens):
        writer.write(event({"content": f" word{number}"}))
        await writer.drain()
        await asyncio.sleep(0.002)  # so that events arrive apart, as those of a model do
    writer.write(event({}, "stop") + b"data: [DONE]\n\n")
    await writer.drain()
    writer.close()


def serve() -> str:
    """Start the endpoint in a thread, and return its URL."""
    found: list[int] = []
    ready = threading.Event()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        found.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    ready.wait()
    return f"http://127.0.0.1:{found[0]}/v1"


def cost(client: httpx.Client, server: int, tokens: int, requests: int) -> float:
    """Return the CPU seconds of a request with this many tokens in its answer."""
    before = cpu_of(server)
    for number in range(requests):
        trial = opened(client, MODEL)
        body = {**question(number), "stream": True, "max_tokens": tokens}
        reply = client.post(f"/t/{trial}/v1/chat/completions", json=body)
        assert reply.text.count("data:") >= tokens, reply.text[:500]
        client.delete(f"/control/trials/{trial}")
    return (cpu_of(server) - before) / requests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=20)
    given = parser.parse_args()
    os.environ.setdefault(TOKEN_VARIABLE, secrets.token_urlsafe())
    with tempfile.TemporaryDirectory() as folder:
        options = {"port": 0, "watch_stdin": True, "upstream": serve(), "cache": str(Path(folder, "responses.db"))}
        command = [sys.executable, "-m", "trialbed_server", json.dumps(options)]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdin is not None
        assert server.stdout is not None
        headers = {"Authorization": f"Bearer {os.environ[TOKEN_VARIABLE]}"}
        with httpx.Client(base_url=json.loads(server.stdout.readline())["url"], timeout=600, headers=headers) as client:
            cost(client, server.pid, SHORT, given.requests)
            rounds = [
                (cost(client, server.pid, SHORT, given.requests), cost(client, server.pid, LONG, given.requests))
                for _ in range(given.rounds)
            ]
        server.stdin.close()
        server.wait(60)
    token = statistics.median((long - short) / (LONG - SHORT) for short, long in rounds)
    request = statistics.median(short for short, _ in rounds) - SHORT * token
    print(f"{1e6 * token:.1f} µs of CPU a token, {1e3 * request:.2f} ms a request with the opening of its trial")
    save("streaming", "gateway", {"token": round(1e6 * token, 2), "request": round(1e3 * request, 3)})


if __name__ == "__main__":
    main()
