"""Examines the form of a completion and of its calls: the fields that the specification demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow, alternatives_of, list_of, object_of
from trialbed_verify.findings._kinds import Finding, finding

REASONS = frozenset(("stop", "length", "tool_calls", "content_filter", "function_call"))
FIELDS = {"id": str, "object": str, "created": int, "model": str}

CALL_TYPES = {"function": "arguments", "custom": "input"}
"""Type of a call -> the key of its input."""

ENDS = ("tool_calls", "length", "content_filter")
"""Finish reasons of an answer with calls; the latter two of one that was cut off in the middle of a call."""

LATEST = 10**11
"""Seconds since 1970 in the year 5138; times above it are in milliseconds."""


def examine_form(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield faults in the completion, its choices and its message."""
    response, message = answer.response, answer.message
    created = response.get("created")
    missing = [name for name, kind in FIELDS.items() if not _is_given(response.get(name), kind)]
    if missing:
        named = {name: response.get(name) for name in missing}
        yield finding("field_missing", f"missing or of the wrong type: {', '.join(missing)}", named)
    if isinstance(created, int) and not 0 < created < LATEST:
        yield finding("created_wrong", f"created is {created}, not a time in seconds", {"created": created})
    wanted = "text_completion" if answer.is_raw else "chat.completion"
    if "object" not in missing and response["object"] != wanted and not (answer.is_raw and answer.is_streamed):
        yield finding("object_wrong", f"object is {response['object']}, not {wanted}", {"object": response["object"]})
    yield from _choices(answer)
    if not answer.is_raw:
        if (role := message.get("role")) != "assistant":
            yield finding("role_wrong", f"the role of the message is {role!r}", {"role": role})
        if "content" not in message:
            yield finding("content_missing", "the message has no content, not even null", message)
        for key in ("content", "refusal"):
            if not isinstance(text := message.get(key), str | None):
                yield finding("content_not_text", f"the {key} is a {type(text).__name__}, not a string", text)
    if answer.reason not in REASONS:
        yield finding("finish_reason_unknown", f"the finish reason is {answer.reason or 'absent'}", answer.reason)
    if (logprobs := answer.choice.get("logprobs")) is not None and not _are_logprobs(logprobs, answer.is_raw):
        yield finding("logprobs_wrong", "the log probabilities are not as specified", logprobs)


def _is_given(value: Any, kind: type) -> bool:
    """Return whether a field has a value of its type; a time of 0 is another fault."""
    return isinstance(value, kind) and not isinstance(value, bool) and (value == 0 or bool(value))


def _choices(answer: AnsweredRow) -> Iterator[Finding]:
    sent = list_of(answer.response.get("choices"))
    if len(answer.choices) < len(sent):
        yield finding("choice_not_object", "a choice is not an object", sent)
    for choice in answer.choices:
        has_message = isinstance(choice.get("message"), dict) or isinstance(choice.get("text"), str)
        if choice is not answer.choice and not (has_message and choice.get("finish_reason")):
            yield finding("choice_incomplete", "a further choice has no message or no finish reason", choice)
    indices = [choice.get("index") for choice in answer.choices]
    whole = [index for index in indices if isinstance(index, int) and not isinstance(index, bool)]
    if len(whole) < len(indices):
        yield finding("choice_index_missing", "a choice has no index", indices)
    elif 0 not in whole:
        yield finding("choice_index_wrong", "no choice has the index 0", indices)
    if len(set(whole)) < len(whole):
        yield finding("choice_index_duplicate", "two choices have the same index", indices)


def _are_logprobs(logprobs: Any, is_raw: bool) -> bool:
    # Chats have no list of tokens as raw completions do.
    if not isinstance(logprobs, dict) or (logprobs.get("tokens") and not (is_raw or logprobs.get("content"))):
        return False
    lists = [logprobs.get(key) for key in ("content", "refusal", "tokens")]
    found = [token for tokens in lists[:2] for token in list_of(tokens)]
    return all(isinstance(tokens, list | None) for tokens in lists) and all(
        _is_token(token) and all(map(_is_token, alternatives_of(token))) for token in found
    )


def _is_token(token: Any) -> bool:
    value: Any = object_of(token).get("logprob")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value <= 0 and isinstance(token.get("token"), str)


def examine_calls(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield faults in the form of the calls; arguments that do not fit are the schema's matter."""
    calls, legacy = answer.calls, answer.message.get("function_call")
    if calls is not None and not isinstance(calls, list):
        yield finding("tool_calls_not_list", f"tool_calls is a {type(calls).__name__}, not a list", calls)
    ids: set[str] = set()
    for number, call in enumerate(list_of(calls), 1):
        if isinstance(call, dict):
            yield from _call(call, number, ids)
        else:
            yield finding("call_not_object", f"call {number} is not an object", call)
    if legacy and not answer.request.get("functions"):
        yield finding("legacy_function_call", "the call came as function_call, the form before tools", legacy)
    if isinstance(legacy, dict) and legacy:
        yield from _function(legacy, "the function_call", legacy, "arguments")
    if answer.reason == "tool_calls" and not (calls or legacy):
        yield finding("tool_calls_without_calls", "the finish reason is tool_calls, but there are no calls")
    elif calls and answer.reason not in ENDS and not (answer.demands_call and answer.reason == "stop"):
        yield finding("calls_with_other_finish", f"there are calls, but the finish reason is {answer.reason}")


def _call(call: Mapping[str, Any], number: int, ids: set[str]) -> Iterator[Finding]:
    identity, kind, which = call.get("id"), call.get("type"), f"call {number}"
    if not isinstance(identity, str | None):
        yield finding("call_id_not_text", f"the id of {which} is not a string", call)
    elif not identity:
        yield finding("call_id_missing", f"{which} has no id", call)
    elif identity in ids:
        yield finding("call_id_duplicate", f"{which} has the id of an earlier call, {identity}", call)
    else:
        ids.add(identity)
    if kind is None:
        yield finding("call_type_missing", f"{which} has no type", call)
    elif not isinstance(kind, str) or kind not in CALL_TYPES:
        yield finding("call_type_wrong", f"{which} has the type {kind}", call)
    key = "custom" if kind == "custom" else "function"
    yield from _function(call.get(key), which, call, CALL_TYPES[key])


def _function(function: Any, which: str, evidence: Any, given: str) -> Iterator[Finding]:
    """Yield faults in the function, or custom tool, of a call: its name and its arguments."""
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        yield finding("call_function_missing", f"{which} names no function", evidence)
    elif (value := function.get(given)) is None:
        yield finding("arguments_missing", f"{which} has no {given}", evidence)
    elif not isinstance(value, str):
        said = f"the {given} of {which} is a {type(value).__name__}, not a string"
        yield finding("arguments_not_text", said, evidence)
