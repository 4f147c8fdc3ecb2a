"""Endpoints behind odd servers and proxies: every case still ends once, and under its right name."""

from __future__ import annotations

import gzip
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from support.verification import KEY, rows, target, verify, written_set
from support.wire import BODY, EVENTS, reply, saying

LENGTH = f"Content-Length: {len(BODY)}"


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


async def answered(folder: Path, answer: bytes, *, stream: bool = False, **options: Any) -> dict[str, Any]:
    """The row of one case that got these bytes."""
    file = written_set(folder / "set.jsonl", 1, stream=stream)
    async with saying(answer) as server:
        (summary,) = await verify(file, target(server.url, folder), **{"retries": 0, "timeout": 60, **options})
    (row,) = rows(folder / "results.jsonl")
    assert summary["case_count"] == 1
    return row


WHOLE = {
    "with a length": reply(LENGTH),
    "in chunks": reply("Transfer-Encoding: chunked", body=chunked(BODY[:7], BODY[7:])),
    "HTTP/1.0, ended by closing": reply(status="HTTP/1.0 200 OK"),
    "gzip": reply("Content-Encoding: gzip", "Connection: close", body=gzip.compress(BODY)),
    "deflate": reply("Content-Encoding: deflate", "Connection: close", body=zlib.compress(BODY)),
    "an encoding that is none": reply(LENGTH, "Content-Encoding: identity"),
    "a header of 12 kB": reply(LENGTH, f"X-Policy: {'x' * 12_000}"),
    "HTTP 201": reply(LENGTH, status="HTTP/1.1 201 Created"),
    "JSON that calls itself text": reply(LENGTH, kind="text/plain"),
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE)
async def test_a_whole_answer_is_one_however_it_is_packed(answer: bytes, tmp_path: Path) -> None:
    row = await answered(tmp_path, answer)
    assert (row["outcome"], row["problem"], row["total_tokens"]) == ("stop", None, 7)


STREAMS = {
    "in chunks": reply("Transfer-Encoding: chunked", body=chunked(EVENTS[:30], EVENTS[30:]), kind="text/event-stream"),
    "HTTP/1.0, ended by closing": reply(status="HTTP/1.0 200 OK", body=EVENTS, kind="text/event-stream"),
    "gzip": reply("Content-Encoding: gzip", "Connection: close", body=gzip.compress(EVENTS), kind="text/event-stream"),
    "with a charset": reply("Connection: close", body=EVENTS, kind="Text/Event-Stream; charset=utf-8"),
    "lines that end in CRLF": reply("Connection: close", body=EVENTS.replace(b"\n", b"\r\n"), kind="text/event-stream"),
}


@pytest.mark.parametrize("answer", STREAMS.values(), ids=STREAMS)
async def test_a_whole_stream_is_one_however_it_is_packed(answer: bytes, tmp_path: Path) -> None:
    row = await answered(tmp_path, answer, stream=True)
    assert (row["outcome"], row["problem"]) == ("stop", None)
    assert row["response"]["choices"][0]["message"]["content"] == "hi"
    assert row["ttft_ms"] is not None


BROKEN = {
    "brotli, which was not asked for": (
        reply("Content-Encoding: br", LENGTH),
        ("protocol_error", "undecodable_body"),
    ),
    "gzip that is none": (reply("Content-Encoding: gzip", LENGTH), ("protocol_error", "undecodable_body")),
    "no HTTP": (b"GARBAGE\r\n\r\n", ("transport_error", "malformed_http")),
    "TLS": (bytes([0x15, 3, 1, 0, 2, 2, 70]), ("transport_error", "malformed_http")),
    "a header that is none": (b"HTTP/1.1 200 OK\r\nFoo bar\r\n\r\n", ("transport_error", "malformed_http")),
    "a header without end": (
        b"HTTP/1.1 200 OK\r\nFoo: " + b"x" * 100_000 + b"\r\n\r\n",
        ("transport_error", "malformed_http"),
    ),
    "a chunk that is none": (
        reply("Transfer-Encoding: chunked", body=b"zz\r\nabc\r\n"),
        ("transport_error", "malformed_http"),
    ),
    "less than its length": (reply(f"Content-Length: {len(BODY) + 9}"), ("protocol_error", "cut_body")),
    "choices that are a number": (reply("Connection: close", body=b'{"choices": 5}'), ("protocol_error", "no_choices")),
    "deep nesting": (reply("Connection: close", body=b"[" * 4000), ("protocol_error", "malformed_body")),
    "no content": (
        reply("Content-Length: 0", status="HTTP/1.1 204 No Content", body=b""),
        ("protocol_error", "empty_body"),
    ),
    "a refusal that is cut": (
        reply("Content-Length: 500", status="HTTP/1.1 429 Slow down"),
        ("transport_error", "http_429"),
    ),
    "a refusal that cannot be unpacked": (
        reply("Content-Encoding: gzip", LENGTH, status="HTTP/1.1 503 Not now"),
        ("transport_error", "http_503"),
    ),
    "a status that nobody knows": (
        reply("Content-Length: 0", status="HTTP/1.1 799 Odd", body=b""),
        ("transport_error", "http_799"),
    ),
}


