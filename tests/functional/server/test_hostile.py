"""Requests that no client should send: a clear error each, and the server goes on."""

from __future__ import annotations

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any

import pytest
from support.servers import TRIAL, Serve, registration, virtual

ROUTES = (
    "/virtual",
    f"/t/{TRIAL}/virtual",
    "/v1/chat/completions",
    f"/t/{TRIAL}/v1/chat/completions",
    "/control/trials",
    f"/t/{TRIAL}/mcp",
)

TEXT = json.dumps(virtual())
BODIES: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"<html>",
    "not UTF-8": TEXT.encode("utf-16"),
    "Latin-1": TEXT.replace("Oslo", "Troms\xf8").encode("latin-1"),
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "NUL bytes": b"\x00" * 100,
    "NUL in a name": TEXT.replace("Current", "a\\u0000b").encode(),
    "NaN": TEXT.replace('"Oslo"', "NaN").encode(),
    "infinite": TEXT.replace('"Oslo"', "1e999").encode(),
    "huge integer": TEXT.replace('"Oslo"', "9" * 5000).encode(),
    "half a character": TEXT.replace("Oslo", "\\ud800").encode(),
    "half a character in a name": TEXT.replace("Current", "\\ud800").encode(),
    "deep arrays": b"[" * 100_000 + b"]" * 100_000,
    "deep input": TEXT.replace('"Oslo"', "[" * 50_000 + "]" * 50_000).encode(),
    "deep input as a text": json.dumps(virtual("[" * 50_000 + "]" * 50_000)).encode(),
    "duplicate keys": (TEXT[:-1] + ', "category": "..", "tool_input": {"city": "x", "city": "y"}}').encode(),
    "a list": b"[]",
    "null": b"null",
    "a number": b"5",
    "path traversal": json.dumps(virtual(category="..", tool_name="../../etc_for_..", api_name="../passwd")).encode(),
    "absolute path": json.dumps(virtual(tool_name="/tmp/trialbed-escape_for_Weather")).encode(),
    "10,000 fields": json.dumps({**virtual(), **{f"f{n}": n for n in range(10_000)}}).encode(),
    "10,000 arguments": json.dumps(virtual({f"a{n}": n for n in range(10_000)})).encode(),
    "a long name": json.dumps(virtual(api_name="x" * 100_000)).encode(),
    "too large": b'{"category": "' + b"x" * 2**20 + b'"}',
}


def files(folder: Path) -> list[str]:
    """What is in a folder, but the cache."""
    found = [*folder.rglob("*"), *Path("/tmp").glob("trialbed-escape*")]
    return sorted(str(path) for path in found if not path.name.startswith("responses.db"))


async def test_a_hostile_body_gets_a_clear_answer_everywhere(serve: Serve, tmp_path: Path) -> None:
    client = await serve(max_body=2**20, cache=str(tmp_path / "deep" / "responses.db"))
    await client.post("/control/trials", json=registration())
    before = files(tmp_path)
    for name, body in BODIES.items():
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        replies = await asyncio.gather(*(client.post(route, content=body, headers=headers) for route in ROUTES))
        for route, reply in zip(ROUTES, replies, strict=True):
            assert reply.status_code < 500, (name, route, reply.text)
            assert reply.text, (name, route)
            assert (reply.status_code == 413) is (name == "too large"), (name, route)
        assert (await client.post("/virtual", json=virtual({"city": name}))).json()["error"] == ""
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "path",
    [
        "/t/../control/trials",
        "/t/%2e%2e%2fcontrol/virtual",
        "/t/%00/virtual",
        "/v1/../../etc/passwd",
        f"/t/{TRIAL}/v1/%2e%2e/control",
        "/" + "x" * 20_000,
        "//virtual",
    ],
)
async def test_a_hostile_path_is_not_found(serve: Serve, path: str) -> None:
    client = await serve()
    for method in ("GET", "POST", "DELETE", "PROPFIND"):
        reply = await client.request(method, str(client.base_url).rstrip("/") + path, json=virtual())
        assert 400 <= reply.status_code < 500, (method, reply.status_code)


async def test_50_megabytes_are_refused_before_they_are_read(serve: Serve) -> None:
    client = await serve()
    sent = 0

    async def pieces() -> Any:
        nonlocal sent
        for _ in range(50):
            sent += 2**20
            yield b"x" * 2**20

    for content in (pieces(), b"x" * 50 * 2**20):
        reply = await client.post("/virtual", content=content)
        assert (reply.status_code, reply.json()["error"]) == (413, "the request is larger than 16777216 bytes")
    assert (await client.post("/virtual", json=virtual())).status_code == 200


async def test_a_client_that_reads_only_when_it_has_sent_everything_sees_that_it_is_too_much(serve: Serve) -> None:
    client = await serve()
    url = client.base_url

    def sent() -> tuple[int, str]:
        connection = http.client.HTTPConnection(url.host, url.port)
        connection.request("POST", "/virtual", b"x" * 50 * 2**20, {"connection": "close"})
        reply = connection.getresponse()
        return reply.status, json.load(reply)["error"]

    assert await asyncio.to_thread(sent) == (413, "the request is larger than 16777216 bytes")
    assert (await client.post("/virtual", json=virtual())).status_code == 200
