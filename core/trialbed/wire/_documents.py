"""Requests and completions as JSON documents, including those of careless vendors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from trialbed.wire._errors import reports_error
from trialbed.wire._json import parse_json
from trialbed.wire._readings import Problem, Reading, failed, outcome_of

Document = dict[str, Any]

SHOWN = 300
"""Bytes of a broken body that its message shows."""

JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json\b")

MOST_TOKENS = 10**9
"""Tokens that an answer can have; larger counts are ignored."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as a model sends it.

    Attributes:
        arguments: as text, which need not be JSON.
        id: empty where there is none.
    """

    name: str
    arguments: str
    id: str = ""


def offered_functions(request: Any) -> Iterator[Document]:
    """The functions that a request offers as tools; those without a name are left out."""
    tools = request.get("tools") if isinstance(request, Mapping) else None
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            yield function


def wants_usage(request: Mapping[str, Any]) -> bool:
    """Whether a request asks for a last chunk with the usage."""
    options = request.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def read_body(body: bytes, content_type: str = "application/json") -> Reading:
    """Reads an answer that was not streamed; the completion is kept as it came, unknown fields too.

    Args:
        body: of a response with an HTTP status of 2xx.
        content_type: as the response gives it, in lower case.
    """
    if is_html(body, content_type):
        return failed("html", f"the body is HTML: {_shown(body)}")
    if not body.strip():
        return failed("empty_body", "the body is empty")
    try:
        document = parse_json(body)
    except ValueError as error:
        return failed("malformed_body", f"the body is not JSON ({error}): {_shown(body)}")
    if not isinstance(document, dict):
        return failed("malformed_body", f"the body is not a JSON object: {_shown(body)}")
    reading = _read_completion(document, body)
    return replace(reading, notes=tuple(notes), excerpts=notes) if (notes := _oddities(body, content_type)) else reading


def is_html(body: bytes, content_type: str) -> bool:
    """Whether a body is a web page, regardless of what was requested; an object that is only called one is not."""
    first = body.lstrip()[:1]
    return first == b"<" or (content_type.startswith("text/html") and first != b"{")


def first_choice(response: Document | None) -> Document:
    """The choice of index 0, else the first one; empty if there is none."""
    choices = (response or {}).get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict) and choices[0].get("index", 0) == 0:
        first: Document = choices[0]
        return first
    objects = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return next((choice for choice in objects if choice.get("index", 0) == 0), objects[0] if objects else {})


def first_message(response: Document | None) -> Document:
    """The message of the first choice; empty if there is none."""
    message = first_choice(response).get("message")
    return message if isinstance(message, dict) else {}


def sent_calls(response: Document | None) -> tuple[Call, ...]:
    """The tool calls of the first choice, in order. What is not text is empty, or JSON where it is arguments."""
    calls = first_message(response).get("tool_calls")
    return tuple(_call(call) for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict))


def answered_calls(response: Document | None) -> list[Any]:
    """What the first choice has as calls, as it came; a legacy ``function_call`` is a call without an id."""
    message = first_message(response)
    calls, function = message.get("tool_calls"), message.get("function_call")
    if isinstance(calls, list) and calls:
        return calls
    return [{"type": "function", "function": function}] if isinstance(function, dict) and function else []


def usage_of(response: Document | None) -> dict[str, int]:
    """The token counts of a completion, wherever it has them; only those that are whole numbers."""
    found: dict[str, int] = {}
    for place in _usages(response or {}):
        found |= {key: value for key, value in place.items() if key.endswith("_tokens") and _is_count(value)}
    if "total_tokens" not in found and {"prompt_tokens", "completion_tokens"} <= found.keys():
        found["total_tokens"] = found["prompt_tokens"] + found["completion_tokens"]
    return found


def hidden_tokens(response: Document | None) -> int:
    """The tokens of reasoning that was not sent; they were generated before the first token came."""
    message = first_message(response)
    if any(message.get(key) for key in ("reasoning_content", "reasoning", "reasoning_details")):
        return 0
    details = [place.get("completion_tokens_details") for place in _usages(response or {})]
    counts: list[Any] = [found.get("reasoning_tokens") for found in details if isinstance(found, dict)]
    return next((count for count in reversed(counts) if _is_count(count)), 0)


def _read_completion(document: Document, body: bytes) -> Reading:
    choice = first_choice(document)
    if reports_error(document):
        return _broken("error_body", f"the body reports an error: {_shown(body)}", document)
    if not choice:
        return _broken("no_choices", f"the completion has no choice, or an empty one: {_shown(body)}", document)
    reason = choice.get("finish_reason")
    if not isinstance(choice.get("message"), dict) and not isinstance(choice.get("text"), str):
        return _broken("null_message", f"the first choice has no message: {_shown(body)}", document, reason)
    if not isinstance(reason, str) or not reason:
        return _broken("no_finish_reason", f"the first choice has no finish reason: {_shown(body)}", document)
    return Reading(outcome_of(reason), reason, document)


def _oddities(body: bytes, content_type: str) -> dict[str, str]:
    """What is odd about the bytes of a body, with their beginning."""
    found: dict[str, str] = {}
    encoding = json.detect_encoding(body)
    if encoding == "utf-8-sig":
        found["byte_order_mark"] = r"\xef\xbb\xbf"
    elif encoding != "utf-8":
        found["body_not_utf8"] = repr(body[:40])
    if not JSON_TYPE.match(content_type):
        found["content_type_wrong"] = content_type or "no content type"
    return found


def _broken(kind: str, message: str, document: Document, reason: Any = None) -> Reading:
    known = reason if isinstance(reason, str) else None
    return Reading("protocol_error", known, document, Problem(kind, message))


def _call(call: Document) -> Call:
    found = call.get("function")
    function = found if isinstance(found, dict) else {}
    name, arguments, identity = function.get("name"), function.get("arguments"), call.get("id")
    if not isinstance(arguments, str):
        # Some vendors send the arguments as an object.
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return Call(name if isinstance(name, str) else "", arguments, identity if isinstance(identity, str) else "")


def _usages(response: Document) -> list[Document]:
    """The places where vendors put usage, least trusted first."""
    groq = response.get("x_groq")
    places = [
        first_choice(response).get("usage"),
        groq.get("usage") if isinstance(groq, dict) else None,
        response.get("usage"),
    ]
    return [place for place in places if isinstance(place, dict)]


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS


def _shown(body: bytes) -> str:
    return body[:SHOWN].decode("utf-8", "replace")
