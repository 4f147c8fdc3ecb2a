"""aiohttp, which is imported when it is first used: a server of scripted models asks nobody."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aiohttp
else:

    class _Aiohttp:
        """Has the names of the package."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("aiohttp"), name)

    aiohttp = _Aiohttp()

__all__ = ["aiohttp"]
