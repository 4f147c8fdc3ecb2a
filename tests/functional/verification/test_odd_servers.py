"""Endpoints behind proxies, and servers whose answers have no end: every case still ends once, under its right name."""

from __future__ import annotations

import gzip
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from support.verification import KEY, rows, target, verify, written_set
from support.wire import BODY, reply, saying

LENGTH = f"Content-Length: {len(BODY)}"


async def answered(folder: Path, answer: bytes, *, stream: bool = False, **options: Any) -> dict[str, Any]:
    """The row of one case that got these bytes."""
    file = written_set(folder / "set.jsonl", 1, stream=stream)
    async with saying(answer) as server:
        (summary,) = await verify(file, target(server.url, folder), **{"retries": 0, "timeout": 60, **options})
    (row,) = rows(folder / "results.jsonl")
    assert summary["case_count"] == 1
    return row


async def test_a_redirection_is_followed_nowhere_and_names_where_it_leads(tmp_path: Path) -> None:
    async with saying(reply(LENGTH)) as elsewhere:
        moved = reply(f"Location: {elsewhere.url}", "Content-Length: 0", status="HTTP/1.1 307 Moved", body=b"")
        row = await answered(tmp_path, moved)
        assert elsewhere.requests == []
    assert (row["outcome"], row["problem"]["kind"]) == ("transport_error", "http_307")
    assert elsewhere.url in row["problem"]["message"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_without_end_is_cut_off(stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_verify.verification.exchange.LARGEST", 2**20)
    kind = "text/event-stream" if stream else "application/json"
    body = b"data: " + b"x" * 2**22 if stream else BODY + b" " * 2**22
    row = await answered(tmp_path, reply(f"Content-Length: {2**33}", body=body, kind=kind), stream=stream)
    assert (row["outcome"], row["problem"]["kind"]) == ("protocol_error", "too_large")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_small_body_that_unpacks_without_end_is_cut_off(
    stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_verify.verification.exchange.LARGEST", 2**20)
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
