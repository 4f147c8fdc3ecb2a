"""A replayed request against a scripted one, with recordings of 100 and of 100,000 exchanges, and from the model cache.

One server answers the same requests in alternating rounds: by a scripted model, by a replay of the scripted model's
answers from a small and from a large cassette, and from a model cache as large. The other exchanges of the large ones
are of the same shape. Each round opens a trial of each and sends its requests one after the other; the first round is
not counted. The CPU time is the server's, and includes the opening of the trials; other work on the machine hardly
changes it, and the figures that count are its ratios. A request's time is the client's, and says little on a busy one.

    python benchmarks/replay.py [--rounds 15] [--large 100000]
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from trialbed.contracts import ServedAnswer
from trialbed.wire.dialects import CHAT
from trialbed_plugins.recordings import KeptAnswer, ModelCache
from trialbed_plugins.recordings._cassette import Cassette, RecordedReply, write_cassette
from trialbed_plugins.recordings._requests import canonical, canonical_text, request_key

TOKEN_VARIABLE = "TRIALBED_SERVER_TOKEN"
MODEL, IDENTITY, SEED, SMALL = "gpt-4o", "benchmark", 7, 100
API = {"category": "Weather", "tool_name": "Weather Now", "api_name": "Current", "description": "The weather of a city"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {
        "name": f"Weather_Now_{number}",
        "description": f"The current weather of a city, by source number {number}. " * 4,
        "parameters": SCHEMA,
        "api": {"category": API["category"], "tool_name": API["tool_name"], "api_name": f"Current {number}"},
    }
    for number in range(4)
]


class Cost(NamedTuple):
    """Seconds of the middle request in a round, and the server's average CPU seconds per request."""

    wall: float
    cpu: float


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--large", type=int, default=100_000, help="exchanges of the large recordings")
    arguments = parser.parse_args()
    os.environ.setdefault(TOKEN_VARIABLE, secrets.token_urlsafe())
    with tempfile.TemporaryDirectory() as folder:
        report(measure(Path(folder), arguments.rounds, arguments.large), arguments.large)


