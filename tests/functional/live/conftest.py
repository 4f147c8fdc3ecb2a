"""A real server in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.servers import ServerProcess


@pytest.fixture
def server_url(tmp_path: Path) -> Iterator[str]:
    server = ServerProcess("--watch-stdin", cache=tmp_path / "responses.db")
    try:
        yield server.url
    finally:
        server.end()
