"""Examines the form of a completion and of its calls: the fields that the specification demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow, alternatives_of
from trialbed_verify.findings._kinds import Finding, finding

REASONS = frozenset(("stop", "length", "tool_calls", "content_filter", "function_call"))
FIELDS = {"id": str, "object": str, "created": int, "model": str}

CALL_TYPES = ("function", "custom")

ENDS = ("tool_calls", "length", "content_filter")
"""Finish reasons of an answer with calls; the latter two of one that was cut off in the middle of a call."""

LATEST = 10**11
"""Seconds since 1970 in the year 5138; times above it are in milliseconds."""


def examine_form(answer: AnsweredRow) -> Iterator[Finding]:
    """Yield faults in the completion, its choices and its message."""
    yield from _document(answer)
    yield from _choices(answer)
    if not answer.is_raw:
        yield from _message(answer)
    if answer.reason not in REASONS:
        yield finding("finish_reason_unknown", f"the finish reason is {answer.reason or 'absent'}", answer.reason)
    if (logprobs := answer.choice.get("logprobs")) is not None and not _are_logprobs(logprobs, answer.is_raw):
        yield finding("logprobs_wrong", "the log probabilities are not as specified", logprobs)


def _document(answer: AnsweredRow) -> Iterator[Finding]:
    response = answer.response
    missing = [name for name, kind in FIELDS.items() if not isinstance(response.get(name), kind) or not response[name]]
    created = response.get("created")
    if isinstance(created, bool):
        missing = sorted({*missing, "created"})
    elif created == 0 and "created" in missing:
        missing.remove("created")
    if missing:
        named = {name: response.get(name) for name in missing}
        yield finding("field_missing", f"missing or of the wrong type: {', '.join(missing)}", named)
    if isinstance(created, int) and not 0 < created < LATEST:
        yield finding("created_wrong", f"created is {created}, not a time in seconds", {"created": created})
    wanted = "text_completion" if answer.is_raw else "chat.completion"
    if "object" not in missing and response["object"] != wanted and not (answer.is_raw and answer.is_streamed):
        yield finding("object_wrong", f"object is {response['object']}, not {wanted}", {"object": response["object"]})


def _choices(answer: AnsweredRow) -> Iterator[Finding]:
    sent = answer.response.get("choices")
    if isinstance(sent, list) and len(answer.choices) < len(sent):
        yield finding("choice_not_object", "a choice is not an object", sent)
    for choice in answer.choices:
        if choice is not answer.choice and not (_has_message(choice) and choice.get("finish_reason")):
            yield finding("choice_incomplete", "a further choice has no message or no finish reason", choice)
    indices = [choice.get("index") for choice in answer.choices]
    whole = [index for index in indices if isinstance(index, int) and not isinstance(index, bool)]
    if len(whole) < len(indices):
        yield finding("choice_index_missing", "a choice has no index", indices)
    elif 0 not in whole:
        yield finding("choice_index_wrong", "no choice has the index 0", indices)
    if len(set(whole)) < len(whole):
        yield finding("choice_index_duplicate", "two choices have the same index", indices)


def _has_message(choice: Mapping[str, Any]) -> bool:
    return isinstance(choice.get("message"), dict) or isinstance(choice.get("text"), str)


def _message(answer: AnsweredRow) -> Iterator[Finding]:
    message = answer.message
    role = message.get("role")
    if role != "assistant":
        yield finding("role_wrong", f"the role of the message is {role!r}", {"role": role})
    if "content" not in message:
        yield finding("content_missing", "the message has no content, not even null", message)
    elif not isinstance(content := message["content"], str | None):
        yield finding("content_not_text", f"the content is a {type(content).__name__}, not a string", content)
    if not isinstance(refusal := message.get("refusal"), str | None):
        yield finding("content_not_text", f"the refusal is a {type(refusal).__name__}, not a string", refusal)


def _are_logprobs(logprobs: Any, is_raw: bool) -> bool:
    # Chats have no list of tokens as raw completions do.
    if not isinstance(logprobs, dict) or (logprobs.get("tokens") and not (is_raw or logprobs.get("content"))):
        return False
    lists = [logprobs.get(key) for key in ("content", "refusal", "tokens")]
    if not all(isinstance(tokens, list | None) for tokens in lists):
        return False
    found = [token for tokens in lists[:2] for token in tokens or ()]
    return all(_is_token(token) and all(map(_is_token, alternatives_of(token))) for token in found)


def _is_token(token: Any) -> bool:
    if not isinstance(token, dict) or not isinstance(token.get("token"), str):
        return False
    value = token.get("logprob")
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 0


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
