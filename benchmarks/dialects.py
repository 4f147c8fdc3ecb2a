"""A request of Messages and of Responses against one for a chat completion, each plain and streamed.

One server answers the same conversation in each dialect, in alternating rounds, by a scripted model. Each round opens a
trial of each and sends its requests one after the other; the first round is not counted. A request's time is the
client's; the CPU time is the server's, and includes the opening of the trials.

    python benchmarks/dialects.py [--rounds 15] [--requests 100]
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from replay import MODEL, TOKEN_VARIABLE, Cost, cpu_of, opened, question

from trialbed.wire.dialects import CHAT, PATHS, dialect

WAYS = [(name, stream) for stream in (False, True) for name in (CHAT, "messages", "responses")]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--requests", type=int, default=100)
    arguments = parser.parse_args()
    os.environ.setdefault(TOKEN_VARIABLE, secrets.token_urlsafe())
    with tempfile.TemporaryDirectory() as folder:
        report(measure(Path(folder), arguments.rounds, arguments.requests))


def measure(folder: Path, rounds: int, requests: int) -> dict[tuple[str, bool], list[Cost]]:
    """Return the costs of each dialect, one a round."""
    options = {"port": 0, "cache": str(folder / "responses.db"), "watch_stdin": True}
    command = [sys.executable, "-m", "trialbed_server", json.dumps(options)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        headers = {"Authorization": f"Bearer {os.environ[TOKEN_VARIABLE]}"}
        client = httpx.Client(base_url=json.loads(server.stdout.readline())["url"], timeout=600, headers=headers)
        found: dict[tuple[str, bool], list[Cost]] = {way: [] for way in WAYS}
        for number in range(rounds + 1):
            for way in WAYS:
                cost = one_round(client, server.pid, *way, requests)
                if number:
                    found[way].append(cost)
        return found
    finally:
        server.stdin.close()
        server.wait(60)


def one_round(client: httpx.Client, server: int, name: str, stream: bool, requests: int) -> Cost:
    """Send every request once."""
    path = next(path for path, spoken in PATHS.items() if spoken == name)
    bodies = [asked(number, name, stream) for number in range(requests)]
    before, times = cpu_of(server), []
    trial = opened(client, "scripted:gold")
    for body in bodies:
        began = time.perf_counter()
        reply = client.post(f"/t/{trial}/v1/{path}", content=body, headers={"content-type": "application/json"})
        times.append(time.perf_counter() - began)
        assert reply.status_code == 200, reply.text
    client.delete(f"/control/trials/{trial}")
    return Cost(statistics.median(times), (cpu_of(server) - before) / requests)


def asked(number: int, name: str, stream: bool) -> bytes:
    """Return the question of the benchmark of replays in a dialect."""
    chat = dialect().read_request(question(number))
    written: dict[str, Any] = dialect(name).write_request(MODEL, chat.messages, {"temperature": 0}, chat.tools)
    return json.dumps({**written, "stream": stream}).encode()


def report(found: dict[tuple[str, bool], list[Cost]]) -> None:
    """Print each dialect's medians, and its ratio to chat completions in the same round."""
    print(f"{'dialect':<28}{'ms':>8}{'ratio':>8}{'CPU, ms':>9}{'ratio':>8}")
    for (name, stream), costs in found.items():
        floor = found[CHAT, stream]
        wall = statistics.median(cost.wall / base.wall for cost, base in zip(costs, floor, strict=True))
        cpu, plain = (statistics.fmean(cost.cpu for cost in each) for each in (costs, floor))
        label = f"{name}, streamed" if stream else name
        middle = statistics.median(cost.wall for cost in costs)
        print(f"{label:<28}{1000 * middle:>8.2f}{wall:>8.2f}{1000 * cpu:>9.2f}{cpu / plain:>8.2f}")


if __name__ == "__main__":
    main()
