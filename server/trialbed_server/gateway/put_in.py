"""Faults that are put in on purpose, in place of an answer of the model."""

from __future__ import annotations

from typing import Any

from trialbed.records import ModelFault
from trialbed_server.gateway.response import JSON_TYPE, ResponseWriter
from trialbed_server.trials import RETRY_AFTER

ERRORS: dict[str, tuple[int, str, str]] = {
    "server_error": (500, "server_error", "The server had an error while processing your request."),
    "overloaded": (503, "overloaded_error", "The engine is currently overloaded, please try again later."),
    "rate_limit": (429, "rate_limit_error", "Rate limit reached for requests."),
}
"""Fault -> its status, type and message."""

HALF = b'{"id": "chatcmpl-0", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assis'
EMPTY: dict[str, Any] = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": "", "choices": []}


async def answer_with(fault: ModelFault, writer: ResponseWriter) -> None:
    """Answer a request with a fault."""
    if fault == "malformed":
        await writer.start(200, [JSON_TYPE])
        await writer.write(HALF)
        await writer.finish()
    elif fault == "empty":
        await writer.document(EMPTY)
    else:
        status, kind, message = ERRORS[fault]
        headers = [(b"retry-after", b"%d" % RETRY_AFTER)] if status == 429 else []
        error = writer.exchange.dialect.write_error(message, kind, code=str(status))
        await writer.document(error, status, headers)
