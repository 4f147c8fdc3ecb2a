"""Make calls over HTTP, within bounds on addresses and bodies."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

from trialbed.texts import group_by_key
from trialbed_tools.forms import RequestForm
from trialbed_tools.live import LARGEST, TOO_LARGE, CallAnswer, ToolsUnreachable

if TYPE_CHECKING:
    import httpx

Origin = tuple[str, str, int | None]
"""Scheme, host and port. The port is None for the scheme's default."""


def without_user(url: str) -> str:
    """Return an address without user and password.

    Raises:
        ValueError: the address is invalid.
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def origin(url: str) -> Origin:
    """Return the origin of an address as the HTTP client parses it.

    Raises:
        ValueError: the address is invalid.
    """
    from trialbed.wire._httpx import httpx

    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from error
    return parts.scheme, parts.host, parts.port


PLAIN = {"accept-encoding": "identity"}
"""The header that asks for an uncompressed body."""


class UnusableBody(Exception):
    """A body is compressed or too large."""


class TooLarge(UnusableBody):
    """A body is too large."""


class PlainBody:
    """Collects the raw pieces of a body, before decompression.

    Args:
        headers: the headers of the answer.
        largest: the largest body, in bytes.

    Raises:
        UnusableBody: the body is compressed. A few bytes could expand beyond the memory.
    """

    def __init__(self, headers: Mapping[str, str], largest: int) -> None:
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise UnusableBody(f"the answer is compressed ({encoding!r:.40}), which was not asked for")
        self._largest = largest
        self._pieces = bytearray()

    def add(self, piece: bytes) -> None:
        """Add received bytes.

        Raises:
            UnusableBody: the body is too large.
        """
        self._pieces += piece
        if len(self._pieces) > self._largest:
            raise TooLarge(f"{TOO_LARGE} {self._largest:,} bytes")

    def content(self) -> bytes:
        """Return all bytes so far."""
        return bytes(self._pieces)


SECONDS = 60.0
"""Timeout for one request."""

NOT_THE_CALL = frozenset({401, 403, 407, 408, 421, 425, 429})
"""Statuses about keys, time or load instead of the call."""


class HttpConnection:
    """Makes the HTTP requests for calls.

    Args:
        url: the base address of the paths.
        requests: maps tool names to the form of their requests.
        headers: headers for the host of ``url`` only, not for other hosts in a document. Without ``url``, all requests
            go to one host.
    """

    def __init__(self, url: str, requests: Mapping[str, RequestForm], headers: Mapping[str, str]) -> None:
        self._url = url
        self._requests = requests
        self._headers = headers
        self._client: httpx.AsyncClient | None = None

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        """Make a request.

        Raises:
            ToolsUnreachable: there is no answer, or its status is not about the call.
        """
        from trialbed.wire._httpx import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=SECONDS)
        parts = request_parts(self._requests[name], arguments, self._url)
        if isinstance(parts, str):
            return CallAnswer(error=parts)
        try:
            # The headers may hold keys, and a path in a document may name any host.
            own = self._headers if origin(parts["url"]) == origin(self._url or parts["url"]) else {}
        except ValueError as error:
            raise ToolsUnreachable(f"the address cannot be used: {error}") from error
        headers = {**own, **parts.pop("headers"), **PLAIN}
        try:
            async with asyncio.timeout(SECONDS), self._client.stream(headers=headers, **parts) as answer:
                body = PlainBody(answer.headers, LARGEST)
                async for piece in answer.aiter_raw():
                    body.add(piece)
        except TooLarge as error:
            return CallAnswer(error=str(error))
        except UnusableBody as error:
            raise ToolsUnreachable(str(error)) from error
        except TimeoutError as error:
            raise ToolsUnreachable(f"the answer takes longer than {SECONDS:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolsUnreachable(f"{type(error).__name__}: {error}") from error
        return _answer(answer.status_code, body.content())

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            with suppress(RuntimeError):  # the connections belonged to another event loop
                await self._client.aclose()


def request_parts(form: RequestForm, arguments: Mapping[str, Any], url: str) -> dict[str, Any] | str:
    """Return the request for a call in the arguments of httpx, or a text if the arguments cannot be sent."""
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        return f"the arguments cannot be sent: {error}"
    left = dict(arguments)
    path = form.path
    for name in re.findall(r"\{([^{}]+)\}", path):
        value = _join(left.pop(name, ""), form.styles.get(name), lambda text: quote(text, safe=""))
        if value in ("", ".", ".."):
            return f"{name}: must not be empty"
        path = path.replace(f"{{{name}}}", value)
    query: list[tuple[str, str]] = []
    for name in form.query:
        if name in left:
            query += _pairs(name, left.pop(name), form.styles.get(name))
    headers = {name: _join(left.pop(name), form.styles.get(name), str) for name in form.headers if name in left}
    if any(not value.isprintable() or not value.isascii() for value in headers.values()):
        return "a header is one line in ASCII"
    made: dict[str, Any] = {"method": form.method, "url": path if "://" in path else url + path, "headers": headers}
    if query:
        made["params"] = query
    body = left.get(form.whole_body) if form.whole_body else left
    if form.body == "json" and (body is not None and (left or not form.whole_body)):
        made["json"] = body
    elif form.body == "form" and isinstance(body, dict):
        made["data"] = group_by_key(pair for name, value in body.items() for pair in _pairs(name, value, "deep"))
    if form.content_type is not None and made.keys() & {"json", "data"}:
        headers["content-type"] = form.content_type
    return made


def _join(value: Any, style: str | None, write: Callable[[str], str]) -> str:
    """Join the items of a list, or keys and values in turn, into one text with commas, as OpenAPI does.

    The style ``pairs`` writes an object as ``key=value``.
    """
    if style == "json":
        return write(json.dumps(value, ensure_ascii=False))
    if style == "pairs" and isinstance(value, dict):
        return ",".join(f"{write(name)}={write(_text(part))}" for name, part in value.items())
    parts = [part for pair in value.items() for part in pair] if isinstance(value, dict) else value
    return ",".join(write(_text(part)) for part in (parts if isinstance(parts, list) else [parts]))


def _pairs(name: str, value: Any, style: str | None) -> list[tuple[str, str]]:
    if style in ("commas", "json"):
        return [(name, _join(value, style, str))]
    if isinstance(value, dict):
        return [(f"{name}[{key}]" if style == "deep" else key, _text(part)) for key, part in value.items()]
    return [(name, _text(part)) for part in (value if isinstance(value, list) else [value])]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _answer(status: int, body: bytes) -> CallAnswer:
    text = body.decode("utf-8", "replace")
    if 200 <= status < 300:
        return CallAnswer(read_value(text))
    if 400 <= status < 500 and status not in NOT_THE_CALL:
        return CallAnswer(error=f"status {status}: {text[:2000]}".strip().rstrip(":"))
    raise ToolsUnreachable(f"status {status}: {text[:200]}".strip().rstrip(":"))


def read_value(text: str) -> Any:
    """Parse a text as JSON, or return it unchanged if it is not valid JSON."""
    from trialbed.wire import parse_json

    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return text
