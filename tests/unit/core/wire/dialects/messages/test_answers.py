"""Messages of a model: odd ones have a problem."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.wire import Call, ModelAnswer, Reading, read_response, usage_counts
from trialbed.wire.dialects import messages


def read_stream(body: bytes) -> Reading:
    return read_response("messages", body, stream=True)


def event(kind: str, **fields: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, **fields})}\n\n".encode()


START = event("message_start", message={"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 5}})
BLOCK = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
DELTA = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "hi"})
END = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
STOP = event("message_stop")
ERROR = event("error", error={"type": "overloaded_error", "message": "no"})


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([START, BLOCK, DELTA, END, STOP], None),
        ([START, END, STOP], None),
        ([START, event("ping"), BLOCK, event("new_event"), DELTA, END, STOP, b"data: [DONE]\n\n"], None),
        ([START, BLOCK, DELTA, END], "no_done"),
        ([START, BLOCK, DELTA, STOP], "no_finish_reason"),
        ([START, BLOCK, DELTA], "cut_stream"),
        ([], "empty_stream"),
        ([END, STOP], "null_message"),
        ([START, ERROR], "error_event"),
        ([START, b"event: error\ndata: {}\n\n"], "error_event"),
        ([START, b"data: {oops\n\n", END, STOP], "malformed_event"),
        ([START, b"data: 7\n\n"], "malformed_event"),
    ],
)
def test_a_stream_is_an_answer_or_has_a_problem(chunks: list[bytes], kind: str | None) -> None:
    reading = read_stream(b"".join(chunks))
    assert (reading.problem.kind if reading.problem else None) == kind


def test_the_first_token_is_the_first_text() -> None:
    reader = messages.open_stream(())
    for moment, chunk in enumerate([START, BLOCK, DELTA, END, STOP]):
        reader.feed(chunk, float(moment))
    assert reader.over
    reading = reader.end()
    assert (reading.first_token, reading.answer.usage) == (2.0, usage_counts(5, 2))


def test_deltas_without_index_or_start_are_noted() -> None:
    lost = event("content_block_delta", index=4, delta={"type": "text_delta", "text": "hi"})
    stray = event("content_block_delta", delta={"type": "text_delta", "text": " there"})
    reading = read_stream(b"".join([START, BLOCK, stray, lost, END, STOP]))
    assert reading.answer.text == " therehi"
    assert reading.notes == ("call_index_missing", "call_index_wrong")


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"content": None, "stop_reason": "end_turn"}, "null_message"),
        ({"content": []}, "no_finish_reason"),
        ({"type": "error", "error": {"message": "no"}}, "error_body"),
        ({"choices": [{"message": {"content": "hi"}}]}, "null_message"),
    ],
)
def test_what_is_no_message_has_a_problem(document: dict[str, Any], kind: str) -> None:
    reading = messages.read_body(json.dumps(document).encode())
    assert reading.problem is not None
    assert reading.problem.kind == kind


def test_cached_tokens_are_among_those_of_the_prompt() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 2}
    answer = messages.read_answer({"content": [], "stop_reason": "end_turn", "usage": usage})
    assert answer.usage == {**usage_counts(125, 2), "cached_tokens": 100}
    again = messages.read_answer(messages.write_document(answer))
    assert again.usage == answer.usage


def test_zeros_stand_for_a_usage_that_is_not_known() -> None:
    begun = {"id": "msg_1", "content": [], "usage": {"input_tokens": 0, "output_tokens": 0}}
    start = event("message_start", message=begun)
    assert read_stream(start).answer.usage is None
    assert read_stream(b"".join([start, BLOCK, DELTA, END, STOP])).answer.usage == usage_counts(0, 2)


def test_arguments_that_do_not_parse_stay_as_they_are() -> None:
    answer = ModelAnswer(calls=(Call("find", '{"id": ', "t"),), finish_reason="tool_calls")
    (block,) = messages.write_document(answer)["content"]
    assert block["input"] == '{"id": '
    assert messages.read_answer(messages.write_document(answer)).calls[0].arguments == '{"id": '


@pytest.mark.parametrize("reason", ["content_filter", "stop"])
def test_a_refusal_has_its_reason_and_words(reason: str) -> None:
    answer = ModelAnswer(content=None, refusal="I cannot.", finish_reason=reason)
    document = messages.write_document(answer)
    assert (document["stop_reason"], document["stop_details"]["explanation"]) == ("refusal", "I cannot.")
    assert messages.read_answer(document).refusal == "I cannot."


@pytest.mark.parametrize(
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
def test_errors_have_the_dialects_own_types(kind: str, code: str, expected: str) -> None:
    document = messages.write_error("no", kind, code=code)
    assert (document["type"], document["error"]["type"]) == ("error", expected)
    assert messages.read_error(json.dumps(document)) == "no"
    assert messages.read_error("plain") == "plain"
