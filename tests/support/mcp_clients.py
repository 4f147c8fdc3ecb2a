"""The official client of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[Any]:
    """The official client of the generation that is installed."""
    import mcp

    async with AsyncExitStack() as stack:
        if hasattr(mcp, "Client"):
            yield await stack.enter_async_context(mcp.Client(url))
        else:
            from mcp.client.streamable_http import streamablehttp_client

            streams = (await stack.enter_async_context(streamablehttp_client(url)))[:2]
            session = await stack.enter_async_context(mcp.ClientSession(*streams))
            await session.initialize()
            yield session
