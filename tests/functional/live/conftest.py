"""A real server in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.servers import ServerProcess
from support.warm import warm_programs


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ServerProcess(watch_stdin=True, cache=tmp_path_factory.mktemp("server") / "responses.db")
    try:
        yield server.url
    finally:
        server.end()


@pytest.fixture(autouse=True)
def quick_start() -> Iterator[None]:
    with warm_programs():
        yield
