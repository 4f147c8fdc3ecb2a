"""Answers of each dialect: odd ones have a problem, and what is written is complete."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from support.cases import for_each
from support.chat import ODD_JSON

from trialbed.wire import Call, ModelAnswer, read_response, usage_counts
from trialbed.wire.dialects import CHAT, dialect, messages, responses
from trialbed.wire.dialects.chat_completions import first_message, read_answer, read_request, write_answer, write_chunks
from trialbed.wire.dialects.chat_completions import write_document as write_completion

KIND = "application/json"
MESSAGE = {"role": "assistant", "content": "hi"}
COUNTS = {"prompt_tokens": 3, "completion_tokens": 4}
WHOLE = {"choices": [{"message": MESSAGE, "finish_reason": "stop"}]}


@for_each(
    ("name", "body", "problem"),
    [
        (CHAT, {"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}, None),
        (CHAT, {"choices": [{"message": MESSAGE, "finish_reason": "length"}]}, None),
        (CHAT, {"choices": [{"text": "hi", "finish_reason": "stop"}]}, None),
        (CHAT, {**WHOLE, "base_resp": {"status_code": 0}, "code": 0}, None),
        (CHAT, {"choices": [{"message": MESSAGE, "finish_reason": None}]}, "no_finish_reason"),
        (CHAT, {"choices": [{"message": MESSAGE, "finish_reason": 7}]}, "no_finish_reason"),
        (CHAT, {"choices": [{"message": None, "finish_reason": "stop"}]}, "null_message"),
        (CHAT, {"choices": []}, "no_choices"),
        (CHAT, {"choices": [None, 5]}, "no_choices"),
        (CHAT, {"error": {"message": "no"}}, "error_body"),
        (CHAT, {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "error_body"),
        (CHAT, {"status": "fail", "reason": "quota used up"}, "error_body"),
        (CHAT, {"choices": None, "code": 20012, "message": "busy"}, "error_body"),
        ("messages", {"content": None, "stop_reason": "end_turn"}, "null_message"),
        ("messages", {"content": []}, "no_finish_reason"),
        ("messages", {"type": "error", "error": {"message": "no"}}, "error_body"),
        ("messages", WHOLE, "null_message"),
        ("responses", {"output": None, "status": "completed"}, "null_message"),
        ("responses", {"output": [], "status": "queued"}, "no_finish_reason"),
        ("responses", {"output": [], "status": "failed", "error": {"message": "no"}}, "error_body"),
        ("responses", WHOLE, "null_message"),
        *((name, [], "malformed_body") for name in (CHAT, "messages", "responses")),
    ],
)
def test_a_body_is_an_answer_or_named_for_what_it_is(name: str, body: Any, problem: str | None) -> None:
    reading = dialect(name).read_body(json.dumps(body).encode(), KIND)
    assert (reading.problem and reading.problem.kind) == problem
    assert (reading.outcome == "protocol_error") == (problem is not None)


@for_each(
    ("body", "kind", "problem"),
    [
        (b"<html>", KIND, "html"),
        (b"oops", "text/html; charset=utf-8", "html"),
        (b" \n", KIND, "empty_body"),
        (b'{"choices": ', KIND, "malformed_body"),
        (b'{"choices": NaN}', KIND, "malformed_body"),
        (b"\xff\xfe\x00", KIND, "malformed_body"),
        (b"[" * 5000, KIND, "malformed_body"),
    ],
)
def test_what_is_no_json_is_named(body: bytes, kind: str, problem: str) -> None:
    reading = dialect().read_body(body, kind)
    assert reading.problem is not None
    assert (reading.outcome, reading.problem.kind) == ("protocol_error", problem)


def test_a_completion_that_is_called_a_web_page_is_a_completion() -> None:
    reading = dialect().read_body(json.dumps(WHOLE).encode(), "text/html")
    assert (first_message(reading.response), reading.notes) == (MESSAGE, ("content_type_wrong",))


@given(ODD_JSON)
def test_nothing_that_a_vendor_sends_is_more_than_an_outcome(value: Any) -> None:
    body = json.dumps(value).encode()
    stream = dialect().open_stream(("a",))
    stream.feed(b"data: " + body + b"\n\n", 1.0)
    for reading in (dialect().read_body(body, KIND), stream.end(2.0)):
        assert (reading.problem is None) == (reading.outcome in ("tool_calls", "stop", "other"))


@for_each(
    ("response", "usage"),
    [
        ({"usage": COUNTS}, {**COUNTS, "total_tokens": 7}),
        ({"choices": [{"usage": COUNTS}]}, {**COUNTS, "total_tokens": 7}),
        ({"x_groq": {"usage": COUNTS}}, {**COUNTS, "total_tokens": 7}),
        ({"usage": {"total_tokens": 9}, "choices": [{"usage": {"total_tokens": 1}}]}, {"total_tokens": 9}),
        *(({"usage": {"completion_tokens": value}}, None) for value in (None, "4", True, 1.5, -1, 10**9 + 1, {})),
        *((response, None) for response in (None, {}, {"usage": 3}, {"x_groq": "x"}, {"choices": "x"})),
    ],
)
def test_usage_is_found_where_vendors_put_it(response: Any, usage: Any) -> None:
    assert read_answer(response).usage == usage


def test_reasoning_is_hidden_where_it_was_counted_and_not_sent() -> None:
    usage = {**COUNTS, "completion_tokens_details": {"reasoning_tokens": 3}}
    for more, hidden in (({}, 3), ({"reasoning_content": "hm"}, 0)):
        choices = [{"message": {"content": "x", **more}}]
        assert read_answer({"usage": usage, "choices": choices}).hidden_tokens == hidden


def test_cached_tokens_of_messages_are_among_those_of_the_prompt() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 2}
    answer = messages.read_answer({"content": [], "stop_reason": "end_turn", "usage": usage})
    assert answer.usage == {**usage_counts(125, 2), "cached_tokens": 100}
    assert messages.write_document(answer)["usage"]["input_tokens"] == 25
    assert messages.read_answer(messages.write_document(answer)).usage == answer.usage


def test_tokens_that_are_parts_of_others_stand_in_their_details_and_usage_in_the_last_chunk() -> None:
    counts = {**usage_counts(9, 4), "cached_tokens": 5, "reasoning_tokens": 3}
    answer, asked = ModelAnswer(content="hi", usage=counts), {"stream": True, "stream_options": {"include_usage": True}}
    details = {"prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 3}}
    for usage in (write_completion(answer)["usage"], write_chunks(answer, read_request(asked))[-1]["usage"]):
        assert usage == {**usage_counts(9, 4), **details}
    assert read_answer(write_completion(answer)).usage == counts
    assert not any("usage" in chunk for chunk in write_chunks(answer, read_request({})))


@pytest.mark.parametrize("piece", [None, 3])
def test_a_raw_prompt_is_answered_with_a_text(piece: int | None) -> None:
    answer = ModelAnswer(content="a text of some length")
    whole = json.loads(b"".join(write_answer(answer, read_request({"prompt": "p"}))))
    assert whole["choices"][0]["text"] == "a text of some length"
    body = b"".join(write_answer(answer, read_request({"prompt": "p", "stream": True}), piece=piece))
    assert read_response(CHAT, body, stream=True).answer.text == "a text of some length"


@pytest.mark.parametrize("piece", [None, 8])
def test_further_fields_of_a_completion_stand_where_they_belong(piece: int | None) -> None:
    tokens, calls = (("hi", -0.5, (("ho", -1.5),)),), (Call("a", "{}"), Call("b", "{}", "own"))
    answer = ModelAnswer(content="hi", fields={"refusal": None}, fingerprint="fp", logprobs=tokens, calls=calls)
    document = write_completion(answer, choices=3)
    assert (document["system_fingerprint"], [choice["index"] for choice in document["choices"]]) == ("fp", [0, 1, 2])
    message, (token,) = document["choices"][0]["message"], document["choices"][0]["logprobs"]["content"]
    assert (token["token"], token["logprob"], token["top_logprobs"][0]["token"]) == ("hi", -0.5, "ho")
    assert (message["refusal"], [call["id"] for call in message["tool_calls"]]) == (None, ["call_0", "own"])
    for chunk in write_chunks(answer, read_request({}), piece=piece):
        assert chunk["system_fingerprint"] == "fp"
        assert chunk["choices"][0]["logprobs"] == document["choices"][0]["logprobs"]


@pytest.mark.parametrize("reason", ["content_filter", "stop"])
def test_a_refusal_has_its_reason_and_words(reason: str) -> None:
    answer = ModelAnswer(content=None, refusal="I cannot.", finish_reason=reason)
    document = messages.write_document(answer)
    assert (document["stop_reason"], document["stop_details"]["explanation"]) == ("refusal", "I cannot.")
    assert messages.read_answer(document).refusal == "I cannot."


def test_a_response_repeats_the_settings_of_its_request_and_says_that_it_is_cut() -> None:
    tools = [{"type": "function", "name": "find", "parameters": {}}]
    request = responses.read_request({"model": "m", "input": "hi", "tools": tools, "temperature": 0, "store": False})
    answer = ModelAnswer(content="hi", id="1", usage=usage_counts(5, 2), finish_reason="length")
    document = responses.write_document(answer, request)
    assert (document["tools"], document["temperature"], document["store"]) == (tools, 0, False)
    assert (document["parallel_tool_calls"], document["status"]) == (True, "incomplete")
    assert document["incomplete_details"] == {"reason": "max_output_tokens"}
    assert document["usage"]["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}


@for_each(
    ("kind", "code", "expected"),
    [
        ("server_error", "500", "api_error"),
        ("upstream_error", "503", "overloaded_error"),
        ("rate_limit_error", "429", "rate_limit_error"),
        ("invalid_request_error", "404", "not_found_error"),
        ("invalid_request_error", "max_steps", "invalid_request_error"),
        ("invalid_request_error", "model_not_found", "not_found_error"),
    ],
)
def test_errors_of_messages_have_the_dialects_own_types(kind: str, code: str, expected: str) -> None:
    document = messages.write_error("no", kind, code=code)
    assert (document["type"], document["error"]["type"]) == ("error", expected)
    assert (messages.read_error(json.dumps(document)), messages.read_error("plain")) == ("no", "plain")


def test_the_bytes_of_requests_count_among_the_responses_that_are_kept() -> None:
    kept, request = responses.KeptResponses(), responses.read_request({"model": "m", "input": "hi"})
    for identity in ("resp_1", "resp_2"):
        kept.keep(request, {"id": identity}, 40 * 2**20)
    follows = [{"model": "m", "input": "hi", "previous_response_id": identity} for identity in ("resp_1", "resp_2")]
    codes = [kept.refusal(responses.read_request(document))[1] for document in follows]
    assert codes == ["previous_response_not_found", ""]
