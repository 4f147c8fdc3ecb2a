"""Odd counts of tokens, and what requests demand."""

from __future__ import annotations

from typing import Any

from support.odd_vendor import USAGE, Odd, body, call, called, document
from support.odd_vendor.calls import FUNCTION
from support.odd_vendor.messages import JSON, TOKEN, counts, said


def choice(**fields: Any) -> dict[str, Any]:
    return {**document()["choices"][0], **fields}


DEMANDS = [
    Odd("absurd", counts(completion=10**12, total=10**12 + 30), found="completion_tokens_too_many"),
    Odd("absurd prompt", counts(prompt=10**12, total=10**12 + 9), found="prompt_tokens_implausible"),
    Odd("true", counts(completion=True), found="usage_not_counts"),
    Odd("a list", body(usage=[1]), found="usage_missing"),
    Odd("empty", body(usage={}), found="usage_missing"),
    Odd("infinite as a text", counts(completion="Infinity"), found="usage_not_counts"),
    Odd("zero everywhere", counts(0, 0, 0), found="completion_tokens_zero"),
    Odd("reasoning negative", counts(completion_tokens_details={"reasoning_tokens": -5}), found="usage_details_wrong"),
    Odd("details a list", counts(completion_tokens_details=[])),
    Odd(
        "reasoning outside the total",
        counts(total=139, completion_tokens_details={"reasoning_tokens": 100}),
        found="total_not_sum",
    ),
    Odd("Anthropic's names", body(usage={"input_tokens": 30, "output_tokens": 9}), found="usage_not_counts"),
    Odd(
        "more than allowed, usage silent",
        body(said("sunny day. " * 400), usage={**USAGE, "completion_tokens": 5, "total_tokens": 35}),
        found=("more_than_max_tokens", "completion_tokens_too_few"),
        request={"max_tokens": 5},
    ),
    Odd("at the limit", body(reason="length"), "other", request={"max_tokens": 9}),
    Odd("stop as a text", body(), found="stop_sequence_in_text", request={"stop": "sunny"}),
    Odd(
        "none and a call in the text",
        body(said('<tool_call>{"name": "lookup", "arguments": {}}</tool_call>')),
        found="leaked_tool_call",
        request={"tool_choice": "none"},
    ),
    Odd(
        "none and a legacy call",
        body(FUNCTION, "function_call"),
        "tool_calls",
        found="call_forbidden",
        request={"tool_choice": "none"},
    ),
    Odd(
        "required, finished with length",
        body(reason="length"),
        "other",
        absent="call_not_made",
        request={"tool_choice": "required", "max_tokens": 9},
    ),
    called(
        "allowed tools",
        call(name="other"),
        found="other_tool_than_chosen",
        request={
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "lookup"}}]},
            }
        },
    ),
    Odd("JSON, empty", body(said("")), found=("empty_answer", "not_json"), request=JSON),
    Odd("JSON, NaN", body(said('{"a": NaN}')), found="not_json", request=JSON),
    called("JSON, a call instead", call(), absent="not_json", request=JSON),
    Odd(
        "JSON, after thinking",
        body(said('<think>x</think>{"a": 1}')),
        found=("not_json", "leaked_thinking"),
        request=JSON,
    ),
    Odd("JSON, twice", body(said('{"a": 1}{"a": 1}')), found="not_json", request=JSON),
    Odd("JSON with blanks", body(said('\n {"a": 1} \n')), absent="not_json", request=JSON),
    Odd("no logprobs", body(choices=[choice(logprobs={"content": [TOKEN]})])),
    Odd(
        "one alternative of one",
        body(
            choices=[
                choice(
                    logprobs={"content": [{**TOKEN, "top_logprobs": [{"token": "It", "logprob": -0.1, "bytes": None}]}]}
                )
            ]
        ),
        request={"logprobs": True, "top_logprobs": 1},
    ),
]
