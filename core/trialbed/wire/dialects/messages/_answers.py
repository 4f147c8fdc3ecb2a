"""Messages of a model, and errors, as JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from trialbed.wire._exchange import Document, ModelAnswer
from trialbed.wire._readings import Problem, read_document
from trialbed.wire.dialects._fields import counts_of, mapping_of, text_of
from trialbed.wire.dialects.messages._blocks import read_blocks

OF_STATUS = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "409": "conflict_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "502": "api_error",
    "503": "overloaded_error",
    "504": "timeout_error",
    "529": "overloaded_error",
}
"""Status -> the type of its error."""

OF_CODE = {"model_not_found": "not_found_error"}

KINDS = frozenset(OF_STATUS.values())


def write_error(message: str, kind: str, *, code: str | None = None) -> Document:
    """Return an error for Anthropic's clients.

    Args:
        kind: its type; a type of another dialect is replaced by the type of its status.
        code: the status, or a code of its own, which goes into the details.
    """
    status = code is not None and code.isdecimal()
    found = OF_CODE.get(code or "") or (kind if kind in KINDS and not status else OF_STATUS.get(code or "", ""))
    error: Document = {"type": found or "api_error", "message": message}
    if code is not None and not status:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": None}


REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""The dialect's name for the end of a message -> its canonical name."""


def read_answer(document: Document | None, written: Mapping[int, str] | None = None) -> ModelAnswer:
    """Read the answer in a message; without content its ``source`` is None.

    Args:
        written: place of a block -> the arguments of its call as the model wrote them, if a stream shows them.
    """
    found = document or {}
    content = found.get("content")
    said = read_blocks(content, written)
    reason = canonical_reason(found.get("stop_reason"))
    details = mapping_of(found.get("stop_details"))
    return ModelAnswer.of(
        said,
        model=text_of(found.get("model")),
        id=text_of(found.get("id")).removeprefix("msg_"),
        created=0,
        finish_reason=reason,
        usage=read_usage(found.get("usage")),
        refusal=text_of(details.get("explanation")) if details.get("type") == "refusal" else "",
        source={"role": "assistant", "content": content} if isinstance(content, list) else None,
    )


def canonical_reason(reason: Any) -> str | None:
    """Return the canonical name of the reason a message ends, which may be None."""
    return REASONS.get(reason, reason) if isinstance(reason, str) and reason else None


def read_usage(usage: Any) -> dict[str, int] | None:
    """Return the tokens of a message by their canonical names; the prompt's tokens include cached ones.

    A message must have a usage. All zeros, which no prompt has, mean that it was not reported.
    """
    found = mapping_of(usage)
    counts = counts_of(found)
    tokens: dict[str, int] = {}
    if "input_tokens" in counts:
        read, made = counts.get("cache_read_input_tokens", 0), counts.get("cache_creation_input_tokens", 0)
        tokens["prompt_tokens"] = counts["input_tokens"] + read + made
    if "output_tokens" in counts:
        tokens["completion_tokens"] = counts["output_tokens"]
    if len(tokens) > 1:
        tokens["total_tokens"] = sum(tokens.values())
    if "cache_read_input_tokens" in counts:
        tokens["cached_tokens"] = counts["cache_read_input_tokens"]
    return tokens if any(tokens.values()) else None


def problem_of(document: Document) -> Problem | None:
    """Return why a message is not an answer; None if it is one."""
    if document.get("type") == "error" or document.get("error"):
        return Problem("error_body", "the body reports an error", mapping_of(document.get("error")).get("type"))
    if not isinstance(document.get("content"), list):
        return Problem("null_message", "the message has no list of blocks as its content")
    if not text_of(document.get("stop_reason")):
        return Problem("no_finish_reason", "the message has no stop_reason")
    return None


read_body = partial(read_document, read_answer, problem_of)
