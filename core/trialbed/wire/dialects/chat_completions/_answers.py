"""Completions and errors as JSON documents, with the variants that careless vendors send."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from trialbed.wire._exchange import Document, ModelAnswer
from trialbed.wire._readings import Problem, read_document
from trialbed.wire._readings import read_error as read_error
from trialbed.wire.dialects._fields import counts_of, mapping_of, objects_of, text_of
from trialbed.wire.dialects.chat_completions._requests import REASONING, read_message

REFUSALS = frozenset({"base_resp", "code", "detail", "errmsg", "errno", "message", "msg", "reason", "success"})
"""Keys that vendors use instead of ``error`` to refuse with status 200; such a body has no choices."""

FAILED = "error"
"""The finish reason that routers give if a provider failed."""


def write_error(message: str, kind: str, *, code: str | None = None) -> Document:
    """Return an error as OpenAI's clients read it.

    Args:
        kind: the error's ``type``, such as ``invalid_request_error``.
    """
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def reports_error(document: Mapping[str, Any]) -> bool:
    """Return whether a completion or chunk reports an error, next to its choices or in a choice."""
    # Some servers send an error as an object of its own, {"object": "error", "message": …}.
    if document.get("object") == FAILED or ("error" in document and _says(document["error"])):
        return True
    choices = document.get("choices")
    if choices is None and not REFUSALS.isdisjoint(document):
        return True
    # A loop, as a generator for every chunk of every stream would show in the time.
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        if choice.get("finish_reason") == FAILED or ("error" in choice and _says(choice["error"])):
            return True
    return False


def _says(error: Any) -> bool:
    """Return whether an error has content; some vendors send an empty error with every answer."""
    return any(error.values()) if isinstance(error, dict) else bool(error)


def read_answer(document: Document | None) -> ModelAnswer:
    """Read the answer in a completion; without a message its ``source`` is None."""
    head, choice = document or {}, first_choice(document)
    message = found if isinstance(found := choice.get("message"), dict) else {}
    usage, created = token_counts(head), head.get("created")
    shows_thoughts = any(message.get(key) for key in (*REASONING, "reasoning_details"))
    return ModelAnswer.of(
        read_message(message),
        role="assistant",
        model=text_of(head.get("model")),
        id=text_of(head.get("id")),
        created=created if isinstance(created, int) else 0,
        content=message.get("content") if message else choice.get("text"),
        finish_reason=text_of(choice.get("finish_reason")) or None,
        usage=usage or None,
        hidden_tokens=0 if shows_thoughts else usage.get("reasoning_tokens", 0),
        source=message or None,
    )


def first_choice(response: Document | None) -> Document:
    """Return the choice of index 0, else the first one; may be empty."""
    objects: list[Document] = objects_of((response or {}).get("choices"))
    for choice in objects:
        if choice.get("index", 0) == 0:
            return choice
    return objects[0] if objects else {}


def first_message(response: Document | None) -> Document:
    """Return the message of the first choice; may be empty."""
    message = first_choice(response).get("message")
    return message if isinstance(message, dict) else {}


def answered_calls(message: Mapping[str, Any]) -> list[Any]:
    """Return the calls of a message unchanged; a legacy ``function_call`` is a call without an id."""
    calls, function = message.get("tool_calls"), message.get("function_call")
    if isinstance(calls, list) and calls:
        return calls
    return [{"type": "function", "function": function}] if isinstance(function, dict) and function else []


def problem_of(document: Document) -> Problem | None:
    """Return why a completion is not an answer; None if it is one."""
    choice = first_choice(document)
    if reports_error(document):
        code = mapping_of(document.get("error")).get("code", document.get("code"))
        return Problem("error_body", "the body reports an error", code)
    if not choice:
        return Problem("no_choices", "the completion has no choice, or an empty one")
    if not isinstance(choice.get("message"), dict) and not isinstance(choice.get("text"), str):
        return Problem("null_message", "the first choice has no message")
    if not text_of(choice.get("finish_reason")):
        return Problem("no_finish_reason", "the first choice has no finish reason")
    return None


def token_counts(document: Document) -> dict[str, int]:
    """Return a completion's valid token counts, including cached and reasoning tokens."""
    found: dict[str, int] = {}
    # The places for usage in vendors' answers, least trusted first.
    groq = mapping_of(document.get("x_groq"))
    for place in (first_choice(document).get("usage"), groq.get("usage"), document.get("usage")):
        if not isinstance(place, dict):
            continue
        found |= counts_of({key: value for key, value in place.items() if key.endswith("_tokens")})
        prompt, completion = (mapping_of(place.get(f"{name}_tokens_details")) for name in ("prompt", "completion"))
        cached = prompt.get("cached_tokens", place.get("prompt_cache_hit_tokens"))
        found |= counts_of({"cached_tokens": cached, "reasoning_tokens": completion.get("reasoning_tokens")})
    if "total_tokens" not in found and {"prompt_tokens", "completion_tokens"} <= found.keys():
        found["total_tokens"] = found["prompt_tokens"] + found["completion_tokens"]
    return found


read_body = partial(read_document, read_answer, problem_of)
