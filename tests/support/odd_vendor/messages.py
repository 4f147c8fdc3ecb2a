"""Odd completions and messages, not streamed."""

from __future__ import annotations

from typing import Any

from support.odd_vendor import (
    HEAD,
    RIGHT,
    TEXT,
    USAGE,
    Odd,
    body,
    broken,
    call,
    called,
    content,
    document,
    without_gaps,
)

ERROR = {"error": {"message": "Provider returned error", "code": 502}}
SCHEMA = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
JSON = {"response_format": {"type": "json_object"}}
STRUCTURED = {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}}
CHOSEN = {"type": "function", "function": {"name": "lookup"}}
TOKEN = {"token": "It", "logprob": -0.1, "bytes": [73, 116], "top_logprobs": []}


def said(text: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **fields}


def choices(*indices: Any) -> bytes:
    (choice,) = document()["choices"]
    return body(choices=[without_gaps({**choice, "index": index}) for index in indices])


def counts(prompt: Any = 30, completion: Any = 9, total: Any = 39, **more: Any) -> bytes:
    return body(usage={"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **more})


MESSAGES = [
    Odd(f"{RIGHT}: a text", body()),
    Odd(f"{RIGHT}: a refusal", body(said(None, refusal="I cannot help with that."))),
    Odd(f"{RIGHT}: fields that are not known", body(said(TEXT, annotations=[], audio=None), service_tier="default")),
    Odd(f"{RIGHT}: reasoning beside the text", body(said(TEXT, reasoning_content="Let me see."))),
    Odd(f"{RIGHT}: cut at the limit", body(reason="length"), "other", request={"max_tokens": 9}),
    Odd(f"{RIGHT}: withheld by a filter", body(said(""), "content_filter"), "other"),
    Odd(f"{RIGHT}: an error that is null", body(error=None)),
    # The text.
    Odd("an empty text", body(said("")), found="empty_answer"),
    Odd("a text that is null", body(said(None)), found="empty_answer"),
    Odd("a text of spaces", body(said(" \n ")), found="empty_answer"),
    Odd(
        "a text in parts", body(said([{"type": "text", "text": TEXT}])), found="content_not_text", absent="empty_answer"
    ),
    Odd("a text that is a number", body(said(7)), found="content_not_text"),
    Odd("a text with U+FFFD", body(said("It is sunny in Troms\ufffd")), found="replacement_characters"),
    Odd(
        "half of a character",
        body(said("sunny \ud83d")),
        found="lone_surrogate",
        also=lambda row: content(row) == "sunny \ud83d",
    ),
    Odd("a control character", body(said("sunny\x00 today")), found="control_characters"),
    Odd(
        "a leaked <tool_call>",
        body(said('<tool_call>{"name": "lookup", "arguments": {"city": "Oslo"}}</tool_call>')),
        found=("leaked_tool_call", "call_in_text"),
    ),
    Odd(
        "a leaked call of Kimi",
        body(
            said(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.lookup:0<|tool_call_argument_begin|>"
                '{"city": "Oslo"}<|tool_call_end|>'
            )
        ),
        found="leaked_tool_call",
    ),
    Odd(
        "a leaked call of DeepSeek",
        body(said("<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function")),
        found="leaked_tool_call",
    ),
    Odd(
        "a leaked call of Mistral",
        body(said('[TOOL_CALLS][{"name": "lookup", "arguments": {}}]')),
        found="leaked_tool_call",
    ),
    Odd("a leaked <think>", body(said(f"<think>Let me see.</think>{TEXT}")), found="leaked_thinking"),
    Odd("a leaked end of thinking", body(said(f"Let me see.</think>{TEXT}")), found="leaked_thinking"),
    Odd("a leaked end of a turn", body(said(f"{TEXT}<|im_end|>")), found="leaked_tokens"),
    Odd(
        "a call as JSON in the text",
        body(said('{"name": "lookup", "arguments": {"city": "Oslo"}}')),
        found="call_in_text",
    ),
    Odd(
        "tags that were asked about",
        body(said("<think> marks thinking.")),
        absent="leaked_thinking",
        request={"user": "<think>"},
    ),
    Odd(
        "tags of HTML",
        body(said("Use <b>bold</b>, <s-box> and a[0] < b.")),
        absent=("leaked_tokens", "leaked_tool_call"),
    ),
    # The completion.
    broken("an error beside the choices", body(said(""), "error", **ERROR), "error_body", found="error_body"),
    broken("an error beside a whole answer", body(**ERROR), "error_body"),
    broken("the finish reason error", body(reason="error"), "error_body"),
    broken("an error in the choice", body(choices=[{**document()["choices"][0], **ERROR}]), "error_body"),
    broken("a finish reason that is missing", body(reason=...), "no_finish_reason"),
    broken("a finish reason that is null", body(reason=None), "no_finish_reason"),
    Odd(
        "a finish reason that is unknown",
        body(reason="eos"),
        "other",
        found="finish_reason_unknown",
        also=lambda row: row["finish_reason"] == "eos",
    ),
    Odd("a finish reason in capitals", body(reason="STOP"), "other", found="finish_reason_unknown"),
    broken("choices that are empty", body(choices=[]), "no_choices"),
    broken("choices that are missing", body(choices=...), "no_choices"),
    broken("choices that are null", body(choices=None), "no_choices"),
    broken("choices that are a number", body(choices=5), "no_choices"),
    broken("a message that is null", body(None), "null_message"),
    broken("a message that is missing", body(choices=[{"index": 0, "finish_reason": "stop"}]), "null_message"),
    Odd("a role that is missing", body({"content": TEXT}), found="role_wrong"),
    Odd("a role that is another", body({"role": "model", "content": TEXT}), found="role_wrong"),
    Odd("an index that is missing", choices(...), found="choice_index_missing"),
    Odd("an index that is a string", choices("0"), found="choice_index_missing"),
    Odd("an index that begins with 1", choices(1), found="choice_index_wrong"),
    Odd("two choices, one asked for", choices(0, 1), found="wrong_number_of_choices"),
    Odd("two choices with one index", choices(0, 0), found="choice_index_duplicate"),
    Odd("choices out of order", choices(1, 0), found="wrong_number_of_choices", absent="choice_index_wrong"),
    Odd(f"{RIGHT}: two choices that were asked for", choices(0, 1), request={"n": 2}),
    Odd("one choice, two asked for", choices(0), found="wrong_number_of_choices", request={"n": 2}),
    Odd("an id that is missing", body(id=...), found="field_missing"),
    Odd("an object that is missing", body(object=...), found="field_missing"),
    Odd("an object that is another", body(object="text_completion"), found="object_wrong"),
    Odd("a time of creation that is 0", body(created=0), found="created_wrong"),
    Odd("a time of creation in milliseconds", body(created=1767225600000), found="created_wrong"),
    Odd("a time of creation that is a text", body(created="2026-01-01"), found="field_wrong_type"),
    Odd("a model that is missing", body(model=...), found="field_missing", absent="other_model"),
    Odd(
        "a model that is another",
        body(model="m-mini"),
        found="other_model",
        also=lambda row: row["served"]["model"] == "m-mini",
    ),
    Odd("a model that is a snapshot", body(model="m-2026-01-01"), absent="other_model"),
    Odd("a model of a publisher", body(model="acme/M"), absent="other_model"),
    Odd(
        "log probabilities above 0",
        body(choices=[{**document()["choices"][0], "logprobs": {"content": [{**TOKEN, "logprob": 1.5}]}}]),
        found="logprobs_wrong",
    ),
    Odd(
        "log probabilities that are a list",
        body(choices=[{**document()["choices"][0], "logprobs": [1]}]),
        found="logprobs_wrong",
    ),
    Odd("log probabilities that did not come", body(), found="logprobs_missing", request={"logprobs": True}),
    Odd(
        "alternatives that did not come",
        body(choices=[{**document()["choices"][0], "logprobs": {"content": [TOKEN]}}]),
        found="top_logprobs_missing",
        request={"logprobs": True, "top_logprobs": 3},
    ),
    # The usage.
    Odd("usage that is missing", body(usage=...), found="usage_missing", also=lambda row: row["total_tokens"] is None),
    Odd("usage that is null", body(usage=None), found="usage_missing"),
    Odd(
        "a count that is null",
        counts(completion=None),
        found="usage_not_counts",
        also=lambda row: row["completion_tokens"] is None,
    ),
    Odd("a count that is negative", counts(completion=-1), found="usage_not_counts"),
    Odd("a count that is a fraction", counts(completion=9.5), found="usage_not_counts"),
    Odd("a count that is a text", counts(completion="9"), found="usage_not_counts"),
    Odd("a count that is missing", counts(total=None), found="usage_not_counts"),
    Odd("a total that is not the sum", counts(total=40), found="total_not_sum"),
    Odd(
        "no tokens for 4,000 characters",
        body(said("sunny day. " * 400), usage={**USAGE, "completion_tokens": 0, "total_tokens": 30}),
        found="completion_tokens_zero",
        also=lambda row: row["tps"] is None,
    ),
    Odd("few tokens for 4,000 characters", body(said("sunny day. " * 400)), found="completion_tokens_too_few"),
    Odd(
        "a hundred times the tokens",
        counts(completion=900, total=930),
        found="completion_tokens_too_many",
        also=lambda row: row["tps"] is None,
    ),
    Odd(
        "many tokens of reasoning",
        counts(completion=900, total=930, completion_tokens_details={"reasoning_tokens": 890}),
        absent="completion_tokens_too_many",
    ),
    Odd(
        "more reasoning than tokens",
        counts(completion_tokens_details={"reasoning_tokens": 99}),
        found="usage_details_wrong",
    ),
    Odd("more cached than asked", counts(prompt_tokens_details={"cached_tokens": 99}), found="usage_details_wrong"),
    Odd(
        "a million tokens for a question", counts(prompt=1_000_000, total=1_000_009), found="prompt_tokens_implausible"
    ),
    Odd(
        "usage in the choice",
        body(usage=..., choices=[{**document()["choices"][0], "usage": USAGE}]),
        also=lambda row: row["total_tokens"] == 39,
    ),
    # What the request demands.
    called("a call that is forbidden", call(), found="call_forbidden", request={"tool_choice": "none"}),
    Odd("no call where one is required", body(), found="call_not_made", request={"tool_choice": "required"}),
    Odd("no call where a tool is named", body(), found="call_not_made", request={"tool_choice": CHOSEN}),
    called(
        "another call than the named one",
        call(name="other"),
        found="other_tool_than_chosen",
        request={"tool_choice": CHOSEN},
    ),
    called(f"{RIGHT}: the call that is required", call(), request={"tool_choice": "required"}),
    Odd(f"{RIGHT}: a text where calls are allowed", body(), request={"tool_choice": "auto"}),
    Odd("a text where JSON is asked for", body(), found="not_json", request=JSON),
    Odd("JSON in a fence", body(said('```json\n{"a": 1}\n```')), found="not_json", request=JSON),
    Odd("a list where an object is asked for", body(said("[1, 2]")), found="not_json", request=JSON),
    Odd(f"{RIGHT}: an object", body(said('{"a": "sunny in Oslo"}')), request=JSON),
    Odd("JSON that does not fit", body(said('{"a": "x"}')), found="not_of_response_schema", request=STRUCTURED),
    Odd(f"{RIGHT}: JSON that fits", body(said('{"a": 1}')), request=STRUCTURED),
    Odd("more tokens than allowed", body(), found="more_than_max_tokens", request={"max_tokens": 3}),
    Odd(
        "cut before the limit",
        body(reason="length"),
        "other",
        found="length_before_limit",
        request={"max_completion_tokens": 500},
    ),
    Odd("the stop sequence in the text", body(), found="stop_sequence_in_text", request={"stop": ["absent", "sunny"]}),
    broken("a completion that is a list", body(**HEAD, choices=[[1]]), "no_choices"),
]
