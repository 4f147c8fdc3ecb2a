"""Servers that end with their test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.clocks import SleepingClock
from support.planned import Endpoint
from support.servers import Serve, ServerProcess, listening

from trialbed_server import ServerOptions, create_app
from trialbed_server.response_store import ResponseStore


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers on one cache file, ended after the test."""
    servers: list[ServerProcess] = []

    def make(**options: Any) -> ServerProcess:
        servers.append(ServerProcess(**{"cache": tmp_path / "responses.db", **options}))
        return servers[-1]

    yield make
    for server in servers:
        if server.process.returncode is None:
            server.end()


@pytest.fixture(scope="session")
def empty_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache without entries: to make one takes as long as a server needs for everything else."""
    path = tmp_path_factory.mktemp("cache") / "responses.db"
    ResponseStore(str(path)).close()
    return path


@pytest.fixture
async def serve(tmp_path: Path, empty_cache: Path) -> AsyncIterator[Serve]:
    """Serves an application with these options on this event loop; a client of it."""
    shutil.copy(empty_cache, tmp_path)
    async with AsyncExitStack() as stack:

        async def make(**options: Any) -> httpx.AsyncClient:
            clock = options.pop("clock", None)
            settings = {"cache": str(tmp_path / "responses.db"), **options}
            app = create_app(ServerOptions(**settings), clock=clock)
            url = await stack.enter_async_context(listening(app, lifespan="on", http=app.protocol))
            return await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=30))

        yield make


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A model endpoint that answers by a plan."""
    found = Endpoint()
    async with listening(found.app) as url:
        found.url = f"{url}/v1"
        yield found
        found.gate.set()


@pytest.fixture
def clock() -> SleepingClock:
    """Moves when the server sleeps."""
    return SleepingClock()