def measure(folder: Path, rounds: int, large: int) -> dict[str, list[Cost]]:
    """Return the costs of each way to answer, one a round."""
    cache = folder / "answers.db"
    options = {"port": 0, "cache": str(folder / "responses.db"), "watch_stdin": True, "model_cache": str(cache)}
    server = subprocess.Popen(
        [sys.executable, "-m", "trialbed_server", json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        client = httpx.Client(
            base_url=json.loads(server.stdout.readline())["url"],
            timeout=600,
            headers={"Authorization": f"Bearer {os.environ[TOKEN_VARIABLE]}"},
        )
        replies = list(answer_all(client, "scripted:gold"))
        for size in (SMALL, large):
            write_cassette(Cassette(MODEL, IDENTITY, MODEL, recorded(replies, size)), folder / str(size))
        fill(cache, replies, large)
        ways = {
            "scripted": {"model": "scripted:gold"},
            f"replay, {SMALL:,}": {"model": f"replay:stop:{folder / str(SMALL)}"},
            f"replay, {large:,}": {"model": f"replay:stop:{folder / str(large)}"},
            f"cache, {large:,}": {"model": "scripted:gold", "cached_as": IDENTITY},
        }
        found: dict[str, list[Cost]] = {name: [] for name in ways}
        for number in range(rounds + 1):
            for name, fields in ways.items():
                cost = one_round(client, server.pid, replies, **fields)
                if number:
                    found[name].append(cost)
        return found
    finally:
        server.stdin.close()
        server.wait(60)


def one_round(client: httpx.Client, server: int, replies: Sequence[bytes], **fields: str) -> Cost:
    """Send every request once; each answer must be the recorded one."""
    before, times = cpu_of(server), []
    trial = opened(client, **fields)
    for number, expected in enumerate(replies):
        began = time.perf_counter()
        reply = client.post(f"/t/{trial}/v1/chat/completions", json=question(number))
        times.append(time.perf_counter() - began)
        assert reply.status_code == 200, reply.text
        if not fields["model"].startswith("scripted") or "cached_as" in fields:
            assert reply.content == expected
    client.delete(f"/control/trials/{trial}")
    return Cost(statistics.median(times), (cpu_of(server) - before) / len(replies))


def answer_all(client: httpx.Client, model: str) -> Iterator[bytes]:
    """Yield the answers of a model to all requests."""
    trial = opened(client, model)
    for number in range(SMALL):
        yield client.post(f"/t/{trial}/v1/chat/completions", json=question(number)).content
    client.delete(f"/control/trials/{trial}")


def opened(client: httpx.Client, model: str, **fields: str) -> str:
    """Return a trial of a model."""
    trial = secrets.token_urlsafe(16)
    script = [{"name": tool["name"], "arguments": {"city": "Oslo"}} for tool in TOOLS[:2]]
    apis = [{**API, "api_name": f"Current {number}"} for number in range(len(TOOLS))]
    own = {"trial": trial, "model": model, "model_name": MODEL, "seed": SEED}
    reply = client.post("/control/trials", json={**own, "tools": TOOLS, "apis": apis, "script": script, **fields})
    assert reply.status_code == 201, reply.text
    return trial


def question(number: int) -> dict[str, Any]:
    """Return a request of a usual size, with an instruction, a question and four tools."""
    functions = [{name: tool[name] for name in ("name", "description", "parameters")} for tool in TOOLS]
    return {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You answer questions with the help of tools. " * 10},
            {"role": "user", "content": f"Question {number}: how is the weather in Oslo, and is it raining?"},
        ],
        "tools": [{"type": "function", "function": function} for function in functions],
        "temperature": 0,
        "seed": SEED,
    }


def recorded(replies: Sequence[bytes], size: int) -> Iterator[RecordedReply]:
    """Yield the exchanges of a cassette, with the requested ones and others of their shape."""
    for number in range(size):
        request = json.loads(canonical_text(canonical(question(number), {MODEL})))
        yield RecordedReply(SEED, 0, request, replies[number % SMALL].decode(), stream=False, duration=1.0)


def fill(path: Path, replies: Sequence[bytes], size: int) -> None:
    """Put as many exchanges into the model cache."""
    cache = ModelCache(path)
    for number in range(size):
        text = canonical_text(canonical(question(number), {MODEL, "scripted:gold"}))
        key = request_key(text, identity=IDENTITY, seed=SEED, occurrence=0)
        cache.keep(key, KeptAnswer(ServedAnswer(replies[number % SMALL], stream=False, duration=1.0), CHAT))
    cache.close()


def cpu_of(process: int) -> float:
    """Return the seconds of processor time that the threads of a process have used, to the nanosecond."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def report(found: dict[str, list[Cost]], large: int) -> None:
    """Print each way's medians, and its ratios to the scripted model in the same round."""
    floor = found["scripted"]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, {len(floor)} rounds of {SMALL} requests")
    print(f"{'answered by':<20}{'CPU, ms':>8}{'ratio':>7}  {'[range]':<14}{'ms':>8}{'ratio':>7}")
    for name, costs in found.items():
        cpu, wall = ([cost[part] / base[part] for cost, base in zip(costs, floor, strict=True)] for part in (1, 0))
        used, taken = (1000 * statistics.median(cost[part] for cost in costs) for part in (1, 0))
        print(
            f"{name:<20}{used:>8.2f}{statistics.median(cpu):>7.2f}  [{min(cpu):.2f}, {max(cpu):.2f}]"
            f"{taken:>10.2f}{statistics.median(wall):>7.2f}"
        )
    pairs = zip(found[f"replay, {large:,}"], found[f"replay, {SMALL:,}"], strict=True)
    print(
        f"CPU, {large:,} exchanges over {SMALL}: {statistics.median(big.cpu / small.cpu for big, small in pairs):.2f}"
    )


if __name__ == "__main__":
    main()
