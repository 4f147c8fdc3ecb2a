"""Reads an answer for the log: its usage, finish reason and tool calls. Absent ones are None."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from trialbed.records import Cause, SentCall, Usage
from trialbed.wire import Call, Reading, lenient_json, read_response, text_calls
from trialbed.wire.dialects import Dialect
from trialbed_server.gateway.causes import cause_of_problem


class Observation(NamedTuple):
    """The facts found in one response.

    Attributes:
        problem: why it is not an answer, in words; None where it is one.
        cause: whose fault that is, where it is the endpoint's or the request's.
        document: the response, as far as it came.
    """

    usage: Usage | None = None
    finish_reason: str | None = None
    tool_calls: tuple[SentCall, ...] = ()
    text_calls: tuple[SentCall, ...] = ()
    problem: str | None = None
    cause: Cause | None = None
    document: Mapping[str, Any] | None = None


def observe(
    dialect: Dialect, body: bytes, offered: Collection[str], *, stream: bool, described: Collection[str] = frozenset()
) -> Observation:
    """Read a response body, a document or a stream of server-sent events, as far as it came.

    Args:
        offered: the names of the tools that the request offers.
        described: of the trial's tools, which a prompt may describe instead; the model may call them in its text.
    """
    reading = read_response(dialect.NAME, body, offered, stream=stream)
    answer = reading.answer
    written = text_calls("\n".join(answer.texts), {*offered, *described})
    return Observation(
        usage=Usage.of(answer.usage or {}),
        finish_reason=_text(reading.finish_reason or "") or None,
        tool_calls=tuple(_sent_call(call, offered) for call in answer.calls),
        text_calls=tuple(_sent_call(call, {call.name}) for call in written if not _among(call, answer.calls)),
        problem=_text(reading.problem.message) if reading.problem else None,
        cause=_cause(reading, body),
        document=reading.response,
    )


def _among(call: Call, others: Iterable[Call]) -> bool:
    """Return whether a call was sent, too: some vendors leave its text where they found it."""
    return any((call.name, _value(call)) == (other.name, _value(other)) for other in others)


def _value(call: Call) -> Any:
    return lenient_json(call.arguments, call.arguments)


def _cause(reading: Reading, body: bytes) -> Cause | None:
    if reading.problem is None:
        return None
    if reading.problem.kind == "malformed_body" and not _is_readable(body):
        return "endpoint"
    return cause_of_problem(reading.problem.kind, reading.problem.code)


def _is_readable(body: bytes) -> bool:
    """Return whether clients that are lenient read a body as JSON, such as one with NaN."""
    try:
        json.loads(body)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _sent_call(call: Call, offered: Collection[str]) -> SentCall:
    return SentCall(name=_text(call.name), arguments=_text(call.arguments), problem=_problem(call, offered))


def _problem(call: Call, offered: Collection[str]) -> str | None:
    if call.name not in offered:
        return "unknown tool"
    value = _value(call)
    if value is call.arguments:
        return "invalid json"
    return None if isinstance(value, dict) else "not an object"


def _text(text: str) -> str:
    """The text as a record can be written with it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode()
