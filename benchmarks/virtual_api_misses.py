"""Measure how misses in the virtual API slow down cached answers.

Hits are measured alone, and while this many misses wait for a real API that takes five seconds: the median and the 99th
percentile of the hits' latencies, and their ratios.

    python benchmarks/virtual_api_misses.py [--misses 80] [--rounds 5] [--seconds 3] [--connections 4]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import tempfile
import time
from pathlib import Path

from virtual_api import REF, fill, run_load, started

ENTRIES = 1000
SLOW, SETTLE = 5.0, 1.0
"""Seconds that a slow real API takes, and after which all misses wait for it."""

Latencies = tuple[float, float]
"""Median and 99th percentile, in seconds."""


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", type=int, default=80, help="misses that wait")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--slow-api", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--miss", metavar="URL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.slow_api:
        serve_slow_api()
    elif arguments.miss:
        asyncio.run(keep_missing(arguments.miss, arguments.misses))
    else:
        with tempfile.TemporaryDirectory() as folder:
            report(measure(Path(folder), arguments), arguments.misses)


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, list[Latencies]]:
    """Return the latencies of hits in each round, alone and while misses wait."""
    fill(folder / "cache.db", ENTRIES)
    rounds: dict[str, list[Latencies]] = {"alone": [], "misses": []}
    with started([__file__, "--slow-api"]) as (_, real):
        options = {"port": 0, "watch_stdin": True, "cache": str(folder / "cache.db")}
        options |= {"real_url": real, "real_timeout": 60}
        with started(["-m", "trialbed_server", json.dumps(options)]) as (_, url):
            run_load(url, ENTRIES, arguments.connections, 0)
            for _ in range(arguments.rounds):
                rounds["alone"].append(hits(url, arguments))
                with started([__file__, "--miss", url, "--misses", str(arguments.misses)]):
                    rounds["misses"].append(hits(url, arguments))
    return rounds


def hits(url: str, arguments: argparse.Namespace) -> Latencies:
    """Return the latencies of one round."""
    _, _, median, high = run_load(url, ENTRIES, arguments.connections, arguments.seconds)
    return median, high


def serve_slow_api() -> None:
    """A real API that takes its time."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(_request: Request) -> JSONResponse:
        await asyncio.sleep(SLOW)
        return JSONResponse({"error": "", "response": "late"})

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/"}), flush=True)
    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[listener])


async def keep_missing(url: str, count: int) -> None:
    """Keep this many different misses under way, and report once they are."""
    import httpx

    numbers = iter(range(10**9))

    async def miss(client: httpx.AsyncClient) -> None:
        while True:
            tool_input = {"missing": next(numbers), "at": time.time()}
            await client.post("/virtual", json={**REF, "tool_input": tool_input, "strip": "", "toolbench_key": ""})

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client, asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(miss(client))
        await asyncio.sleep(SETTLE)
        print(json.dumps({"url": ""}), flush=True)


def report(rounds: dict[str, list[Latencies]], count: int) -> None:
    """Print the medians over the rounds and, of each round, the ratio."""
    print(f"{'':24}{'p50 ms':>9}{'p99 ms':>9}{'p50 ratio':>11}{'p99 ratio':>11}")
    for name, label in (("alone", "hits alone"), ("misses", f"{count} misses waiting")):
        medians = [statistics.median(values) * 1e3 for values in zip(*rounds[name], strict=True)]
        pairs = list(zip(rounds[name], rounds["alone"], strict=True))
        ratios = [statistics.median(ours[i] / alone[i] for ours, alone in pairs) for i in range(2)]
        print(f"{label:24}{medians[0]:9.3f}{medians[1]:9.3f}{ratios[0]:11.2f}{ratios[1]:11.2f}")


if __name__ == "__main__":
    main()
