"""Send a request once, read its answer and measure the times.

Bodies are decoded here: gzip and deflate (RFC 9110, section 8.4.1).
"""

from __future__ import annotations

import asyncio
import re
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, TypedDict

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import BytesPayload
from multidict import CIMultiDict

from trialbed.errors import DriverBroken
from trialbed.wire import Outcome, Problem, Reading, failed, is_html, retry_after
from trialbed.wire.addresses import answer_limits
from trialbed.wire.dialects import Dialect, EventStream, dialect
from trialbed.wire.redaction import redact
from trialbed_verify.call_schemas import declared_schemas
from trialbed_verify.verification.config import HEADER_NAME
from trialbed_verify.verification.targets import PreparedRequest, Target, blaming_driver, is_secret_header

SHOWN = 500

LARGEST = 64 * 2**20
"""Size limit of an answer in bytes; completions are much smaller."""

RESET = re.compile(r"\. (?:ConnectionReset|BrokenPipe|OS|Timeout)Error\(")
"""Text that aiohttp appends to the error of a body that a lost connection cut off; nothing else shows the cause."""

OTHER_PROTOCOLS = {
    r"b.\\+x15\\+x03": "this looks like TLS: use https:// in the address. ",
    "WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE": "this port speaks plain HTTP: use http:// in the address. ",
    r"b.\\+x00\\+x00.{1,5}\\+x04\\+x00": "this looks like a server of HTTP/2 alone. ",
}
"""Text in the error for an answer in another protocol -> advice."""

PIECE = 2**18
"""Bytes unpacked at a time, which limits the memory for decompression bombs."""

GZIP, ZLIB, RAW = 31, 15, -15

NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "identity": "", "": ""}

LINGER = 0.5
"""Seconds that a stream has to close its body after ``[DONE]``; then its connection is closed."""


class AttemptFields(TypedDict):
    """An attempt in a row of results."""

    started_at: str
    waited_ms: float
    status: int | None
    ttft_ms: float | None
    duration_ms: float
    problem: dict[str, str] | None
    retry_after_s: float | None


@dataclass(frozen=True, slots=True)
class EndpointAttempt:
    """One request to the endpoint. Times are seconds from the moment the request was written.

    Attributes:
        waited: seconds of waiting before it, for a retry.
        first_token: to the first token with content, argument or reasoning; None if none came.
        duration: to the last byte that mattered, or to the failure.
    """

    started_at: datetime
    waited: float
    status: int | None
    first_token: float | None
    duration: float
    reading: Reading
    retry_after: float | None = None

    def as_json(self) -> AttemptFields:
        """For the results file."""
        problem = self.reading.problem
        return {
            "started_at": self.started_at.isoformat(),
            "waited_ms": round(self.waited * 1000),
            "status": self.status,
            "ttft_ms": milliseconds(self.first_token),
            "duration_ms": round(self.duration * 1000, 3),
            "problem": problem.as_json() if problem else None,
            "retry_after_s": self.retry_after,
        }


def milliseconds(seconds: float | None) -> float | None:
    """Seconds as milliseconds, to the microsecond."""
    return None if seconds is None else round(seconds * 1000, 3)


