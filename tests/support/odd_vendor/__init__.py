"""A vendor that answers each request in another odd way, and what the specifications say of each.

The expectations are those of the OpenAI API reference (chat completions), the WHATWG HTML standard (server-sent
events), RFC 9110 and 9112 (HTTP), RFC 8259 (JSON) and JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.verification import TOOL, rows, target, verify

from trialbed_scripted import ReceivedRequest, Response, serve

Row = dict[str, Any]

RIGHT = "a right answer"
MODEL = "m"
USAGE = {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}
HEAD = {"id": "chatcmpl-1", "created": 1767225600, "model": MODEL}
EVENTS = "text/event-stream"
DONE = b"data: [DONE]\n\n"
TEXT = "It is sunny in Oslo today."


def without_gaps(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields but those that are ``...``."""
    return {key: value for key, value in fields.items() if value is not ...}


@dataclass(frozen=True)
class Odd:
    """One behaviour, and its expectation.

    Attributes:
        answer: the bytes on the connection, which is closed after them.
        outcome: of the case.
        problem: the kind of its failure.
        found: the kind of a finding that it has, or several.
        absent: the same of findings that it does not have; a right answer has none at all.
        calls: for each call, whether it is valid, and the reasons.
        request: further fields of the request.
        also: what else holds of its row.
    """

    name: str
    answer: bytes
    outcome: str = "stop"
    problem: str | None = None
    found: str | tuple[str, ...] = ()
    absent: str | tuple[str, ...] = ()
    calls: tuple[tuple[bool | None, tuple[str, ...]], ...] | None = None
    request: dict[str, Any] = field(default_factory=dict)
    also: Callable[[Row], bool] | None = None


def reply(*headers: str, body: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """An HTTP response that ends with its connection."""
    typed = [f"Content-Type: {kind}"] if kind else []
    return "\r\n".join([f"HTTP/1.1 {status}", *typed, *headers, "Connection: close", "", ""]).encode() + body


def call(arguments: Any = '{"city": "Oslo"}', name: Any = "lookup", **fields: Any) -> dict[str, Any]:
    """A tool call; a field that is given as ``...`` is left out."""
    function = {"name": name, "arguments": arguments}
    whole = {"id": "call_1", "type": "function", "function": without_gaps(function), **fields}
    return without_gaps(whole)


def document(message: Any = ..., reason: Any = "stop", **fields: Any) -> dict[str, Any]:
    """A completion with one choice; a field that is given as ``...`` is left out."""
    said = {"role": "assistant", "content": TEXT} if message is ... else message
    choice = {"index": 0, "message": said, "finish_reason": reason, "logprobs": None}
    whole = {**HEAD, "object": "chat.completion", "choices": [without_gaps(choice)], "usage": USAGE, **fields}
    return without_gaps(whole)


def body(message: Any = ..., reason: Any = "stop", **fields: Any) -> bytes:
    """The response with this completion."""
    return reply(body=json.dumps(document(message, reason, **fields)).encode())


def calling(*calls: Any, reason: str = "tool_calls", **fields: Any) -> bytes:
    """The response with these calls."""
    return body({"role": "assistant", "content": None, "tool_calls": list(calls)}, reason, **fields)


def chunk(delta: Any = None, reason: Any = None, **fields: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": reason}
    return without_gaps({**HEAD, "object": "chat.completion.chunk", "choices": [choice], **fields})


def events(*parts: Any) -> bytes:
    """Chunks as events; bytes stay as they are."""
    return b"".join(
        part if isinstance(part, bytes) else b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts
    )


SAID = (chunk({"role": "assistant", "content": "It is "}), chunk({"content": "sunny in Oslo today."}))
ENDED = chunk({}, "stop")
COUNTED = {**chunk(), "choices": [], "usage": USAGE}


def stream(*parts: Any, headers: Sequence[str] = ()) -> bytes:
    """The response with these events."""
    return reply(*headers, body=events(*parts), kind=EVENTS)


def pieces(*found: dict[str, Any], reason: str = "tool_calls") -> bytes:
    """The stream with these pieces of calls."""
    opening = chunk({"role": "assistant", "content": None})
    return stream(opening, *(chunk({"tool_calls": [one]}) for one in found), chunk({}, reason), COUNTED, DONE)


def streamed(name: str, answer: bytes, outcome: str = "stop", problem: str | None = None, **expected: Any) -> Odd:
    """A behaviour of a request that asks for a stream with usage."""
    asked = {"stream": True, "stream_options": {"include_usage": True}, **expected.pop("request", {})}
    return Odd(name, answer, outcome, problem, request=asked, **expected)


def unfit(*reasons: str) -> tuple[tuple[bool, tuple[str, ...]]]:
    """The verdict on one call that does not fit."""
    return ((False, reasons),)


def called(name: str, *calls: Any, **expected: Any) -> Odd:
    """A behaviour of an answer that is not streamed, and has these calls."""
    return Odd(name, calling(*calls), "tool_calls", **expected)


def pieced(name: str, *found: dict[str, Any], **expected: Any) -> Odd:
    """A behaviour of an answer that is streamed, and has these pieces of calls."""
    return streamed(name, pieces(*found), "tool_calls", **expected)


def broken(name: str, answer: bytes, problem: str, **expected: Any) -> Odd:
    """A behaviour that breaks the protocol."""
    return Odd(name, answer, "protocol_error", problem, **expected)


def broken_stream(name: str, answer: bytes, problem: str, **expected: Any) -> Odd:
    """A behaviour that breaks the protocol where a stream is asked for."""
    return streamed(name, answer, "protocol_error", problem, **expected)


def as_set(kinds: str | tuple[str, ...]) -> set[str]:
    """One kind, or several, as a set."""
    return {kinds} if isinstance(kinds, str) else set(kinds)


def kinds(row: Row) -> set[str]:
    """The kinds of a row's findings."""
    return {found["kind"] for found in row["findings"]}


def content(row: Row) -> Any:
    """The text of a row's answer."""
    return row["response"]["choices"][0]["message"]["content"]


async def answered(behaviours: Sequence[Odd], folder: Path, **options: Any) -> dict[str, Row]:
    """The row of each behaviour, all from one verification."""
    file = folder / "odd.jsonl"
    lines = [
        {"messages": [{"role": "user", "content": f"number {number}"}], "tools": [TOOL], **odd.request}
        for number, odd in enumerate(behaviours)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {"retries": 0, "timeout": 120, "request_concurrency": 8, **options}

    def answer(request: ReceivedRequest) -> Response:
        return Response.raw(behaviours[int(request.asked.messages[0].text.split()[1])].answer)

    async with serve(answer) as model:
        await verify(file, target(model.url, folder), **settings)
    found = {row["data_index"]: row for row in rows(folder / "results.jsonl")}
    return {odd.name: found[number] for number, odd in enumerate(behaviours, 1)}
