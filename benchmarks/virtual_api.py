"""Measure the cost of a cache hit in the virtual API by requests per second, relative to a bare Starlette endpoint.

The floor is an endpoint that returns a constant of the same size and does not even read the request. Both run
under uvicorn with the same settings, one process each, and are loaded in alternating rounds by one client
process that keeps its connections open and asks for uniformly random cached entries.

With ``--peer``, a stand-in for StableToolBench's server runs in addition: per hit it does the same, with a handler in
a pool of threads that parses the whole JSON file of the Api and looks the key up. Sizes are entries of one Api.
Before it is measured, a server is asked once for every entry. With ``--cold``, there are also servers that keep next
to nothing in memory and read every hit from the file.

``cpu`` is the server's CPU time per request; unlike the rate it does not depend on what else the machine does.
``busy`` is the share of one core the server had: near 1 it, not the client, was the bottleneck.

    python benchmarks/virtual_api.py [--rounds 5] [--seconds 3] [--connections 32] [--sizes 10,10000] [--peer] [--cold]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil

BODY = json.dumps({"error": "", "response": {"text": "x" * 460}})
REF = {"category": "Data", "tool_name": "Bench Tool", "api_name": "Get Entry"}


class Round(NamedTuple):
    """Requests per second, median latency and CPU time per request in seconds, and the share of a core."""

    rate: float
    median: float
    cpu: float
    busy: float


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--sizes", default="10,100000", help="entries, separated by commas")
    parser.add_argument("--peer", action="store_true", help="measure a stand-in for StableToolBench's server, too")
    parser.add_argument("--cold", action="store_true", help="measure servers that keep nothing in memory, too")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--stand-in", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--load", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--entries", type=int, default=10, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        serve_bare()
    elif arguments.stand_in:
        serve_stand_in(Path(arguments.stand_in))
    elif arguments.load:
        print(json.dumps(asyncio.run(load(arguments))))
    else:
        with tempfile.TemporaryDirectory() as folder:
            report(measure(Path(folder), arguments))


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, list[Round]]:
    """``name -> rounds``, every server measured in every round."""
    sizes = [int(size) for size in arguments.sizes.split(",")]
    with ExitStack() as stack:
        servers = {"bare": stack.enter_context(started([__file__, "--bare"]))}
        entries = [10]
        for size in sizes:
            cache = folder / f"{size}.db"
            fill(cache, size)
            for name, options in ours(size, arguments):
                options |= {"port": 0, "watch_stdin": True, "cache": str(cache)}
                servers[name] = stack.enter_context(started(["-m", "trialbed_server", json.dumps(options)]))
                entries.append(size)
            if arguments.peer:
                fill_stand_in(folder / f"peer{size}", size)
                peer = [__file__, "--stand-in", str(folder / f"peer{size}")]
                servers[f"peer, {size}"] = stack.enter_context(started(peer))
                entries.append(size)
        for (name, (_, url)), size in zip(servers.items(), entries, strict=True):
            if not name.startswith("peer") and not name.endswith("cold"):
                run_load(url, size, arguments.connections, 0)
        rounds: dict[str, list[Round]] = {name: [] for name in servers}
        for _ in range(arguments.rounds):
            for (name, (process, url)), size in zip(servers.items(), entries, strict=True):
                rounds[name].append(measured(process, url, size, arguments))
        return rounds


def ours(size: int, arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the name and options of our servers for a cache of this size."""
    yield str(size), {"memory": memory_for(size)}
    if arguments.cold:
        yield f"{size}, cold", {"memory": 0}


