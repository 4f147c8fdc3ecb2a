"""The process that serves a model with llama.cpp until its standard input ends.

A line of JSON on standard input describes the model, and ``{"url": …}`` on standard output gives its address. All
output of llama.cpp goes to standard error.

Its front end accepts conversations with arguments of calls that are not JSON, which llama.cpp rejects. A model may
write such arguments, and a framework that shows it the error sends them back. They go to llama.cpp as a JSON string,
and Trialbed's template writes that exactly like the model did. Everything else is passed on unchanged.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import orjson
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from trialbed.wire import dump_json, parse_json


def main() -> None:
    """Serve until the standard input ends."""
    output = os.dup(1)
    os.dup2(2, 1)  # llama.cpp may print
    wanted = json.loads(sys.stdin.buffer.readline())
    server = start(wanted)
    asyncio.run(serve_front(server.listening_address, output))
    # A normal exit would wait for pending answers.
    os._exit(0)


async def serve_front(upstream: str, output: int) -> None:
    """Write the address of llama.cpp's front end to a file descriptor, and serve it until the standard input ends."""
    # An abandoned request would block the model, which serves one at a time.
    runner = web.AppRunner(make_front(upstream), access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    os.write(output, json.dumps({"url": f"http://{host}:{port}"}).encode() + b"\n")
    os.close(output)
    await asyncio.to_thread(sys.stdin.buffer.read)


def start(wanted: dict[str, Any]) -> Any:
    """Load a model, and serve it on a free port of this machine.

    Args:
        wanted: ``path`` of the weights, ``template`` (None for the model's own), ``context`` and ``answer`` in
            tokens, ``threads``, and the ``key`` that requests must have.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    params.n_ctx = wanted["context"]
    params.n_predict = wanted["answer"]
    # At temperature 0, equal requests get equal answers only if the numbers for a token are independent of the tokens
    # in the same batch. These depend on the cache and on other requests. Flash attention, the kernels for repacked
    # weights and GPU kernels add up in a different order for one token than for many.
    params.n_parallel = 1
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.no_extra_bufts = True
    params.n_gpu_layers = 0
    params.use_jinja = True
    # Also serve embeddings of texts. Answers are the same with it.
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    if wanted["template"] is not None:
        params.chat_template = wanted["template"]
    # The name in answers, instead of the path of the weights.
    params.model_alias = {"local"}
    params.api_keys = [wanted["key"]]
    params.port = 0
    params.ui = False
    return xllamacpp.Server(params)


LARGEST = 256 * 2**20
"""Largest request, in bytes. The gateway has a lower limit."""

MARKS = (b'"tool_calls"', b'"function_call"')
"""Every request with calls contains one of these."""

FORWARDED = ("authorization", "content-type", "accept")
HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


def make_front(upstream: str) -> web.Application:
    """Return an application that passes requests to the server at this address, and streams its answers back."""

    async def session(application: web.Application) -> Any:
        # The gateway limits the time of a request.
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
    """Return a request's body with all arguments of calls as JSON. If they already are, it stays unchanged."""
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
    """Yield the functions of chat completions' calls and Responses' items, which have arguments as text."""
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
    """Return whether llama.cpp parses a text as JSON that the template writes back unchanged. This excludes strings."""
    try:
        return not isinstance(orjson.loads(text), str)
    except ValueError:
        return False


if __name__ == "__main__":
    main()
