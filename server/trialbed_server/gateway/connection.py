"""Connect to a model endpoint with the server's own key, and mask the key in every response."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl

from multidict import CIMultiDict
from starlette.types import Scope

from trialbed.texts import whole_text
from trialbed.wire import ModelRequest
from trialbed.wire.addresses import answer_limits, key_headers
from trialbed.wire.dialects import PATHS, Dialect
from trialbed.wire.estimates import BYTES_PER_TOKEN
from trialbed.wire.redaction import Field, Redaction, event_texts, event_value, redaction_of, stars, without_pieces
from trialbed_server._http import aiohttp
from trialbed_server.gateway.exchange import LONGEST_NAME, Header

NOTICED = 4
"""The fewest characters of the key that make events of a stream wait for the next; fewer are not a secret."""

KEPT = 64
"""Characters at the end of a field that are remembered, as a secret may begin in them."""

LONGEST_LINE = 2**20
"""Bytes held from an unfinished line of a stream."""


class Redactor:
    """Mask a secret in one body, in every escaped form, even if it is split between pieces. Lengths stay the same.

    A stream is passed on line by line, as clients read it, and an event waits only if the text that it goes on with is
    the beginning of the secret. Of another body, only the end is held back that may be the beginning of the secret.
    """

    def __init__(self, secret: str | None) -> None:
        self._redaction = redaction_of((secret,) if secret else ())
        self._stream: _Stream | None = None
        self._begun = False
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Return the bytes that can be passed on now."""
        if not self._redaction:
            return piece
        data, self._held = self._held + piece, b""
        if not self._begun and (start := data.lstrip()):
            self._begun = True
            self._stream = None if start.startswith((b"{", b"[", b"<")) else _Stream(self._redaction)
        if self._stream is not None:
            return self._lines(data, self._stream)
        masked = self._redaction.text(_text(data), stars)
        self._held = _bytes(masked[self._redaction.beginning(masked) :])
        return _bytes(masked)[: len(data) - len(self._held)]

    def flush(self) -> bytes:
        """Return the bytes that are left at the end."""
        held, self._held = self._held, b""
        rest = _bytes(self._redaction.text(_text(held), stars))
        return rest if self._stream is None else self._stream.flush() + rest

    def whole(self, data: bytes) -> bytes:
        """Mask the secret in a complete text or body."""
        return _bytes(self._redaction.body(_text(data))) if self._redaction else data

    def _lines(self, data: bytes, stream: _Stream) -> bytes:
        end = data.rfind(b"\n") + 1
        if len(data) - end > LONGEST_LINE:
            end = len(data)
        self._held = data[end:]
        return b"".join(stream.line(line) for line in data[:end].splitlines(keepends=True)) if end else b""


class _Stream:
    """The lines of a stream of events."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._waiting: list[bytes] = []
        self._passed: dict[Field, str] = {}
        self._texts: dict[Field, str] = {}

    def line(self, line: bytes) -> bytes:
        """Return the bytes that can be passed on after this line."""
        masked = self._redaction.text(_text(line), stars)
        self._waiting.append(_bytes(masked))
        value = event_value(masked)
        if value is not None:
            for field, holder, key in event_texts(value):
                self._texts[field] = self._texts.get(field, self._passed.get(field, "")) + holder[key]
        if any(self._redaction.may_go_on(text, NOTICED) for text in self._texts.values()):
            return b""
        return self.flush()

    def flush(self) -> bytes:
        """Return what waits, masked."""
        waiting, self._waiting = self._waiting, []
        if any(self._redaction.finds(text) for text in self._texts.values()):
            lines = without_pieces(self._redaction, [_text(line) for line in waiting], self._passed)
            waiting = [_bytes(line) for line in lines]
        for field, text in self._texts.items():
            self._passed[field] = text[-KEPT:]
        self._texts.clear()
        return b"".join(waiting)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


CONNECT_TIMEOUT = 15.0

LONGEST_REFUSAL = 8 * 2**20
"""Bytes of an error's body that are passed on."""

AT_ONCE = 2**20
"""Bytes of a request that are sent in one piece."""

MOST_ADDED = 10
"""Names of unusual headers that are kept of a request."""

HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
"""Headers that concern one connection only (RFC 9110, 7.6.1)."""

OF_AGENTS = frozenset(b"accept anthropic-beta anthropic-version content-type openai-beta user-agent".split())
"""Headers of agents that an endpoint gets, in addition to OpenAI's clients' own (``x-stainless-…``).

Proxies choose models, organizations and fallbacks by others.
"""

_OURS = frozenset({b"host", b"content-length", b"authorization", b"x-api-key", b"accept-encoding", b"expect"})


def headers_of_agent(headers: Iterable[Header]) -> list[Header]:
    """Return the headers of an agent's request that an endpoint gets, including the ones replaced on the way."""
    return [(name, value) for name, value in headers if name in OF_AGENTS | _OURS or name.startswith(b"x-stainless-")]