def memory_for(size: int) -> int:
    """Return the bytes for this many entries in memory, twice their size, because half of it holds the recent ones."""
    return max(1024, size // 500) * 2**20


def measured(process: psutil.Process, url: str, size: int, arguments: argparse.Namespace) -> Round:
    """One round on one server."""
    before = cpu_of(process)
    count, seconds, median, _ = run_load(url, size, arguments.connections, arguments.seconds)
    cpu = cpu_of(process) - before
    return Round(count / seconds, median, cpu / count, cpu / seconds)


def cpu_of(process: psutil.Process) -> float:
    """CPU time of a server, in seconds."""
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def run_load(url: str, size: int, connections: int, seconds: float) -> list[float]:
    """Load a server from another process; return answered requests, seconds, median and 99th percentile latency.

    Args:
        seconds: how long it asks for random entries; 0 to ask for each entry once.
    """
    command = [sys.executable, __file__, "--load", url, "--entries", str(size)]
    command += ["--connections", str(connections), "--seconds", str(seconds)]
    answer: list[float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer


@contextmanager
def started(command: list[str]) -> Iterator[tuple[psutil.Process, str]]:
    """A server that prints its URL when it listens and ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield psutil.Process(process.pid), json.loads(process.stdout.readline())["url"]
    finally:
        process.stdin.close()
        process.terminate()
        process.wait()


def fill(cache: Path, size: int) -> None:
    """A response cache with this many entries."""
    from trialbed_server.response_store import Entry, Origin, ResponseStore
    from trialbed_server.standard_names import canonical_json, request_key, requested_name

    name = requested_name(*REF.values())
    inputs = [{"index": f"{index:08d}", "verbose": True} for index in range(size)]
    store = ResponseStore(str(cache))
    for some in batched(inputs, 10_000):
        store.add([Entry(request_key(name, i), name, canonical_json(i), BODY, Origin("imported")) for i in some])
    store.close()


def batched(items: list[dict[str, object]], size: int) -> Iterator[list[dict[str, object]]]:
    """Yield the items in batches of this size."""
    yield from (items[start : start + size] for start in range(0, len(items), size))


def fill_stand_in(folder: Path, size: int) -> None:
    """The file of an Api, as StableToolBench's server keeps it."""
    folder.mkdir()
    entries = {str({"verbose": True, "index": f"{index:08d}"}): json.loads(BODY) for index in range(size)}
    (folder / "get_entry.json").write_text(json.dumps(entries, indent=4))


def serve_stand_in(folder: Path) -> None:
    """A server that does per hit what StableToolBench's does, and no more."""
    import socket

    import uvicorn
    from fastapi import FastAPI, Response
    from pydantic import BaseModel

    class Info(BaseModel):
        category: str
        tool_name: str
        api_name: str
        tool_input: str | dict  # type: ignore[type-arg]
        strip: str
        toolbench_key: str

    app = FastAPI()

    def virtual(info: Info) -> Response:
        tool_input = json.loads(info.tool_input) if isinstance(info.tool_input, str) else info.tool_input
        with (folder / "get_entry.json").open() as file:
            cache = json.load(file)
        # As text of the same length as the other servers'; FastAPI's own encoding would take longer.
        return Response(json.dumps(cache[str(tool_input)]), media_type="application/json")

    virtual.__annotations__["info"] = Info
    app.post("/virtual", response_model=None)(virtual)
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
    uvicorn.Server(config).run(sockets=[listener])


def serve_bare() -> None:
    """Serve a constant under the settings of the real server, as the floor."""
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    body = BODY.encode()

    async def constant(_request: Request) -> Response:
        return Response(body, media_type="application/json")

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    app = Starlette(routes=[Route("/virtual", constant, methods=["POST"])])
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", server_header=False)
    uvicorn.Server(config).run(sockets=[listener])


class Client(asyncio.Protocol):
    """One connection with one request under way."""

    def __init__(self, indexes: Iterator[int], latencies: list[float], done: asyncio.Event) -> None:
        self._indexes = indexes
        self._latencies = latencies
        self._done = done
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Check the answer once it is whole, and ask again."""
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found or len(body) < len(BODY):
            return
        if not head.startswith(b"HTTP/1.1 200") or body != BODY.encode():
            raise SystemExit(f"unexpected answer: {self._buffer[:300]!r}")
        self._latencies.append(time.perf_counter() - self._asked)
        self._buffer = b""
        self._ask()

    def _ask(self) -> None:
        index = next(self._indexes, None)
        if index is None:
            self._done.set()
            return
        self._asked = time.perf_counter()
        self._transport.write(request(index))  # type: ignore[attr-defined] # a TCP transport


def request(index: int) -> bytes:
    """Return the HTTP request for this entry."""
    body = _BODY_HEAD + b"%08d" % index + _BODY_TAIL
    return _HEAD + body


_BODY_HEAD, _BODY_TAIL = (
    json.dumps({**REF, "tool_input": {"verbose": True, "index": "@"}, "strip": "", "toolbench_key": "EMPTY"})
    .encode()
    .split(b"@")
)
_HEAD = (
    b"POST /virtual HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: */*\r\n"
    b"Content-Length: %d\r\n\r\n" % (len(_BODY_HEAD) + 8 + len(_BODY_TAIL))
)


async def load(arguments: argparse.Namespace) -> tuple[int, float, float, float]:
    """Ask for random entries for some seconds, or once for every entry if that is 0."""
    host = urlsplit(arguments.load)
    latencies: list[float] = []
    done = [asyncio.Event() for _ in range(arguments.connections)]
    begin = time.perf_counter()
    indexes = _indexes(arguments.entries, begin + arguments.seconds if arguments.seconds else None)
    loop = asyncio.get_running_loop()
    for event in done:
        await loop.create_connection(lambda e=event: Client(indexes, latencies, e), host.hostname, host.port)  # type: ignore[misc] # mypy does not infer the default's type
    await asyncio.gather(*(event.wait() for event in done))
    seconds = time.perf_counter() - begin
    return len(latencies), seconds, statistics.median(latencies), statistics.quantiles(latencies, n=100)[98]


def _indexes(entries: int, until: float | None) -> Iterator[int]:
    if until is None:
        yield from range(entries)
        return
    generator = random.Random(1)
    while time.perf_counter() < until:
        yield int(generator.random() * entries)


def report(rounds: dict[str, list[Round]]) -> None:
    """Print medians over the rounds, and each as a ratio to the floor's of the same round."""
    print(
        f"{'':24}{'req/s':>10}{'p50 ms':>9}{'cpu us':>9}{'busy':>7}{'rate ratio':>12}{'p50 ratio':>11}{'cpu ratio':>11}"
    )
    for name, results in rounds.items():
        pairs = list(zip(results, rounds["bare"], strict=True))
        rate, median, cpu, busy = (statistics.median(values) for values in zip(*results, strict=True))
        ratios = [statistics.median(r[i] / floor[i] for r, floor in pairs) for i in range(3)]
        print(
            f"{name:24}{rate:10.0f}{median * 1e3:9.3f}{cpu * 1e6:9.1f}{busy:7.2f}"
            f"{ratios[0]:12.2f}{ratios[1]:11.2f}{ratios[2]:11.2f}"
        )


if __name__ == "__main__":
    main()
