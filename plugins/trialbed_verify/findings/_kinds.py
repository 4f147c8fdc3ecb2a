"""Every kind of finding, with its gate, its severity and its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

Subject = Literal["protocol", "constraints", "schema", "text", "usage", "model"]
GATES: tuple[Subject, ...] = get_args(Subject)

Severity = Literal["violation", "note"]
"""``violation``: the specification or the request rules it out. ``note``: it is allowed, but odd."""


class FindingKind(NamedTuple):
    """The definition of a kind."""

    gate: Subject
    severity: Severity
    meaning: str


PROTOCOL_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "cut_body": "the connection was closed in the middle of a body that was not streamed",
        "cut_stream": "a stream ended before its finish reason",
        "empty_body": "HTTP success with an empty body",
        "empty_stream": "a stream without events",
        "error_body": "HTTP success with an error in its body, be it instead of an answer or beside one",
        "error_event": "an error in an event of a stream, be it instead of an answer or beside one",
        "html": "a web page",
        "malformed_body": "a body that is not a JSON object",
        "malformed_event": "an event that is not a JSON object",
        "no_choices": "a completion without a choice",
        "no_done": "a stream that ended after its finish reason without `[DONE]`",
        "no_finish_reason": "a complete answer, or the end of a stream, without a finish reason",
        "null_message": "a choice, or a stream, without a message",
        "too_large": "an answer of more than 64 MiB; the rest was not read",
        "undecodable_body": "a body in an encoding that was not requested, or that is broken",
        "wrong_content_type": "a stream was requested and something else came",
    }
)
"""The problems that are the vendor's answer: each is a finding, too."""


def _kinds(gate: Subject, severity: Severity, meanings: Mapping[str, str]) -> dict[str, FindingKind]:
    return {name: FindingKind(gate, severity, meaning) for name, meaning in meanings.items()}


_CALLS = {
    "arguments_missing": "a call has no arguments, or null",
    "arguments_not_text": "the arguments of a call are not a string of JSON but an object, a list or another value",
    "call_function_missing": "a call has no `function` with a name",
    "call_id_changed": "the pieces of a streamed call have different ids",
    "call_id_duplicate": "two calls of an answer have the same id",
    "call_id_missing": "a call has no id, or an empty one",
    "call_id_not_text": "the id of a call is not a string",
    "call_index_missing": "a piece of a streamed call has no index, or one that is not a whole number",
    "call_not_object": "a call is not an object",
    "call_type_missing": "a call has no `type`",
    "call_type_wrong": "the `type` of a call is neither `function` nor `custom`",
    "calls_with_other_finish": "unforced tool calls came with a finish reason other than `tool_calls`",
    "legacy_function_call": "the call is a `function_call`, as before `tools`, although the request has no `functions`",
    "tool_calls_not_list": "`tool_calls` is not a list",
    "tool_calls_without_calls": "the finish reason is `tool_calls`, but there are no calls",
}
_FORM = {
    "body_not_utf8": "a body of JSON that is not in UTF-8",
    "choice_incomplete": "a choice beside the first has no message or no finish reason",
    "choice_index_duplicate": "two choices have the same index",
    "choice_index_missing": "a choice has no index, or one that is not a whole number",
    "choice_index_wrong": "no choice has the index 0",
    "choice_not_object": "a choice is not an object",
    "chunk_field_missing": "a chunk has no `id`, `created` or `model`, or an empty one",
    "choices_not_list": "`choices` of a chunk is missing or not a list",
    "content_not_text": "the content of a message, or its refusal, is neither a string nor null",
    "delta_missing": "a choice of a streamed chat has no `delta`",
    "created_wrong": "`created` is not a time in whole seconds since 1970",
    "field_missing": "`id`, `object`, `created` or `model` is missing from the completion, or is not of its type",
    "finish_reason_changed": "a stream has two different finish reasons for a choice",
    "finish_reason_unknown": "the finish reason is not one that the specification has",
    "id_changed": "the chunks of a stream have different ids",
    "logprobs_wrong": "`logprobs` are not as specified: no list of tokens, or a log probability above 0",
    "object_wrong": "`object` does not say what the specification has for a completion, or for a chunk",
    "role_wrong": "the role of the message is missing or not `assistant`",
}
_STREAM = {
    "bytes_after_body": "bytes came after the end of a compressed body",
    "encoding_unfinished": "a compressed stream ended, after `[DONE]`, before its encoding did",
    "bytes_after_done": "bytes that are not an event came after `[DONE]`",
    "events_after_done": "events came after `[DONE]`",
    "last_event_unfinished": "the stream ended without the blank line that ends its last event",
    "tokens_after_finish": "tokens came after the finish reason",
}
_ODD = {
    "call_index_wrong": "the indices of streamed calls do not count from 0, or two calls share one",
    "created_changed": "the chunks of a stream were created at different times",
    "byte_order_mark": "the body, or the data of an event, begins with a byte-order mark",
    "content_missing": "the message has no `content`, not even null",
    "content_type_wrong": "the content type of a body of JSON does not say so",
    "line_without_field": "a line of a stream is neither a field of an event nor a comment",
    "model_changed": "the chunks of a stream name different models",
    "raw_calls_unreadable": "the model adapter failed to find the calls in a raw completion",
}
_CONSTRAINTS = {
    "call_forbidden": "a tool was called although `tool_choice` is `none`",
    "call_not_made": "no tool was called although `tool_choice` demands it",
    "logprobs_missing": "`logprobs` were asked for and did not come",
    "more_than_max_tokens": "more tokens came than `max_tokens` or `max_completion_tokens` allows",
    "not_json": "the text is not JSON although `response_format` demands it",
    "not_of_response_schema": "the text does not fit the schema of `response_format`",
    "other_tool_than_chosen": "another tool was called than those that `tool_choice` names",
    "parallel_calls": "several tools were called although `parallel_tool_calls` is false",
    "stop_sequence_in_text": "the text contains a sequence of `stop`",
    "top_logprobs_missing": "tokens have fewer alternatives than `top_logprobs` asks for",
    "reasoning_unwanted": "reasoning came although the request switches it off",
    "wrong_number_of_choices": "the answer has more or fewer choices than `n` asks for",
}
_ODD_CONSTRAINTS = {
    "length_before_limit": "the finish reason is `length`, but less than half of the allowed tokens came",
}
WRONG_CALLS = {
    "unknown_tool": "a tool that was not offered",
    "invalid_json": "the arguments are not JSON",
    "missing_required": "a required property is missing",
    "wrong_type": "a value has the wrong type",
    "not_in_enum": "a value is not one of those allowed",
    "extra_property": "a property that the schema forbids",
    "constraint": "any other rule of the schema is broken",
}
UNJUDGED_CALLS = {
    "unusable_schema": "the declared schema cannot be used, which is the test set's fault; the call is not judged",
}
CALL_REASONS: Mapping[str, str] = MappingProxyType({**WRONG_CALLS, **UNJUDGED_CALLS})
"""The reasons in the verdicts on calls: each is a finding, too."""

