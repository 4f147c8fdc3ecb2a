"""An endpoint of a model that errs: it refuses requests, or its first answer is one that no framework should get."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import Completion, usage_document

REFUSING = "refuse-"
"""The model ``refuse-429`` is refused with status 429, and ``refuse-429-once/<any>`` at its first request."""

FAULTY = "faulty-"
"""The first answer of the model ``faulty-<name of an answer>/<any>`` is that one of ``FAULTY_ANSWERS``."""

ONCE = "-once"
MARK = "/"
"""Parts the name of a model from what tells its trial from others."""

MAX_BODY = 64 * 2**20
FINAL_TEXT = "The stations measured what was expected."
"""The answer of the model after its fault."""

CUT_TEXT = "The stations meas"


def erring_answer(model: str, asked: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the status and the body of an answer.

    Args:
        model: its name, which says how it errs.
        asked: how often it was asked before.
    """
    name, _, _ = model.partition(MARK)
    if name.startswith(FAULTY):
        name = name.removeprefix(FAULTY)
        return 200, FAULTY_ANSWERS[name](request) if not asked else _said(FINAL_TEXT)
    status = name.removeprefix(REFUSING).removesuffix(ONCE)
    if name.endswith(ONCE) and asked:
        return 200, _said(FINAL_TEXT)
    error = {"message": f"refused with {status}, as the model's name asks", "type": "refused", "code": None}
    return int(status), {"error": error}


@asynccontextmanager
async def erring_endpoint() -> AsyncIterator[str]:
    """Yield the base URL of an endpoint on this event loop; it ends in ``/v1``."""
    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/v1/chat/completions", _Handler())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


class _Handler:
    """Answers requests, and counts them by model."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    async def __call__(self, request: web.Request) -> web.Response:
        body = await request.json()
        model = str(body.get("model"))
        status, answer = erring_answer(model, self._asked[model], body)
        self._asked[model] += 1
        return web.json_response(answer, status=status)


def _said(text: str | None, finish: str = "stop", **fields: Any) -> dict[str, Any]:
    return _answer(content=text, finish_reason=finish, message_fields=fields)


def _called(request: dict[str, Any], arguments: str, finish: str = "tool_calls") -> dict[str, Any]:
    """Return a call of the first tool on offer."""
    tools = request.get("tools") or [{}]
    name = tools[0].get("function", {}).get("name", "none")
    return _answer(calls=(Call(name, arguments, "call_erring_1"),), finish_reason=finish)


def _answer(**parts: Any) -> dict[str, Any]:
    return Completion(id="erring", model="erring", created=0, usage=usage_document(1, 1), **parts).document()


def _no_choices(_request: dict[str, Any]) -> dict[str, Any]:
    return {**_said(""), "choices": []}


FAULTY_ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "list": lambda request: _called(request, "[1]"),
    "text": lambda request: _called(request, json.dumps("text")),
    "empty-arguments": lambda request: _called(request, ""),
    "null": lambda request: _called(request, "null"),
    "huge-number": lambda request: _called(request, f'{{"instrument": {"9" * 5000}, "day": "Wed"}}'),
    "cut-call": lambda request: _called(request, '{"instrument": "gau', "length"),
    "cut-text": lambda _: _said(CUT_TEXT, "length"),
    "cut-nothing": lambda _: _said(None, "length"),
    "empty": lambda _: _said(""),
    "no-content": lambda _: _said(None),
    "refusal": lambda _: _said(None, refusal="I cannot help with that."),
    "filtered": lambda _: _said(CUT_TEXT, "content_filter"),
    "no-choices": _no_choices,
    "error-body": lambda _: {"error": {"message": "the model is overloaded", "type": "server_error", "code": None}},
}
"""Name -> the answer to a request."""
