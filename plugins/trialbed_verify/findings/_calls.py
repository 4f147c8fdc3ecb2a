"""The form of an answer's tool calls."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed_verify.findings._answers import Answer
from trialbed_verify.findings._findings import Finding, finding


def examine_calls(answer: Answer) -> Iterator[Finding]:
    """What is wrong with the form of the calls; whether their arguments fit is the schema's matter."""
    ids: set[str] = set()
    for number, call in enumerate(answer.listed_calls, 1):
        identity = call.get("id")
        if not isinstance(identity, str) or not identity:
            yield finding("call_id_missing", f"call {number} has no id", call)
        elif identity in ids:
            yield finding("call_id_duplicate", f"call {number} has the id of an earlier call, {identity}", call)
        else:
            ids.add(identity)
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if arguments is not None and not isinstance(arguments, str):
            kind = type(arguments).__name__
            yield finding("arguments_not_text", f"the arguments of call {number} are a {kind}, not a string", call)
    if answer.reason == "tool_calls" and not answer.calls:
        yield finding("tool_calls_without_calls", "the finish reason is tool_calls, but there are no calls")
    elif answer.calls and answer.reason != "tool_calls":
        yield finding(
            "calls_with_other_finish", f"there are calls, but the finish reason is {answer.reason or 'absent'}"
        )
