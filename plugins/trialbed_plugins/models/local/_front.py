"""The front of llama.cpp, which answers no conversation in which the arguments of a call are not JSON.

A model may well write such arguments, and a framework that shows it the error sends them back. They go to llama.cpp
as a JSON string of the same text; Trialbed's template writes that as the model did. All else passes as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from trialbed.wire import dump_json, parse_json

LARGEST = 256 * 2**20
"""Bytes of a request; the gateway has a lower bound of its own."""

MARKS = (b'"tool_calls"', b'"function_call"')
"""One of these is in every request with calls."""

FORWARDED = ("authorization", "content-type", "accept")
HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


def make_front(upstream: str) -> web.Application:
    """Make an application that passes requests to the server at this address, and its answers back as they come."""

    async def session(application: web.Application) -> Any:
        # The gateway says how long a request may take.
        async with ClientSession(
            upstream, timeout=ClientTimeout(total=None), connector=TCPConnector(limit=0), auto_decompress=False
        ) as client:
            application[SESSION] = client
            yield

    application = web.Application(client_max_size=LARGEST)
    application.cleanup_ctx.append(session)
    application.router.add_route("*", "/{path:.*}", _pass_on)
    return application


SESSION = web.AppKey("SESSION", ClientSession)


async def _pass_on(request: web.Request) -> web.StreamResponse:
    body = await request.read()
    headers = {name: request.headers[name] for name in FORWARDED if name in request.headers}
    async with request.app[SESSION].request(
        request.method, request.path_qs, data=readable_calls(body), headers=headers
    ) as answer:
        response = web.StreamResponse(
            status=answer.status,
            headers={name: value for name, value in answer.headers.items() if name.lower() not in HOP},
        )
        await response.prepare(request)
        async for part in answer.content.iter_any():
            await response.write(part)
        await response.write_eof()
        return response


def readable_calls(body: bytes) -> bytes:
    """The body of a request in which the arguments of each call are JSON; the body itself where they are."""
    if not any(mark in body for mark in MARKS):
        return body
    try:
        request = parse_json(body)
    except ValueError:
        return body
    unreadable = [call for call in _calls(request) if not _is_taken(call["arguments"])]
    for call in unreadable:
        call["arguments"] = dump_json(call["arguments"]).decode()
    return dump_json(request) if unreadable else body


def _calls(request: Any) -> Iterable[dict[str, Any]]:
    """Yield the parts with arguments as text: the functions of chat completions' calls, and Responses' items."""
    functions = (
        call.get("function") for message in _objects(request, "messages") for call in _objects(message, "tool_calls")
    )
    items = (item for item in _objects(request, "input") if item.get("type") == "function_call")
    for part in (*functions, *items):
        if isinstance(part, dict) and isinstance(part.get("arguments"), str):
            yield part


def _objects(value: Any, key: str) -> list[dict[str, Any]]:
    items = value.get(key) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _is_taken(text: str) -> bool:
    """Return whether llama.cpp reads it as JSON that the template writes as it was: any but a string."""
    try:
        return not isinstance(orjson.loads(text), str)
    except ValueError:
        return False