def new_session(concurrency: int) -> aiohttp.ClientSession:
    """Return a session with one connection per request in flight, without cookies or timeouts of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=concurrency, limit_per_host=0),
        # Independent of installed codecs, to get the same answers everywhere.
        headers={"Accept-Encoding": "gzip, deflate"},
        timeout=aiohttp.ClientTimeout(total=None),
        # Bodies are unpacked by code that detects incomplete ones.
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        **answer_limits(),
        # The proxy is given per request, and keys do not come from .netrc.
        trust_env=False,
    )


class Exchange:
    """Makes attempts at one target; each may take ``timeout`` seconds from first to last byte."""

    def __init__(self, target: Target, session: aiohttp.ClientSession, timeout: float) -> None:
        self._post = partial(session.post, target.url, allow_redirects=False, **_request_options(target))
        self._timeout = timeout
        self._dialect, self._clock = dialect(), asyncio.get_running_loop().time

    async def __call__(self, prepared: PreparedRequest, waited: float = 0.0) -> EndpointAttempt:
        """Make one attempt, after a wait; never raise for anything that the endpoint does."""
        names = declared_schemas(prepared.tools).keys()
        run = _Run(self._clock, self._dialect.open_stream(names) if prepared.stream else None)
        started_at = datetime.now(UTC)
        try:
            async with asyncio.timeout(self._timeout), self._post(data=_Body(prepared.body, run)) as response:
                with _noticing_malformed_chunks(response):
                    reading = await self._read(response, prepared, run)
        except TimeoutError:
            reading = run.ended("timeout", Problem("timeout", f"no complete answer within {self._timeout:g} s"))
        except UndecodableBody as error:
            reading = run.ended("protocol_error", Problem("undecodable_body", str(error)))
        except (aiohttp.ClientError, OSError) as error:
            reading = run.broken(error)
        return EndpointAttempt(
            started_at=started_at,
            waited=waited,
            status=run.status,
            first_token=run.since(run.stream.first_token) if run.stream else None,
            duration=run.since(run.finished or self._clock()) or 0.0,
            reading=reading,
            retry_after=run.retry_after,
        )

    async def _read(self, response: aiohttp.ClientResponse, prepared: PreparedRequest, run: _Run) -> Reading:
        run.status = response.status
        if response.status // 100 != 2:
            run.retry_after = retry_after(response.headers)
            return await _read_refusal(response)
        kind = response.headers.get("Content-Type", "").lower()
        decoder = Decoder(response.headers.getall("Content-Encoding", []))
        if run.stream is not None and kind.startswith("text/event-stream"):
            reading = await self._events(response, decoder, run, run.stream)
        else:
            body = await _read_body(response, decoder, LARGEST)
            reading = _read_whole(self._dialect, body, kind, stream=prepared.stream, cut=decoder.is_cut)
        run.finished = run.finished or self._clock()
        if decoder.surplus:
            excerpts = {**reading.excerpts, "bytes_after_body": repr(decoder.surplus)}
            reading = replace(reading, notes=tuple(sorted({*reading.notes, "bytes_after_body"})), excerpts=excerpts)
        return reading

    async def _events(
        self, response: aiohttp.ClientResponse, decoder: Decoder, run: _Run, stream: EventStream
    ) -> Reading:
        left, parts = LARGEST, _Parts(response, decoder)
        async for part in parts:
            stream.feed(part, self._clock())
            left -= len(part)
            if left < 0:
                stream.refuse("too_large", _TOO_LARGE)
                response.close()
            elif stream.over:
                run.finished = self._clock()
                if decoder.packed or not response.content.at_eof():
                    await self._drain(response, parts, decoder, stream)
            if stream.over:
                break
        run.finished = run.finished or self._clock()
        return stream.end(run.finished, cut=_CUT_PACKED if decoder.is_cut else None)

    async def _drain(
        self, response: aiohttp.ClientResponse, parts: _Parts, decoder: Decoder, stream: EventStream
    ) -> None:
        """Read the body to its end to make the connection reusable."""
        try:
            async with asyncio.timeout(LINGER):
                async for part in parts:
                    stream.feed(part, self._clock())
            if decoder.is_cut:
                stream.note("encoding_unfinished")
        except (TimeoutError, aiohttp.ClientError, UndecodableBody):
            response.close()
        except asyncio.CancelledError:
            response.close()
            if (task := asyncio.current_task()) is not None:
                # The answer is whole, and is handed over first: the cancellation takes effect at the next wait.
                task.uncancel()
                task.cancel()


def _request_options(target: Target) -> dict[str, Any]:
    """Return the vendor's headers and the proxy. Errors do not show values, because one is the key."""
    with blaming_driver(f"{target.name}: the vendor's driver failed to make request headers", target.secrets):
        headers = dict(target.vendor.headers(target.api_key))
    for name, value in headers.items():
        if not (isinstance(name, str) and re.fullmatch(HEADER_NAME, name)):
            raise DriverBroken(f"{target.name}: the vendor's driver makes a header whose name is not valid")
        if not (isinstance(value, str) and value.isprintable()):
            raise DriverBroken(f"{target.name}: the vendor's driver makes a header {name} that is not one line of text")
    # Names of headers do not depend on the case of letters.
    sent = CIMultiDict(own for own in headers.items() if target.api_key or not is_secret_header(own[0]))
    sent.update(target.headers)
    options: dict[str, Any] = {"headers": sent}
    if target.proxy is not None:
        options["proxy"] = target.proxy.with_user(None)
        if target.proxy.user:
            login = b64encode(f"{target.proxy.user}:{target.proxy.password or ''}".encode()).decode()
            # A tunnel is requested alone, by a request that the vendor does not see.
            place = options.setdefault("proxy_headers", {}) if target.url.startswith("https:") else sent
            place["Proxy-Authorization"] = f"Basic {login}"
    return options


