from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed.wire.dialects import dialect
from trialbed.wire.dialects.chat_completions import read_answer

COUNTS = {"prompt_tokens": 3, "completion_tokens": 4}


@for_each(
    "response",
    [{"usage": COUNTS}, {"choices": [{"usage": COUNTS}]}, {"x_groq": {"usage": COUNTS}}],
)
def test_usage_is_found_where_vendors_put_it(response: dict[str, Any]) -> None:
    assert read_answer(response).usage == {**COUNTS, "total_tokens": 7}


def test_the_response_itself_is_trusted_most() -> None:
    assert (read_answer({"usage": {"total_tokens": 9}, "choices": [{"usage": {"total_tokens": 1}}]}).usage or {})[
        "total_tokens"
    ] == 9


@for_each("value", [None, "4", True, 1.5, -1, 10**9 + 1, 10**400, {}, []])
def test_what_is_no_count_is_unknown(value: Any) -> None:
    assert read_answer({"usage": {"completion_tokens": value}}).usage is None


@for_each("response", [None, {}, {"usage": None}, {"usage": 3}, {"x_groq": "x"}, {"choices": "x"}])
def test_where_there_is_none_nothing_is_known(response: Any) -> None:
    assert read_answer(response).usage is None
    assert read_answer(response).hidden_tokens == 0


def test_reasoning_is_hidden_where_it_was_counted_and_not_sent() -> None:
    usage = {**COUNTS, "completion_tokens_details": {"reasoning_tokens": 3}}
    assert read_answer({"usage": usage, "choices": [{"message": {"content": "x"}}]}).hidden_tokens == 3
    shown = {"message": {"content": "x", "reasoning_content": "hm"}}
    assert read_answer({"usage": usage, "choices": [shown]}).hidden_tokens == 0


@for_each(
    ("last", "counted"),
    [
        ({}, {"prompt_tokens": 273, "completion_tokens": 26, "cached_tokens": 259, "total_tokens": 299}),
        ({"usage": COUNTS}, {**COUNTS, "total_tokens": 7}),
    ],
)
def test_a_stream_of_llama_cpp_has_its_tokens_in_its_times_unless_it_tells_the_usage(
    last: dict[str, Any], counted: dict[str, int]
) -> None:
    chunk = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], **last}
    for timings in ({"prompt_n": 14, "cache_n": 259, "predicted_n": 26}, {"prompt_n": 14, "predicted_n": "26"}):
        reader = dialect().open_stream(())
        reader.feed(b"data: " + json.dumps({**chunk, "timings": timings}).encode() + b"\n\ndata: [DONE]\n\n")
        expected = counted if timings["predicted_n"] == 26 or last else None
        assert reader.end().answer.usage == expected
