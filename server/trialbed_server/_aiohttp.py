"""Import aiohttp on first use; a server of scripted models sends no requests."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aiohttp
else:

    class _Aiohttp:
        """Stands for the package."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("aiohttp"), name)

    aiohttp = _Aiohttp()


async def read_at_most(answer: aiohttp.ClientResponse, limit: int) -> bytes | None:
    """Read the body of an answer; None if it is longer."""
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)


__all__ = ["aiohttp", "read_at_most"]
