"""Reads what a completion says about itself: usage, finish reason and tool calls. What is absent is None."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from trialbed.chat import Call, Reading, offered_functions, read_body, read_stream, sent_calls, usage_of
from trialbed.records import Cause, SentCall, Usage
from trialbed_server.gateway.causes import cause_of_problem


class Observation(NamedTuple):
    """The facts found in one response.

    Attributes:
        problem: why it is no completion, in words; None where it is one.
        cause: whose fault that is, where it is the endpoint's or the request's.
    """

    usage: Usage | None = None
    finish_reason: str | None = None
    tool_calls: tuple[SentCall, ...] = ()
    problem: str | None = None
    cause: Cause | None = None


def offered_names(request: Any) -> frozenset[str]:
    """The names of the tools that a request offers."""
    return frozenset(function["name"] for function in offered_functions(request))


def observe(body: bytes, offered: Collection[str], *, stream: bool) -> Observation:
    """Read a response body, a document or a stream of server-sent events, as far as it came."""
    reading = read_stream(body, offered) if stream else read_body(body)
    return Observation(
        usage=_usage(usage_of(reading.response)),
        finish_reason=_text(reading.finish_reason or "") or None,
        tool_calls=tuple(_sent(call, offered) for call in sent_calls(reading.response)),
        problem=_text(reading.problem.message) if reading.problem else None,
        cause=_cause(reading),
    )


def _cause(reading: Reading) -> Cause | None:
    if reading.problem is None:
        return None
    error = (reading.response or {}).get("error")
    return cause_of_problem(reading.problem.kind, error.get("code") if isinstance(error, dict) else None)


def _usage(counts: dict[str, int]) -> Usage | None:
    if not {"prompt_tokens", "completion_tokens"} <= counts.keys():
        return None
    return Usage(prompt_tokens=counts["prompt_tokens"], completion_tokens=counts["completion_tokens"])


def _sent(call: Call, offered: Collection[str]) -> SentCall:
    return SentCall(name=_text(call.name), arguments=_text(call.arguments), problem=_problem(call, offered))


def _problem(call: Call, offered: Collection[str]) -> str | None:
    if call.name not in offered:
        return "unknown tool"
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return "invalid json"
    return None if isinstance(value, dict) else "not an object"


def _text(text: str) -> str:
    """The text as a record can be written with it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode()
