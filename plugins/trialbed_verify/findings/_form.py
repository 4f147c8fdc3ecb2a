"""Examines the form of a completion and of its calls: the fields that the specification demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed_verify.findings._answers import AnsweredRow, alternatives_of, is_whole, list_of, object_of
from trialbed_verify.findings._kinds import Check

REASONS = frozenset(("stop", "length", "tool_calls", "content_filter", "function_call"))
FIELDS = {"id": str, "object": str, "created": int, "model": str}

CALL_TYPES = {"function": "arguments", "custom": "input"}
"""Type of a call -> the key of its input."""

ENDS = ("tool_calls", "length", "content_filter")
"""Finish reasons of an answer with calls; the latter two of one that was cut off in the middle of a call."""

LATEST = 10**11
"""Seconds since 1970 in the year 5138; times above it are in milliseconds."""


def examine_form(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the completion, its choices and its message."""
    response, message, reason = answer.response, answer.message, answer.reason
    created, kind = response.get("created"), response.get("object")
    missing = {name: response.get(name) for name in FIELDS if response.get(name) in (None, "")}
    wrong = {name: response[name] for name in FIELDS.keys() - missing if type(response[name]) is not FIELDS[name]}
    yield missing, "field_missing", ", ".join(missing), missing
    yield wrong, "field_wrong_type", ", ".join(wrong), wrong
    yield isinstance(created, int) and not 0 < created < LATEST, "created_wrong", created, {"created": created}
    if kind and isinstance(kind, str) and not (answer.is_raw and answer.is_streamed):
        wanted = "text_completion" if answer.is_raw else "chat.completion"
        yield kind != wanted, "object_wrong", (kind, wanted), {"object": kind}
    yield from _choices(answer)
    if not answer.is_raw:
        role = message.get("role")
        yield role != "assistant", "role_wrong", role, {"role": role}
        yield "content" not in message, "content_missing", "", message
        for key in ("content", "refusal"):
            text = message.get(key)
            yield not isinstance(text, str | None), "content_not_text", (key, type(text).__name__), text
    yield reason not in REASONS, "finish_reason_unknown", reason or "absent", reason
    logprobs = answer.choice.get("logprobs")
    yield logprobs is not None and not _are_logprobs(logprobs, answer.is_raw), "logprobs_wrong", "", logprobs


def _choices(answer: AnsweredRow) -> Iterator[Check]:
    sent = list_of(answer.response.get("choices"))
    yield len(answer.choices) < len(sent), "choice_not_object", "", sent
    for choice in answer.choices:
        has_message = isinstance(choice.get("message"), dict) or isinstance(choice.get("text"), str)
        is_whole_choice = choice is answer.choice or (has_message and choice.get("finish_reason"))
        yield not is_whole_choice, "choice_incomplete", "", choice
    indices = [choice.get("index") for choice in answer.choices]
    whole = [*filter(is_whole, indices)]
    yield len(whole) < len(indices), "choice_index_missing", "", indices
    yield len(whole) == len(indices) and 0 not in whole, "choice_index_wrong", "", indices
    yield len(set(whole)) < len(whole), "choice_index_duplicate", "", indices


def _are_logprobs(logprobs: Any, is_raw: bool) -> bool:
    # Chats have no list of tokens as raw completions do.
    if not isinstance(logprobs, dict) or (logprobs.get("tokens") and not (is_raw or logprobs.get("content"))):
        return False
    lists = [logprobs.get(key) for key in ("content", "refusal", "tokens")]
    found = [token for tokens in lists[:2] for token in list_of(tokens)]
    every = [*found, *(other for token in found for other in alternatives_of(token))]
    return all(isinstance(tokens, list | None) for tokens in lists) and all(map(_is_token, every))


def _is_token(token: Any) -> bool:
    value: Any = object_of(token).get("logprob")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value <= 0 and isinstance(token.get("token"), str)


def examine_calls(answer: AnsweredRow) -> Iterator[Check]:
    """Yield checks of the form of the calls; arguments that do not fit are the schema's matter."""
    calls, legacy, reason = answer.calls, answer.message.get("function_call"), answer.reason
    yield calls is not None and not isinstance(calls, list), "tool_calls_not_list", type(calls).__name__, calls
    ids: set[str] = set()
    for number, call in enumerate(list_of(calls), 1):
        yield not isinstance(call, dict), "call_not_object", f"call {number}", call
        if isinstance(call, dict):
            yield from _call(call, f"call {number}", ids)
    yield legacy and not answer.request.get("functions"), "legacy_function_call", "", legacy
    if isinstance(legacy, dict) and legacy:
        yield from _function(legacy, "the function_call", legacy, "arguments")
    yield reason == "tool_calls" and not (calls or legacy), "tool_calls_without_calls", "", ""
    is_forced = answer.demands_call and reason == "stop"
    yield calls and reason not in ENDS and not is_forced, "calls_with_other_finish", reason, ""


def _call(call: Mapping[str, Any], which: str, ids: set[str]) -> Iterator[Check]:
    identity, kind = call.get("id"), call.get("type")
    yield not isinstance(identity, str | None), "call_id_not_text", which, call
    yield identity in (None, ""), "call_id_missing", which, call
    if isinstance(identity, str):
        yield identity and identity in ids, "call_id_duplicate", (which, identity), call
        ids.add(identity)
    yield kind is None, "call_type_missing", which, call
    yield kind not in (None, *CALL_TYPES), "call_type_wrong", (which, kind), call
    key = "custom" if kind == "custom" else "function"
    yield from _function(call.get(key), which, call, CALL_TYPES[key])


def _function(function: Any, which: str, evidence: Any, given: str) -> Iterator[Check]:
    """Yield checks of the function, or custom tool, of a call: its name and its arguments."""
    name, value = object_of(function).get("name"), object_of(function).get(given)
    has_name = isinstance(name, str) and name
    yield not has_name, "call_function_missing", which, evidence
    yield has_name and value is None, "arguments_missing", (which, given), evidence
    is_text = isinstance(value, str | None)
    yield has_name and not is_text, "arguments_not_text", (given, which, type(value).__name__), evidence