@pytest.mark.parametrize(("answer", "ending"), BROKEN.values(), ids=BROKEN)
async def test_what_is_no_answer_is_named(answer: bytes, ending: tuple[str, str], tmp_path: Path) -> None:
    row = await answered(tmp_path, answer)
    assert (row["outcome"], row["problem"]["kind"]) == ending


async def test_half_of_a_character_is_kept(tmp_path: Path) -> None:
    row = await answered(tmp_path, reply("Connection: close", body=BODY.replace(b'"hi"', b'"\\ud83d"')))
    assert (row["outcome"], row["response"]["choices"][0]["message"]["content"]) == ("stop", "\ud83d")


async def test_a_redirection_is_followed_nowhere_and_names_where_it_leads(tmp_path: Path) -> None:
    async with saying(reply(LENGTH)) as elsewhere:
        moved = reply(f"Location: {elsewhere.url}", "Content-Length: 0", status="HTTP/1.1 307 Moved", body=b"")
        row = await answered(tmp_path, moved)
        assert elsewhere.requests == []
    assert (row["outcome"], row["problem"]["kind"]) == ("transport_error", "http_307")
    assert elsewhere.url in row["problem"]["message"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_without_end_is_cut_off(stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_verify.verification.wire._exchange.LARGEST", 2**20)
    kind = "text/event-stream" if stream else "application/json"
    body = b"data: " + b"x" * 2**22 if stream else BODY + b" " * 2**22
    row = await answered(tmp_path, reply(f"Content-Length: {2**33}", body=body, kind=kind), stream=stream)
    assert (row["outcome"], row["problem"]["kind"]) == ("protocol_error", "too_large")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_small_body_that_unpacks_without_end_is_cut_off(
    stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_verify.verification.wire._exchange.LARGEST", 2**20)
    packed = gzip.compress(b"x" * 2**26)
    kind = "text/event-stream" if stream else "application/json"
    headers = (f"Content-Length: {len(packed)}", "Content-Encoding: gzip")
    row = await answered(tmp_path, reply(*headers, body=packed, kind=kind), stream=stream)
    assert (row["outcome"], row["problem"]["kind"]) == ("protocol_error", "too_large")


async def test_what_is_asked_for_is_the_same_whatever_is_installed(tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 1)
    async with saying(reply(LENGTH)) as server:
        await verify(file, target(server.url, tmp_path))
    (head,) = server.requests
    assert head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert "\r\nAccept-Encoding: gzip, deflate\r\n" in head
    assert f"\r\nAuthorization: Bearer {KEY}\r\n" in head


async def test_a_proxy_is_never_between_us_and_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    row = await answered(tmp_path, reply(LENGTH))
    assert row["outcome"] == "stop"


async def test_a_proxy_is_used_for_other_machines_and_its_password_is_told_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written_set(tmp_path / "set.jsonl", 1)
    async with saying(reply(LENGTH)) as proxy:
        address = proxy.url.removeprefix("http://").removesuffix("/v1")
        monkeypatch.setenv("HTTP_PROXY", f"http://user:pass-for-proxy@{address}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        (summary,) = await verify(file, target("http://vendor.example/v1", tmp_path))
    (head,) = proxy.requests
    assert head.startswith("POST http://vendor.example/v1/chat/completions HTTP/1.1\r\n")
    assert f"\r\nProxy-Authorization: Basic {b64encode(b'user:pass-for-proxy').decode()}\r\n" in head
    assert summary["success_count"] == 1
    assert summary["provenance"]["proxy"] == f"http://{address}"
    for path in (tmp_path / "results.jsonl", tmp_path / "summary.json"):
        assert "pass-for-proxy" not in path.read_text()


async def test_a_tunnel_is_asked_for_without_the_vendors_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written_set(tmp_path / "set.jsonl", 1)
    async with saying(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n") as proxy:
        monkeypatch.setenv(
            "HTTPS_PROXY", proxy.url.replace("http://", "http://user:pass-for-proxy@").removesuffix("/v1")
        )
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        await verify(file, target("https://vendor.example/v1", tmp_path), retries=0)
    (head,) = proxy.requests
    assert head.startswith("CONNECT vendor.example:443 ")
    assert "Proxy-Authorization: Basic " in head
    assert KEY not in head
    (row,) = rows(tmp_path / "results.jsonl")
    assert row["outcome"] == "transport_error"
    assert "pass-for-proxy" not in (tmp_path / "results.jsonl").read_text()


async def test_a_login_of_netrc_replaces_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    file = written_set(tmp_path / "set.jsonl", 1)
    async with saying(reply(LENGTH)) as server:
        await verify(file, target(server.url, tmp_path))
    assert f"\r\nAuthorization: Bearer {KEY}\r\n" in server.requests[0]
