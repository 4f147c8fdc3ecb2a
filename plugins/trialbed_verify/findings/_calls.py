"""Examines the form of an answer's tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow
from trialbed_verify.findings._findings import Finding, finding

CALL_TYPES = ("function", "custom")

ENDS = ("tool_calls", "length", "content_filter")
"""Finish reasons of an answer with calls; the latter two of one that was cut off in the middle of a call."""


def examine_calls(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield faults in the form of the calls; arguments that do not fit are the schema's matter."""
    calls = answer.calls
    if calls is not None and not isinstance(calls, list):
        yield finding("tool_calls_not_list", f"tool_calls is a {type(calls).__name__}, not a list", calls)
    ids: set[str] = set()
    for number, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if isinstance(call, dict):
            yield from _form(call, number, ids)
        else:
            yield finding("call_not_object", f"call {number} is not an object", call)
    yield from _endings(answer)


def _form(call: Mapping[str, Any], number: int, ids: set[str]) -> Iterator[Finding]:
    identity, kind, function = call.get("id"), call.get("type"), call.get("function")
    if not isinstance(identity, str | None):
        yield finding("call_id_not_text", f"the id of call {number} is not a string", call)
    elif not identity:
        yield finding("call_id_missing", f"call {number} has no id", call)
    elif identity in ids:
        yield finding("call_id_duplicate", f"call {number} has the id of an earlier call, {identity}", call)
    else:
        ids.add(identity)
    if kind not in CALL_TYPES:
        said = "no type" if kind is None else f"the type {kind}"
        yield finding("call_type_missing" if kind is None else "call_type_wrong", f"call {number} has {said}", call)
    if kind == "custom":
        yield from _function(call.get("custom"), f"call {number}", call, "input")
        return
    yield from _function(function, f"call {number}", call)


def _function(function: Any, which: str, evidence: Any = None, given: str = "arguments") -> Iterator[Finding]:
    """Yield faults in the function, or custom tool, of a call: its name and its arguments."""
    shown = function if evidence is None else evidence
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        yield finding("call_function_missing", f"{which} names no function", shown)
        return
    value = function.get(given)
    if value is None:
        yield finding("arguments_missing", f"{which} has no {given}", shown)
    elif not isinstance(value, str):
        yield finding("arguments_not_text", f"the {given} of {which} is a {type(value).__name__}, not a string", shown)


def _endings(answer: AnsweredRow) -> Iterator[Finding]:
    legacy = answer.message.get("function_call")
    if legacy and not answer.request.get("functions"):
        yield finding("legacy_function_call", "the call came as function_call, the form before tools", legacy)
    if isinstance(legacy, dict) and legacy:
        yield from _function(legacy, "the function_call")
    if answer.reason == "tool_calls" and not (answer.calls or legacy):
        yield finding("tool_calls_without_calls", "the finish reason is tool_calls, but there are no calls")
    elif answer.calls and answer.reason not in ENDS and not (answer.demands_call and answer.reason == "stop"):
        yield finding("calls_with_other_finish", f"there are calls, but the finish reason is {answer.reason}")