class MalformedChunks(aiohttp.ClientPayloadError):
    """The body's chunked encoding is malformed."""


KINDS: dict[str, tuple[type[Exception], ...]] = {
    "connect": (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError),
    "disconnected": (aiohttp.ServerDisconnectedError,),
    "malformed_http": (aiohttp.ClientResponseError, MalformedChunks),
    "reset": (aiohttp.ClientPayloadError,),
}
"""Kind of a problem -> its errors; the first match counts."""


@contextmanager
def _noticing_malformed_chunks(response: aiohttp.ClientResponse) -> Iterator[None]:
    """End the body when its chunks are malformed; aiohttp closes the connection then, but lets the reader wait."""
    closed = getattr(getattr(response.connection, "protocol", None), "closed", None)
    if closed is None:
        yield
        return
    body = response.content

    def end(_: asyncio.Future[None]) -> None:
        if body.exception() is None and not body.is_eof():
            body.set_exception(MalformedChunks("the body's chunks are malformed, so the connection was closed"))

    closed.add_done_callback(end)
    # Once per connection, which outlives the exchange.
    closed.remove_done_callback(_retrieve)
    closed.add_done_callback(_retrieve)
    try:
        yield
    finally:
        closed.remove_done_callback(end)


def _retrieve(closed: asyncio.Future[None]) -> None:
    """Retrieve the error of a lost connection; asyncio warns if no one does."""
    if not closed.cancelled():
        closed.exception()


@dataclass
class _Run:
    clock: Callable[[], float]
    stream: EventStream | None
    status: int | None = None
    retry_after: float | None = None
    finished: float | None = None

    def __post_init__(self) -> None:
        self.sent = self.clock()

    def since(self, moment: float | None) -> float | None:
        """Seconds from the writing of the request to a moment."""
        return None if moment is None else max(0.0, moment - self.sent)

    def broken(self, error: Exception) -> Reading:
        """End the attempt with an error of the connection, of HTTP or of the body."""
        kind = _kind(error)
        if isinstance(error, aiohttp.ClientPayloadError) and kind == "reset" and not RESET.search(str(error)):
            # The body ended early, because its peer closed the connection.
            text = "the connection was closed before the body was complete"
            return self.stream.end(self.clock(), cut=text) if self.stream else failed("cut_body", text)
        return self.ended("transport_error", Problem(kind, _text(error)))

    def ended(self, outcome: Outcome, problem: Problem) -> Reading:
        """End the attempt from outside; the part that had been streamed is kept."""
        if self.stream is None:
            return Reading(outcome, problem=problem)
        reading = self.stream.end(self.clock(), cut=problem.message)
        return replace(reading, outcome=outcome, problem=problem)


class _Body(BytesPayload):
    """The body of a request, which starts its attempt's clock when it is written, after any wait for a connection."""

    def __init__(self, value: bytes, run: _Run) -> None:
        super().__init__(value, content_type="application/json")
        self._run = run

    async def write(self, writer: AbstractStreamWriter) -> None:
        self._run.sent = self._run.clock()
        await super().write(writer)

    async def write_with_length(self, writer: AbstractStreamWriter, _length: int | None) -> None:
        await self.write(writer)


_TOO_LARGE = f"the answer is larger than {LARGEST >> 20} MiB"
_CUT_PACKED = "the compressed body ends too early"


class _Parts(AsyncIterator[bytes]):
    """The decoded body, part by part.

    This is not a generator, because asyncio would start a task to close an unfinished one for every answer.
    """

    def __init__(self, response: aiohttp.ClientResponse, decoder: Decoder) -> None:
        self._chunks, self._decoder = response.content.iter_any(), decoder
        self._parts: Iterator[bytes] = iter(())

    async def __anext__(self) -> bytes:
        while (part := next(self._parts, None)) is None:
            self._parts = self._decoder.feed(await anext(self._chunks))
        return part


async def _read_body(response: aiohttp.ClientResponse, decoder: Decoder, most: int) -> bytes:
    """Return the decoded body; reading stops once it has more than ``most`` bytes."""
    found = bytearray()
    async for part in _Parts(response, decoder):
        found += part
        if len(found) > most:
            break
    return bytes(found)


