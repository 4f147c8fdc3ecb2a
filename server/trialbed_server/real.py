"""Call Apis at a real endpoint of ToolBench's protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from trialbed.wire import parse_json
from trialbed.wire.circuit import CircuitBreaker, CircuitOpen
from trialbed.wire.redaction import Redaction
from trialbed_server._clock import Clock
from trialbed_server._http import aiohttp, read_at_most
from trialbed_server._options import ServerOptions
from trialbed_server.standard_names import StandardName

STATUS_FIELDS = frozenset({"status", "status_code", "statuscode", "code", "http_status", "httpstatus"})
ERROR_FIELDS = frozenset({"error", "errors", "error_message", "errormessage", "exception"})
MESSAGES = ("message", "messages", "msg")
ENVELOPE = STATUS_FIELDS.union(
    ERROR_FIELDS, MESSAGES, ["detail", "details", "info", "success", "ok", "type", "title", "timestamp", "path"],
    ("request_id", "requestid", "documentation_url"),
)  # fmt: skip
"""Fields that say how a request went. A response with any other field has content, and is an answer."""

GATEWAY_MESSAGE = re.compile(
    r"you are not subscribed to this api|invalid api key|blocked user|too many requests|api doesn't exist"
    r"|you have exceeded the \S+( \S+)? (quota|limit|rate)|the api is unreachable|endpoint .{0,300} does not exist",
    re.IGNORECASE | re.DOTALL,
)
"""The beginnings of the messages of RapidAPI's gateway."""

STATUS_TEXT = re.compile(r"[^.\n]{0,120}\bstatus_code=[45]\d\d\.?", re.IGNORECASE)
"""A text that is nothing but the proxy's report of a status."""


def refusal(answer: Any) -> str:
    """Return the reason why the body of a response with status 200 is not an answer of an Api; empty if it is one.

    Args:
        answer: the parsed body.
    """
    if not isinstance(answer, dict) or not {"error", "response"} <= answer.keys():
        return "the answer is not an object with error and response"
    response = answer["response"]
    if answer["error"] not in ("", None):
        found = [f"error: {answer['error']}"]
    elif isinstance(response, dict):
        found = _envelope_failures({str(name).lower(): value for name, value in response.items()})
    elif response is None or (isinstance(response, str) and not response.strip()):
        found = ["the response is empty"]
    else:
        text = response.strip() if isinstance(response, str) else ""
        found = [f"response: {text}"] if STATUS_TEXT.fullmatch(text) or _is_gateway_message(text) else []
    return found[0][:SHOWN] if found else ""


def _envelope_failures(fields: Mapping[str, Any]) -> list[str]:
    """Return the failures in a response that is only an envelope."""
    if not ENVELOPE.issuperset(fields):
        return []
    found = [f"status {value}" for name, value in fields.items() if name in STATUS_FIELDS and _is_failure(value)]
    found += [str(value) for name, value in fields.items() if name in ERROR_FIELDS and value]
    found += ["not successful" for name in ("success", "ok") if fields.get(name) is False]
    found += [text for name in MESSAGES if _is_gateway_message(text := str(fields.get(name)))]
    return [f"response: {failure}" for failure in found]


def _is_failure(value: Any) -> bool:
    """Return whether a field's value is an HTTP status of a failure."""
    if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599


def _is_gateway_message(text: str) -> bool:
    return len(text) <= 600 and GATEWAY_MESSAGE.match(text.strip()) is not None


CONNECT_TIMEOUT = 10.0

SHOWN = 200
"""Characters of a failure in the log."""

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds to leave the endpoint alone once it keeps failing."""


class RealFailed(Exception):
    """The real API gave no answer; says why."""


class RealBackend:
    """Calls Apis through an endpoint of ToolBench's protocol; an async context manager."""

    _session: aiohttp.ClientSession

    def __init__(self, options: ServerOptions, clock: Clock, redaction: Redaction) -> None:
        self.url = str(options.real_url)
        self.breaker = CircuitBreaker(clock.monotonic, clock.sleep, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        self._key = options.real_key or "EMPTY"
        self._timeout = options.real_timeout
        self._max_answer = options.max_answer
        self._redaction = redaction

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
        await self._session.close()

    async def call(self, name: StandardName, tool_input: Any) -> str:
        """Call an Api.

        Args:
            name: the standardised triple, the endpoint's name for the Api.
            tool_input: the input, with standardised names of parameters.

        Returns:
            JSON of the answer, ASCII only.

        Raises:
            RealFailed: there is no answer, or it is a failure.
        """
        try:
            async with self.breaker.attempt():
                try:
                    answer = await self._ask(name, tool_input)
                except RealFailed:
                    self.breaker.failed()
                    raise
                # It works: whether an Api behind it does is another question.
                self.breaker.succeeded()
        except CircuitOpen:
            raise RealFailed("the real API is not called for now, because it keeps failing") from None
        problem = refusal(answer)
        if problem:
            raise RealFailed(problem)
        kept = {**answer, "error": ""}
        try:
            if self._redaction and self._redaction.finds(json.dumps(kept, ensure_ascii=False)):
                kept = self._redaction.value(kept)
            return json.dumps(kept, allow_nan=False)
        except (ValueError, RecursionError) as error:
            # A number may be too large for a float, and a value that can just be read may be too deep to be written.
            raise RealFailed(f"the answer is not JSON: {str(error)[:200]}") from error

    async def _ask(self, name: StandardName, tool_input: Any) -> Any:
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
                body = await read_at_most(answer, self._max_answer)
            if body is None:
                raise RealFailed(f"the answer is larger than {self._max_answer} bytes")
            return parse_json(body)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            reason = f"no answer within {self._timeout:g} s" if isinstance(error, TimeoutError) else "no connection"
            raise RealFailed(f"{reason} ({type(error).__name__})") from error
        except ValueError as error:
            raise RealFailed(f"the answer is not JSON: {str(error)[:200]}") from error
