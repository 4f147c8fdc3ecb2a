"""One attempt: a request, its answer, and when what happened."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson

from trialbed.secrets import redact
from trialbed.verification._bodies import is_html, read_body
from trialbed.verification._outcomes import Outcome, Problem, Reading, failed
from trialbed.verification._requests import Prepared
from trialbed.verification._streams import StreamReading

EVENTS_TYPE = "text/event-stream"
SHOWN = 500

RESET = re.compile(r"\. (?:ConnectionReset|BrokenPipe|OS|Timeout)Error\(")
"""What aiohttp appends to the error of a body that a lost connection cut; nothing else of it says so."""

LINGER = 0.5
"""Seconds that a stream has to close its body after ``[DONE]``; then its connection is given up."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to the endpoint. Times are seconds from the moment the request was written.

    Attributes:
        waited: seconds of waiting before it, for a retry.
        status: HTTP status; None if none came.
        first_token: to the first token with content, argument or reasoning; None if none came.
        duration: to the last byte that mattered, or to the failure.
        retry_after: what the endpoint asked to wait, in seconds.
    """

    started_at: datetime
    waited: float
    status: int | None
    first_token: float | None
    duration: float
    reading: Reading
    retry_after: float | None = None

    def as_json(self) -> dict[str, Any]:
        """For the results file."""
        problem = self.reading.problem
        return {
            "started_at": self.started_at.isoformat(),
            "waited_ms": round(self.waited * 1000),
            "status": self.status,
            "ttft_ms": milliseconds(self.first_token),
            "duration_ms": milliseconds(self.duration),
            "problem": problem.as_json() if problem else None,
            "retry_after_s": self.retry_after,
        }


def milliseconds(seconds: float | None) -> float | None:
    """Seconds as milliseconds, to the microsecond."""
    return None if seconds is None else round(seconds * 1000, 3)


class Exchange:
    """Makes attempts at one endpoint.

    Args:
        url: of the chat completions, or of the raw ones.
        headers: with the key; never recorded.
        timeout: seconds for one attempt, from first to last byte.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._session = session
        self._url = url
        self._headers = {**headers, "Content-Type": "application/json"}
        self._timeout = timeout
        self._clock = asyncio.get_running_loop().time

    async def __call__(self, prepared: Prepared, names: Collection[str], waited: float = 0.0) -> Attempt:
        """Make one attempt; never raises for what the endpoint does.

        Args:
            names: of the tools on offer.
            waited: seconds of waiting before it.
        """
        run = _Run(self._clock, names, stream=prepared.stream)
        started_at = datetime.now(UTC)
        try:
            async with asyncio.timeout(self._timeout):
                reading = await self._ask(prepared, run)
        except TimeoutError:
            reading = run.ended("timeout", Problem("timeout", f"no whole answer in {self._timeout:g} s"))
        except aiohttp.ClientPayloadError as error:
            reading = run.cut(error)
        except (aiohttp.ClientError, OSError) as error:
            reading = run.ended("transport_error", Problem(_kind(error), _text(error)))
        return Attempt(
            started_at=started_at,
            waited=waited,
            status=run.status,
            first_token=run.since(run.stream.first_token) if run.stream else None,
            duration=run.since(run.finished or self._clock()) or 0.0,
            reading=reading,
            retry_after=run.retry_after,
        )

    async def _ask(self, prepared: Prepared, run: _Run) -> Reading:
        body = _written(prepared.sent)
        request = self._session.post(
            self._url, data=body, headers=self._headers, trace_request_ctx=run, allow_redirects=False
        )
        async with request as response:
            run.status = response.status
            if response.status // 100 != 2:
                run.retry_after = retry_after(response.headers.get("Retry-After"))
                return _refused(response.status, await response.content.read(SHOWN * 4))
            kind = response.headers.get("Content-Type", "").lower()
            if run.stream is None:
                reading = read_body(await response.read(), kind)
            elif kind.startswith(EVENTS_TYPE):
                reading = await self._events(response, run, run.stream)
            else:
                reading = _no_stream(await response.read(), kind)
            run.finished = run.finished or self._clock()
            return reading

    async def _events(self, response: aiohttp.ClientResponse, run: _Run, stream: StreamReading) -> Reading:
        async for chunk in response.content.iter_any():
            stream.feed(chunk, self._clock())
            if stream.over:
                run.finished = self._clock()
                await self._drain(response, stream)
                break
        run.finished = run.finished or self._clock()
        return stream.end(run.finished)

    async def _drain(self, response: aiohttp.ClientResponse, stream: StreamReading) -> None:
        """Read the body to its end, so that the connection can be used again."""
        try:
            async with asyncio.timeout(LINGER):
                async for chunk in response.content.iter_any():
                    stream.feed(chunk, self._clock())
        except (TimeoutError, aiohttp.ClientError):
            response.close()


class _Run:
    """What is known of an attempt while it is under way."""

    def __init__(self, clock: Callable[[], float], names: Collection[str], *, stream: bool) -> None:
        self.clock = clock
        self.sent = clock()
        self.status: int | None = None
        self.retry_after: float | None = None
        self.finished: float | None = None
        self.stream = StreamReading(names) if stream else None

    def since(self, moment: float | None) -> float | None:
        """Seconds from the writing of the request to a moment."""
        return None if moment is None else max(0.0, moment - self.sent)

    def cut(self, error: aiohttp.ClientPayloadError) -> Reading:
        """The body ended early: by a reset of the connection, or by its peer's closing it."""
        if RESET.search(str(error)):
            return self.ended("transport_error", Problem("reset", _text(error)))
        if self.stream is not None:
            return self.stream.end(self.clock(), cut="the connection was closed before the body was whole")
        return failed("cut_body", "the connection was closed before the body was whole")

    def ended(self, outcome: Outcome, problem: Problem) -> Reading:
        """Ended from outside; what had been streamed is kept."""
        if self.stream is None:
            return Reading(outcome, problem=problem)
        reading = self.stream.end(self.clock(), cut=problem.message)
        return Reading(outcome, reading.finish_reason, reading.response, problem, reading.first_token, reading.notes)


def trace() -> aiohttp.TraceConfig:
    """Starts an attempt's clock when its request is written, after any wait for a connection."""
    config = aiohttp.TraceConfig()

    async def sent(_session: Any, context: SimpleNamespace, _params: Any) -> None:
        run = context.trace_request_ctx
        run.sent = run.clock()

    config.on_request_headers_sent.append(sent)
    return config


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for (RFC 9110, section 10.2.3); None if it says nothing usable."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _written(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # Integers beyond 64 bits and halves of characters are JSON all the same.
        return json.dumps(body).encode()


def _refused(status: int, body: bytes) -> Reading:
    text = redact(body[:SHOWN].decode("utf-8", "replace"))
    return failed(f"http_{status}", f"the endpoint answered with status {status}: {text}", "transport_error")


def _no_stream(body: bytes, kind: str) -> Reading:
    if is_html(body, kind):
        return read_body(body, kind)
    text = redact(body[:SHOWN].decode("utf-8", "replace"))
    return failed("wrong_content_type", f"a stream was asked for, the answer is {kind or 'of no type'}: {text}")


def _by_reset(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _kind(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return "connect"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "disconnected"
    return "reset" if _by_reset(error) else "transport"


def _text(error: BaseException) -> str:
    return redact(f"{type(error).__name__}: {error}"[:SHOWN])
