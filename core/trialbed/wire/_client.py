"""Asks endpoints for answers of models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from math import inf
from types import TracebackType
from typing import Any

from trialbed.wire._httpx import httpx, tls_for
from trialbed.wire._readings import Reading, failed
from trialbed.wire.addresses import key_headers
from trialbed.wire.circuit import TRANSIENT, RetryWaits, retry_after
from trialbed.wire.dialects import CHAT, Dialect, EventStream, dialect
from trialbed.wire.redaction import redact

ATTEMPTS = 4
"""Requests for one answer, if the endpoint is busy or out of reach."""

TIMEOUT = 120.0
"""Seconds of silence after which an answer is given up."""

WAITS = RetryWaits(ATTEMPTS - 1, patience=inf, first=1.0, longest=8.0, least=0.5, most_asked=60.0)
"""The waits between the attempts; an endpoint that asks for more than a minute is not asked again."""

SHOWN = 300
"""Characters of an endpoint's own words in a problem."""

FINAL = "not_to_be_repeated"
"""The note of an answer with a header ``x-should-retry`` that forbids another attempt."""

EVENTS_TYPE = "text/event-stream"
RETRIED = frozenset(("transport", "timeout", *(f"http_{status}" for status in TRANSIENT)))
"""The kinds of problems that another attempt may solve."""


class ChatClient(AbstractAsyncContextManager["ChatClient"]):
    """An async context manager that asks one endpoint; close it otherwise with ``close``.

    Requests to an endpoint that is busy, broken or out of reach are repeated a few times, unless its answer says
    ``x-should-retry: false``. An endpoint that says how long to wait (``Retry-After``) is asked again after that time,
    and not at all if it is more than a minute.

    Args:
        base_url: of the endpoint, such as ``https://api.openai.com/v1``.
        api_key: sent as bearer token, or in the dialect's own header; None sends none.
        timeout: seconds of silence after which an answer is given up.
        attempts: requests for one answer.
        transport: an httpx transport, instead of the default.
        spoken: the name of the dialect of requests and answers.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
        transport: httpx.AsyncBaseTransport | None = None,
        spoken: str = CHAT,
    ) -> None:
        self._dialect = dialect(spoken)
        self._url = f"{base_url.rstrip('/')}/{self._dialect.PATH}"
        self._headers = {**self._dialect.HEADERS, **key_headers(base_url, api_key, self._dialect.HEADERS)}
        self._waits = replace(WAITS, retries=attempts - 1)
        self._client = httpx.AsyncClient(timeout=timeout, verify=tls_for(base_url), transport=transport)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def complete(self, request: Mapping[str, Any]) -> Reading:
        """Send a request and read the answer; it is streamed if the request asks for a stream.

        Args:
            request: the body, sent unchanged.

        Returns:
            The reading; its outcome says whether it is an answer. Nothing that the endpoint does raises an exception.
        """
        number = 1
        while True:
            reading, asked = await self._ask(request)
            problem = reading.problem
            if problem is None:
                return reading
            is_final = problem.kind not in RETRIED or FINAL in reading.notes
            seconds = None if is_final else self._waits.wait(number, 0.0, asked)
            if seconds is None:  # for display, without the secrets of this process's environment
                return replace(reading, problem=replace(problem, message=redact(problem.message)))
            await asyncio.sleep(seconds)
            number += 1

    async def _ask(self, request: Mapping[str, Any]) -> tuple[Reading, float | None]:
        """Return a reading, and the seconds that the endpoint asks to wait before the next attempt."""
        try:
            async with self._client.stream("POST", self._url, json=dict(request), headers=self._headers) as response:
                asked = None if response.is_success else retry_after(response.headers)
                return await _read(self._dialect, response, request), asked
        except httpx.TimeoutException as error:
            return failed("timeout", f"the endpoint did not answer in time: {_words(error)}", "timeout"), None
        except httpx.HTTPError as error:
            return failed("transport", f"the endpoint could not be reached: {_words(error)}", "transport_error"), None


async def _read(spoken: Dialect, response: httpx.Response, request: Mapping[str, Any]) -> Reading:
    kind = response.headers.get("content-type", "").lower()
    if response.is_success and kind.startswith(EVENTS_TYPE):
        return await _read_events(response, spoken.open_stream(spoken.read_request(request).names))
    body = await response.aread()
    if response.is_success:
        return spoken.read_body(body, kind)
    text = body[:SHOWN].decode("utf-8", "replace")
    status = response.status_code
    reading = failed(f"http_{status}", f"the endpoint answered with status {status}: {text}", "transport_error")
    return replace(reading, notes=(FINAL,)) if response.headers.get("x-should-retry") == "false" else reading


async def _read_events(response: httpx.Response, reader: EventStream) -> Reading:
    try:
        async for chunk in response.aiter_bytes():
            reader.feed(chunk)
    except httpx.HTTPError as error:
        # What came before is kept.
        return reader.end(cut=_words(error))
    return reader.end()


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
