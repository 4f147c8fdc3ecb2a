"""The pages of a store, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.stored_runs import make_store

from trialbed_pages import create_app

Get = Callable[..., Any]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The file of the store."""
    path = tmp_path / "trialbed.db"
    make_store(path)
    return path


@pytest.fixture
async def get(stored: Path) -> Any:
    """Ask for a page."""
    transport = httpx.ASGITransport(create_app(str(stored), stored.parent))
    async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
        yield client.get
