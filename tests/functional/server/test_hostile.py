"""Requests that no client should send: a clear error each, and the server goes on."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.servers import OFFERED, SCHEMA, TOOL, TRIAL, Serve, registration, virtual

from trialbed.records import WireLog
from trialbed.wire import parse_json

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

ASKED: dict[str, dict[str, Any]] = {
    "chat/completions": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How is it in Oslo?"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "w", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "fine"},
        ],
        "tools": OFFERED,
        "tool_choice": "auto",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "stream_options": {"include_usage": True},
    },
    "responses": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "How is it in Oslo?"}]},
            {"type": "function_call", "call_id": "a", "name": "w", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "fine"},
        ],
        "tools": [{"type": "function", "name": "w", "parameters": SCHEMA}],
        "tool_choice": "auto",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
    },
    "messages": {
        "max_tokens": 99,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How is it in Oslo?"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "w", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "fine"}]},
        ],
        "tools": [{"name": "w", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
    },
}
"""Requests to models, by path."""
ODD: tuple[Any, ...] = (None, 5, "\ud800", [["x"]], {"a": []})


def odd_ones(value: Any) -> Iterator[Any]:
    """A JSON value with an odd one in the place of each of its parts."""
    yield from ODD
    if isinstance(value, dict):
        for key, part in value.items():
            yield from (value | {key: odd} for odd in odd_ones(part))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from ([*value[:index], odd, *value[index + 1 :]] for odd in odd_ones(part))


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


@pytest.mark.parametrize("levels", [98, 198, 260, 900, 2000])
async def test_values_of_any_depth_are_answered_and_kept_so_that_the_log_can_be_read(serve: Serve, levels: int) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    deep = "[" * levels + "]" * levels
    asked = TEXT.replace('"Oslo"', deep), json.dumps(virtual(f'{{"city": "Oslo", "more": {deep}}}'))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": TOOL["name"], "arguments": {}}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    for body in asked:
        reply = await client.post(f"/t/{TRIAL}/virtual", content=body)
        assert reply.status_code < 500, reply.text
    body = json.dumps(call).replace('"arguments": {}', f'"arguments": {{"city": {deep}}}')
    assert (await client.post(f"/t/{TRIAL}/mcp", content=body, headers=headers)).status_code < 500
    closed = await client.delete(f"/control/trials/{TRIAL}")
    assert closed.status_code == 200, closed.text
    WireLog.model_validate(parse_json(closed.content))  # as the engine reads it


@pytest.mark.slow(10)
@pytest.mark.parametrize("path", ASKED)
async def test_a_scripted_model_answers_or_refuses_whatever_stands_in_a_request(serve: Serve, path: str) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    for body in odd_ones(ASKED[path]):
        if isinstance(body, dict):
            content = json.dumps({"model": "scripted:gold"} | body)
            reply = await client.post(f"/t/{TRIAL}/v1/{path}", content=content)
            assert reply.status_code < 500, (body, reply.text)
    assert (await client.delete(f"/control/trials/{TRIAL}")).status_code == 200


@pytest.mark.parametrize("path", [*ASKED, "messages/count_tokens", "embeddings"])
async def test_no_name_of_a_model_keeps_a_trial_from_being_closed(serve: Serve, path: str) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    for name in ("\ud800", "weak\udfff", ["\ud800"], {"\ud800": 1}):
        content = json.dumps(ASKED.get(path, {"input": "\ud800", "messages": []}) | {"model": name})
        reply = await client.post(f"/t/{TRIAL}/v1/{path}", content=content)
        assert reply.status_code < 500, (name, reply.text)
    closed = await client.delete(f"/control/trials/{TRIAL}")
    assert closed.status_code == 200, closed.text
    assert len(closed.json()["model_calls"]) == (4 if path in ASKED else 0)


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


async def test_a_body_of_very_many_values_is_refused_before_it_is_read(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json={"trial": "t-many-values", "model": "scripted:gold"})
    message = {"role": "user", "content": "a, " * 200_000}
    many = {"chat/completions": "messages", "responses": "input", "messages": "messages"}
    for path, field in many.items():
        url, rest = f"/t/t-many-values/v1/{path}", {"model": "scripted:gold", "max_tokens": 9}
        assert (await client.post(url, json={**rest, field: [message]})).status_code == 200
        reply = await client.post(url, json={**rest, field: [{"role": "user", "content": ""}] * 40_000})
        assert (reply.status_code, "more than 100,000 values" in reply.text) == (413, True), path
    tokens = {"model": "scripted:gold", "input": [[1] * 200_000]}
    assert (await client.post("/t/t-many-values/v1/embeddings", json=tokens)).status_code == 200
    reply = await client.post("/virtual", json=virtual({"list": [0] * 200_000}))
    assert (reply.status_code, reply.json()["error"]) == (413, "the request has more than 100,000 values")
    for odd in (b'"a,', b'["\\"' + b",[" * 200_000 + b'"', b"[" * 200_000, b'{"' + b'\\",' * 200_000):
        assert (await client.post("/virtual", content=odd)).status_code in (413, 422)
    repeated = await client.post("/virtual", json={"other": "x" * 2_000_000})
    assert (repeated.status_code, len(repeated.content) < 2000) == (422, True)


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
