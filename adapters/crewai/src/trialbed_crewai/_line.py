"""The line from CrewAI's threads to the trial's event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

import httpx
import openai

from trialbed import Limits, ModelEndpoint

Result = TypeVar("Result")


class LineCut(Exception):
    """The trial is over; nothing may be asked for any more."""


class Line:
    """Runs coroutines on the trial's event loop for threads that wait.

    CrewAI calls models and tools in threads, which nobody can stop. What they wait for runs on the loop instead, so
    that it ends with the trial, and the threads with it.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[Future[Any]] = set()
        self._lock = Lock()

    def open(self) -> None:
        """Use the running loop."""
        self._loop = asyncio.get_running_loop()

    def cut(self) -> None:
        """Cancel what is waited for, and refuse the rest."""
        with self._lock:
            self._loop = None
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def result_of(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop and wait for its result; not to be called on the loop.

        Raises:
            LineCut: the trial was over before.
            concurrent.futures.CancelledError: it ended meanwhile.
        """
        with self._lock:
            if self._loop is None:
                coroutine.close()
                raise LineCut("the trial is over")
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            self._waiting.add(future)
        try:
            return future.result()
        finally:
            self._waiting.discard(future)


class LineTransport(httpx.BaseTransport):
    """Sends the requests of a blocking HTTP client over the line.

    An endpoint without TLS is spared the loading of certificates, which takes longer than the rest of the set-up.
    """

    def __init__(self, line: Line, endpoint: ModelEndpoint, limits: Limits) -> None:
        plain = endpoint.base_url.startswith("http://")
        verify: ssl.SSLContext | bool = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True
        self._line = line
        self._client = openai.DefaultAsyncHttpxClient(timeout=limits.timeout, verify=verify)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, and read the whole response."""
        return self._line.result_of(self._exchange(request))

    async def aclose(self) -> None:
        """Close the connections; on the loop."""
        await self._client.aclose()

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        response = await self._client.send(request)
        headers = [(name, value) for name, value in response.headers.items() if name != "content-encoding"]
        return httpx.Response(response.status_code, headers=headers, content=response.content)
