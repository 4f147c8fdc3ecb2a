"""The client of the real API."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Self

from trialbed.wire import parse_json
from trialbed.wire.circuit import CircuitBreaker, CircuitOpen
from trialbed.wire.redaction import Redaction
from trialbed_server._aiohttp import aiohttp
from trialbed_server._clock import Clock
from trialbed_server.real._acceptance import refusal
from trialbed_server.standard_names import StandardName

CONNECT_TIMEOUT = 10.0

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds for which the endpoint is left alone once it keeps failing."""


class RealFailed(Exception):
    """The real API gave no answer; says why."""


class RealBackend:
    """Calls Apis through an endpoint of ToolBench's protocol; an async context manager.

    Args:
        url: where calls are posted, such as ``http://host:8080/rapidapi``.
        key: sent as the header and the field ``toolbench_key``; None sends ``EMPTY``.
        timeout: seconds for one call, from beginning to end.
        max_answer: largest answer in bytes.
        redaction: masks the key in answers.
    """

    def __init__(
        self, url: str, key: str | None, clock: Clock, *, timeout: float, max_answer: int, redaction: Redaction
    ) -> None:
        self.url = url
        self.breaker = CircuitBreaker(clock.monotonic, clock.sleep, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        self._key = key or "EMPTY"
        self._timeout = timeout
        self._max_answer = max_answer
        self._redaction = redaction
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            trust_env=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=min(CONNECT_TIMEOUT, self._timeout)),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(self, name: StandardName, tool_input: Any) -> str:
        """Call an Api.

        Args:
            name: the standardised triple, by which the endpoint is known.
            tool_input: the input, with standardised names of parameters.

        Returns:
            JSON of the answer, ASCII only.

        Raises:
            RealFailed: there is no answer, or it is a failure.
        """
        try:
            async with self.breaker.attempt():
                answer = await self._answer(name, tool_input)
        except CircuitOpen:
            raise RealFailed("the real API is not called for now, because it keeps failing") from None
        problem = refusal(answer)
        if problem:
            raise RealFailed(problem)
        try:
            return self._text(answer)
        except (ValueError, RecursionError) as error:
            # A number may be too large for a float, and a value that can just be read may be too deep to be written.
            raise RealFailed(f"the answer is not JSON: {str(error)[:200]}") from error

    async def _answer(self, name: StandardName, tool_input: Any) -> Any:
        try:
            answer = await self._ask(name, tool_input)
        except RealFailed:
            self.breaker.failed()
            raise
        # It works: whether an Api behind it does is another question.
        self.breaker.succeeded()
        return answer

    async def _ask(self, name: StandardName, tool_input: Any) -> Any:
        if self._session is None:
            raise RuntimeError("the real API's client is an async context manager; enter it first")
        fields = {
            "category": name.category,
            "tool_name": name.tool,
            "api_name": name.api,
            "tool_input": tool_input,
            "strip": "",
            "toolbench_key": self._key,
        }
        try:
            async with self._session.post(
                self.url, json=fields, headers={"toolbench_key": self._key}, allow_redirects=False
            ) as answer:
                if answer.status != 200:
                    raise RealFailed(f"status {answer.status}")
                return _json(await self._read(answer))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            reason = f"no answer within {self._timeout:g} s" if isinstance(error, TimeoutError) else "no connection"
            raise RealFailed(f"{reason} ({type(error).__name__})") from error

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > self._max_answer:
                raise RealFailed(f"the answer is larger than {self._max_answer} bytes")
        return bytes(body)

    def _text(self, answer: dict[str, Any]) -> str:
        kept = {**answer, "error": ""}
        if self._redaction and self._redaction.finds(json.dumps(kept, ensure_ascii=False)):
            kept = self._redaction.value(kept)
        return json.dumps(kept, allow_nan=False)


def _json(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError as error:
        raise RealFailed(f"the answer is not JSON: {str(error)[:200]}") from error
