"""The pages of a store, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from support.stored_commands import bench, no_width, stored

from trialbed_pages import create_app

__all__ = ["bench", "no_width", "stored"]


@asynccontextmanager
async def client_of(app: FastAPI, *, root_path: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that begins and ends with it."""
    transport = httpx.ASGITransport(app, root_path=root_path)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://pages") as client,
    ):
        yield client


@pytest.fixture
def clients() -> Any:
    """Makes clients."""
    return client_of


@pytest.fixture
async def get(stored: Path) -> Any:
    """Ask for a page."""
    async with client_of(create_app(str(stored), stored.parent)) as client:
        yield client.get
