"""``bench serve --faults`` as a process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Callable

import httpx
import pytest

Start = Callable[..., "subprocess.Popen[str]"]
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "q"}]}


def ready(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    url: str = json.loads(process.stdout.readline())["url"]
    return url


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_with_exit_code_0(command: Start, number: signal.Signals, busy: bool) -> None:
    process = command("serve", "--port", 0, "--faults", "silent")
    url = ready(process)
    with socket.create_connection((url.split("/")[2].split(":")[0], int(url.split(":")[2].split("/")[0]))) as client:
        if busy:
            body = json.dumps(REQUEST).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            client.sendall(head + body)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_it_does_what_the_script_says_attempt_by_attempt(command: Start) -> None:
    process = command(
        "serve", "--port", 0, "--faults", '[{"fault": "status", "status": 429, "retry_after": 2}, "none"]'
    )
    url = f"{ready(process)}/chat/completions"
    try:
        first, second, other = (httpx.post(url, json=body) for body in (REQUEST, REQUEST, {**REQUEST, "n": 1}))
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert (first.status_code, first.headers["Retry-After"]) == (429, "2")
    assert second.json()["choices"][0]["finish_reason"] == "stop"
    assert other.status_code == 429