_ARGUMENTS = {
    "arguments_not_object": "the arguments are JSON, but not an object",
    "arguments_encoded_twice": "the arguments are a string of JSON within a string of JSON",
    "duplicate_keys": "an object in the arguments has a key twice",
    "name_nearly_offered": "the name differs from an offered one by a prefix, by case or by spaces only",
}
_TEXT = {
    "call_in_text": "a call of an offered tool is in the text instead of being sent",
    "empty_answer": "a complete answer without text, calls or refusal",
    "leaked_thinking": "tags of thinking are in the text, such as `<think>`",
    "leaked_tokens": "control tokens of a chat template are in the text or in a call, such as `<|im_end|>`",
    "leaked_tool_call": "the markup of a tool call is in the text, such as `<tool_call>`",
    "lone_surrogate": "the text, or the arguments of a call, contain half of a character",
    "replacement_characters": "the text has U+FFFD, which stands for what could not be decoded",
    "wrong_encoding": "the text was decoded wrongly: its letters are the bytes of others",
}
_ODD_TEXT = {"control_characters": "the text has control characters other than tabs and line ends"}
_USAGE = {
    "completion_tokens_zero": "no tokens are counted for an answer that has some",
    "own_count_differs": "the completion's tokens are not as many as the tokenizer counts",
    "total_not_sum": "`total_tokens` is not the sum of `prompt_tokens` and `completion_tokens`",
    "usage_details_wrong": "a part is not a count, or larger than the whole: `reasoning_tokens` or `cached_tokens`",
    "usage_not_counts": "a count of tokens is not a whole number, or is negative",
}
_IMPLAUSIBLE = {
    "completion_tokens_too_few": "fewer tokens are counted than the answer can have",
    "completion_tokens_too_many": "more tokens are counted than the answer has bytes, and no reasoning explains them",
    "prompt_tokens_implausible": "fewer tokens are counted than the request can have, or more than it has bytes",
    "usage_missing": "no usage came, although it was asked for or the answer was not streamed",
}

KINDS: Mapping[str, FindingKind] = MappingProxyType(
    {
        **_kinds("protocol", "violation", PROTOCOL_ERRORS),
        **_kinds("protocol", "violation", dict(sorted({**_CALLS, **_FORM, **_STREAM}.items()))),
        **_kinds("protocol", "note", _ODD),
        **_kinds("constraints", "violation", _CONSTRAINTS),
        **_kinds("constraints", "note", _ODD_CONSTRAINTS),
        **_kinds("schema", "violation", WRONG_CALLS),
        **_kinds("schema", "note", {**UNJUDGED_CALLS, **_ARGUMENTS}),
        **_kinds("text", "violation", _TEXT),
        **_kinds("text", "note", _ODD_TEXT),
        **_kinds("usage", "violation", _USAGE),
        **_kinds("usage", "note", _IMPLAUSIBLE),
        **_kinds("model", "violation", {"other_model": "the answer names another model than the request"}),
    }
)
"""Name -> definition."""

PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tool_choice": ("call_forbidden", "call_not_made", "other_tool_than_chosen"),
        "parallel_tool_calls": ("parallel_calls",),
        "response_format": ("not_json", "not_of_response_schema"),
        "max_tokens": ("more_than_max_tokens",),
        "stop": ("stop_sequence_in_text",),
        "n": ("wrong_number_of_choices",),
        "logprobs": ("logprobs_missing", "top_logprobs_missing"),
        "thinking": ("reasoning_unwanted",),
    }
)
"""Parameter of requests -> the kinds of findings that an answer does not obey it."""

UNRELIABLE_COUNT = frozenset(
    (
        "completion_tokens_zero",
        "completion_tokens_too_few",
        "completion_tokens_too_many",
        "own_count_differs",
    )
)
"""Kinds that make a rate of tokens per second untrustworthy."""


def kind_in_words(kind: str) -> str:
    """Return the meaning of a kind of findings or failures; one that is in words already, or not known, as it is."""
    return KINDS[kind].meaning.replace("`", "") if kind in KINDS else kind
