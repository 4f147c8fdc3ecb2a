"""The upstream model endpoint, behind a byte-faithful proxy."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

import aiohttp
from multidict import CIMultiDict

from trialbed_server.gateway.redaction import Redactor
from trialbed_server.gateway.response import Header, ResponseWriter

CONNECT_TIMEOUT = 15.0

HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
"""Headers that concern one connection only (RFC 9110, 7.6.1)."""

_OURS = frozenset({b"host", b"content-length", b"authorization", b"accept-encoding", b"expect"})


class Upstream:
    """Forwards requests under the server's own key and streams the answers through.

    Args:
        url: the endpoint, without a final ``/``.
        key: sent as bearer token; None sends none.
        timeout: seconds of silence before a request is given up.
    """

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self.url = url
        self._key = key
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=self._timeout,
            auto_decompress=False,
            trust_env=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def redactor(self) -> Redactor:
        """Masks the key."""
        return Redactor(self._key)

    async def forward(
        self, method: str, path: str, headers: Iterable[Header], body: bytes, writer: ResponseWriter
    ) -> None:
        """Send a request on and its answer back, piece by piece.

        A failure before the answer's head is a 502 or 504 in OpenAI's form. After it the answer is cut, as
        the upstream's was, by leaving it incomplete.
        """
        try:
            await self._exchange(method, path, headers, body, writer)
        except TimeoutError as error:
            await self._fail(writer, 504, f"the upstream endpoint {self.url} did not answer in time ({error})")
        except (aiohttp.ClientError, OSError) as error:
            text = f"the upstream endpoint {self.url} failed: {type(error).__name__}: {error}"
            await self._fail(writer, 502, text)

    async def _exchange(
        self, method: str, path: str, headers: Iterable[Header], body: bytes, writer: ResponseWriter
    ) -> None:
        if self._session is None:
            raise RuntimeError("Upstream is an async context manager; enter it first")
        request = self._session.request(
            method,
            self.url + path,
            data=body or None,
            headers=self._request_headers(headers),
            skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
            allow_redirects=False,
        )
        async with request as answer:
            redactor = self.redactor()
            await writer.start(answer.status, self._response_headers(answer.raw_headers))
            async for piece in answer.content.iter_any():
                await writer.write(redactor.feed(piece))
            await writer.write(redactor.flush())
            await writer.finish()

    async def _fail(self, writer: ResponseWriter, status: int, message: str) -> None:
        message = self.redactor().whole(message.encode()).decode()
        if writer.started:
            writer.exchange.failed(message, "endpoint")
        else:
            await writer.error(message, status, "upstream_error", "endpoint")

    def _request_headers(self, headers: Iterable[Header]) -> CIMultiDict[str]:
        kept = CIMultiDict((n.decode("latin-1"), v.decode("latin-1")) for n, v in _end_to_end(headers, _OURS))
        kept["Accept-Encoding"] = "identity"
        if self._key:
            kept["Authorization"] = f"Bearer {self._key}"
        return kept

    def _response_headers(self, headers: Iterable[Header]) -> list[Header]:
        redactor = self.redactor()
        return [(name, redactor.whole(value)) for name, value in _end_to_end(headers, frozenset({b"date"}))]


def _end_to_end(headers: Iterable[Header], dropped: frozenset[bytes]) -> list[Header]:
    lowered = [(name.lower(), value) for name, value in headers]
    named = {part.strip().lower() for name, value in lowered if name == b"connection" for part in value.split(b",")}
    gone = HOP_BY_HOP | dropped | named
    return [(name, value) for name, value in lowered if name not in gone]