LIBRARIES = frozenset(
    b"accept-charset accept-language agent-framework-version baggage cache-control content-encoding date "
    b"idempotency-key origin pragma priority sec-fetch-dest sec-fetch-mode sec-fetch-site traceparent tracestate "
    b"x-request-id".split()
)
USUAL = OF_AGENTS | LIBRARIES | HOP_BY_HOP | _OURS
"""Headers that clients send, or the libraries beneath them."""

USUAL_QUERY = frozenset({"api-version", "beta"})
"""Names in the queries of the SDKs of OpenAI and Anthropic."""


def added_parts(scope: Scope) -> tuple[str, ...]:
    """Return the names of a request's headers, and after ``?`` those in its query, that no usual client sends."""
    headers = (name for name, _ in scope["headers"] if name not in USUAL and not name.startswith(b"x-stainless-"))
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    names = [name.decode("latin-1") for name in headers]
    names += [f"?{whole_text(name)}" for name, _ in query if name not in USUAL_QUERY]
    return tuple(name[:LONGEST_NAME] for name in dict.fromkeys(names))[:MOST_ADDED]


@dataclass(frozen=True)
class ProxiedRequest:
    """A request as the framework sent it.

    Attributes:
        path: below the endpoint's URL, with its query, which agents' requests lose.
        silence: seconds without a byte after which it is given up.
        read: the request, read in its dialect.
        spoken: its dialect.
        tentative: whether the endpoint has answered no request of this dialect yet; a refusal may mean the dialect.
        model: that a plain request asks for in its place; empty if no model is known.
        named: the model in its body, or empty.
    """

    method: str
    path: str
    headers: Sequence[Header]
    body: bytes
    silence: float
    read: ModelRequest
    spoken: Dialect
    model: str = ""
    named: str = ""
    tentative: bool = False

    @property
    def asks(self) -> bool:
        """Return whether it asks a model, and not for vectors, a number of tokens, or a list of models."""
        return self.path.partition("?")[0].removeprefix("/") in PATHS

    @property
    def tokens(self) -> float:
        """An estimate of its tokens, used until the answer reports them."""
        return len(self.body) / BYTES_PER_TOKEN

    @property
    def digest(self) -> bytes:
        """A digest of the body."""
        return hashlib.blake2b(self.body, digest_size=16).digest()


class Connection:
    """An async context manager that sends requests to one endpoint.

    Args:
        url: the endpoint, without a final ``/``.
        key: sent as bearer token, or in the header of the request's dialect; None sends none.
    """

    _session: aiohttp.ClientSession

    def __init__(self, url: str, key: str | None) -> None:
        self.url = url
        self._key = key

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            auto_decompress=False,
            trust_env=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0),
            **answer_limits(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    def redactor(self) -> Redactor:
        """Masks the key."""
        return Redactor(self._key)

    def send(self, request: ProxiedRequest) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send a request once; yields the answer when its head has arrived."""
        return self._session.request(
            request.method,
            self.url + request.path,
            # Send a long body in parts to give other requests their turns.
            data=io.BytesIO(request.body) if len(request.body) > AT_ONCE else request.body or None,
            headers=self._request_headers(request.headers),
            skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=request.silence),
        )

    def response_headers(self, answer: aiohttp.ClientResponse) -> list[Header]:
        """Return the headers of an answer that go on to the framework, without the key."""
        redactor = self.redactor()
        kept = _end_to_end(answer.raw_headers, frozenset({b"date"}))
        return [(name, redactor.whole(value)) for name, value in kept]

    async def refusal(self, answer: aiohttp.ClientResponse) -> tuple[list[Header], bytes]:
        """Return the headers of an error, and as much of its body as arrives, without the key."""
        body = self.redactor().whole(await _read(answer.content, LONGEST_REFUSAL))
        headers = [header for header in self.response_headers(answer) if header[0] != b"content-length"]
        return [*headers, (b"content-length", str(len(body)).encode())], body

    def _request_headers(self, headers: Sequence[Header]) -> CIMultiDict[str]:
        kept = CIMultiDict((n.decode("latin-1"), v.decode("latin-1")) for n, v in _end_to_end(headers, _OURS))
        kept["Accept-Encoding"] = "identity"
        kept.update(key_headers(self.url, self._key, (name.decode("latin-1") for name, _ in headers)))
        return kept


async def _read(content: aiohttp.StreamReader, limit: int) -> bytes:
    """Read a body up to a limit, or until the connection breaks."""
    body = bytearray()
    try:
        while len(body) < limit and (piece := await content.readany()):
            body += piece
    except (aiohttp.ClientError, OSError):
        pass
    return bytes(body[:limit])


def _end_to_end(headers: Iterable[Header], dropped: frozenset[bytes]) -> list[Header]:
    lowered = [(name.lower(), value) for name, value in headers]
    named = {part.strip().lower() for name, value in lowered if name == b"connection" for part in value.split(b",")}
    gone = HOP_BY_HOP | dropped | named
    return [(name, value) for name, value in lowered if name not in gone]
