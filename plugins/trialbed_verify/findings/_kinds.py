"""Every kind of finding, with its gate, its severity and its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

Gate = Literal["protocol", "constraints", "schema", "text", "usage", "model"]
GATES: tuple[Gate, ...] = get_args(Gate)

Severity = Literal["violation", "note"]
"""``violation``: the specification or the request rules it out. ``note``: it is allowed, but odd."""


class Kind(NamedTuple):
    """The definition of a kind."""

    gate: Gate
    severity: Severity
    meaning: str


def _kinds(gate: Gate, severity: Severity, meanings: Mapping[str, str]) -> dict[str, Kind]:
    return {name: Kind(gate, severity, meaning) for name, meaning in meanings.items()}


_CALLS = _kinds(
    "protocol",
    "violation",
    {
        "arguments_not_text": "the arguments of a call are not a string of JSON but an object, a list or another value",
        "call_id_missing": "a call has no id, or an empty one",
        "call_id_duplicate": "two calls of an answer have the same id",
        "tool_calls_without_calls": "the finish reason is `tool_calls`, but there are no calls",
        "calls_with_other_finish": "tool calls came with a finish reason other than `tool_calls`",
    },
)
_STREAM = _kinds(
    "protocol",
    "violation",
    {
        "tokens_after_finish": "tokens came after the finish reason",
        "events_after_done": "events came after `[DONE]`",
    },
)
_READING = _kinds(
    "protocol",
    "note",
    {"raw_calls_unreadable": "the model adapter failed to find the calls in a raw completion"},
)
_TEXT = _kinds(
    "text",
    "violation",
    {"empty_answer": "a complete answer without text, calls or refusal"},
)
_USAGE = _kinds(
    "usage",
    "violation",
    {"total_not_sum": "`total_tokens` is not the sum of `prompt_tokens` and `completion_tokens`"},
)
_MODEL = _kinds(
    "model",
    "violation",
    {"other_model": "the answer names another model than the request"},
)

KINDS: Mapping[str, Kind] = MappingProxyType({**_CALLS, **_STREAM, **_READING, **_TEXT, **_USAGE, **_MODEL})
"""Name -> definition."""