def _read_whole(spoken: Dialect, body: bytes, kind: str, *, stream: bool, cut: bool) -> Reading:
    if len(body) > LARGEST:
        return failed("too_large", _TOO_LARGE)
    if cut:
        return failed("cut_body", f"{_CUT_PACKED}: {_excerpt(body)}")
    reading = spoken.read_body(body, kind)
    if not stream or is_html(body, kind) or (reading.problem and reading.problem.kind == "error_body"):
        return reading
    return failed("wrong_content_type", f"a stream was requested, not {kind or 'an untyped body'}: {_excerpt(body)}")


async def _read_refusal(response: aiohttp.ClientResponse) -> Reading:
    text = f"the endpoint answered with status {response.status}"
    target, encodings = response.headers.get("Location"), response.headers.getall("Content-Encoding", [])
    if target and response.status // 100 == 3:
        text += f", a redirection to {redact(target[:SHOWN])}: the key is sent only to the base URL"
    try:
        body = _excerpt(await _read_body(response, Decoder(encodings), SHOWN * 4))
    except (aiohttp.ClientError, UndecodableBody) as error:
        # A fault of its body changes nothing about the status.
        body = f"(its body cannot be read: {_text(error)})"
    return failed(f"http_{response.status}", f"{text}: {body}" if body else text, "transport_error")


def _excerpt(body: bytes) -> str:
    return redact(body[:SHOWN].decode("utf-8", "replace"))


def _kind(error: Exception) -> str:
    found = next((kind for kind, types in KINDS.items() if isinstance(error, types)), None)
    cause: BaseException | None = error
    while found is None and cause is not None:
        found = "reset" if isinstance(cause, OSError) else None
        cause = cause.__cause__ or cause.__context__
    return found or "transport"


def _text(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    hints = [said for shown, said in OTHER_PROTOCOLS.items() if re.search(shown, text)]
    return redact("".join((*hints, text))[:SHOWN])


class UndecodableBody(Exception):
    """A body in an encoding that was not requested, or that is not in the one it names."""


class Decoder:
    """Unpacks a body that may be cut anywhere, by the values of the header; ``packed`` if there is anything to undo."""

    def __init__(self, encodings: Iterable[str]) -> None:
        names = [name.strip() for name in ",".join(encodings).lower().split(",")]
        for name in names:
            if name not in NAMES:
                raise UndecodableBody(f"the body is encoded as {name}, which was not asked for")
        self._layers = [_Layer(NAMES[name]) for name in reversed(names) if NAMES[name]]
        self.packed = bool(self._layers)

    @property
    def is_cut(self) -> bool:
        """Return whether the bytes so far are less than the whole body."""
        return any(layer.stream is not None for layer in self._layers)

    @property
    def surplus(self) -> bytes:
        """The beginning of what came after the packed body; empty if nothing did."""
        return next((layer.surplus for layer in self._layers if layer.surplus), b"")

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The body's next parts."""
        parts = iter((chunk,))
        for layer in self._layers:
            parts = chain.from_iterable(map(layer.feed, parts))
        return parts


class _Layer:
    """One encoding; a body in gzip may have several members, one after the other.

    Attributes:
        stream: decodes the current member; None between members.
    """

    def __init__(self, name: str) -> None:
        self.stream: zlib._Decompress | None = None
        self.surplus = b""
        self._name = name
        self._ended = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self.stream is None and self._ended and not (self._name == "gzip" and chunk[:1] == b"\x1f"):
                # Zeros may fill up a file in gzip.
                self.surplus = self.surplus or chunk.strip(b"\0")[:40]
                return
            stream = self.stream = self.stream or zlib.decompressobj(self._format(chunk))
            more = True
            while more:
                try:
                    part = stream.decompress(chunk, PIECE)
                except zlib.error as error:
                    raise UndecodableBody(f"the body is not in {self._name}: {error}") from error
                chunk = stream.unconsumed_tail
                # What fills a piece may have left more behind.
                more = not stream.eof and (bool(chunk) or len(part) == PIECE)
                if part:
                    yield part
            if stream.eof:
                chunk, self.stream, self._ended = stream.unused_data, None, True

    def _format(self, chunk: bytes) -> int:
        """Return the format of a member that begins like this; some servers send deflate without its wrapping."""
        if self._name == "gzip":
            return GZIP
        return ZLIB if chunk[0] & 0x0F == zlib.DEFLATED else RAW
