"""Responses: odd ones have a problem."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.wire import ModelAnswer, Reading, read_response, usage_counts
from trialbed.wire.dialects import responses

READ = responses.read_request({"model": "m", "input": []})
STREAMED = responses.read_request({"model": "m", "input": [], "stream": True})


def read_stream(body: bytes) -> Reading:
    return read_response("responses", body, stream=True)


def event(kind: str, **fields: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, **fields})}\n\n".encode()


ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
CREATED = event("response.created", response={"id": "resp_1", "status": "in_progress", "output": []})
ADDED = event("response.output_item.added", output_index=0, item={**ITEM, "content": []})
DELTA = event("response.output_text.delta", output_index=0, content_index=0, delta="hi")
COMPLETED = event("response.completed", response={"id": "resp_1", "status": "completed", "output": [ITEM]})
EMPTY = event("response.completed", response={"id": "resp_1", "status": "completed", "output": []})
FAILED = event("response.failed", response={"status": "failed", "error": {"code": "server_error", "message": "no"}})


@pytest.mark.parametrize(
    ("chunks", "kind", "text"),
    [
        ([CREATED, ADDED, DELTA, COMPLETED], None, "hi"),
        ([COMPLETED], None, "hi"),
        ([CREATED, ADDED, DELTA, EMPTY], None, "hi"),
        ([CREATED, EMPTY, b"data: [DONE]\n\n"], None, ""),
        ([CREATED, ADDED, DELTA], "cut_stream", "hi"),
        ([CREATED, ADDED, DELTA, FAILED], "error_event", "hi"),
        ([CREATED, DELTA, event("error", code="server_error", message="no")], "error_event", "hi"),
        ([CREATED, b'data: {"error": {"message": "no"}}\n\n'], "error_event", ""),
        ([CREATED, b"data: {oops\n\n"], "malformed_event", ""),
        ([CREATED, ADDED, b"data: {}\n\n", DELTA, COMPLETED], None, "hi"),
        ([], "empty_stream", ""),
        ([event("response.completed", response={"status": "completed"})], "null_message", ""),
        ([event("response.completed", response={"output": []})], "no_finish_reason", ""),
    ],
)
def test_a_stream_is_an_answer_or_has_a_problem(chunks: list[bytes], kind: str | None, text: str) -> None:
    reading = read_stream(b"".join(chunks))
    assert (reading.problem.kind if reading.problem else None) == kind
    assert reading.answer.text == text


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"output": None, "status": "completed"}, "null_message"),
        ({"output": []}, "no_finish_reason"),
        ({"output": [], "status": "queued"}, "no_finish_reason"),
        ({"output": [], "status": "failed", "error": {"code": "server_error", "message": "no"}}, "error_body"),
        ({"error": {"message": "no"}}, "error_body"),
        ({"choices": [{"message": {"content": "hi"}}]}, "null_message"),
    ],
)
def test_what_is_no_response_has_a_problem(document: dict[str, Any], kind: str) -> None:
    reading = responses.read_body(json.dumps(document).encode())
    assert reading.problem is not None
    assert reading.problem.kind == kind


def test_the_first_token_is_the_first_text() -> None:
    reader = responses.open_stream(())
    for moment, chunk in enumerate([CREATED, ADDED, DELTA, COMPLETED]):
        reader.feed(chunk, float(moment))
    assert (reader.over, reader.end().first_token) == (True, 2.0)


def test_a_response_repeats_the_settings_of_its_request() -> None:
    tools = [{"type": "function", "name": "find", "parameters": {}}]
    request = responses.read_request({"model": "m", "input": "hi", "tools": tools, "temperature": 0, "store": False})
    document = responses.write_document(ModelAnswer(content="hi", id="1", usage=usage_counts(5, 2)), request)
    assert (document["tools"], document["temperature"], document["store"]) == (tools, 0, False)
    assert (document["parallel_tool_calls"], document["status"]) == (True, "completed")
    assert document["usage"]["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}


def test_a_cut_answer_is_incomplete() -> None:
    document = responses.write_document(ModelAnswer(content="hi", finish_reason="length"), READ)
    assert (document["status"], document["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert document["output"][0]["status"] == "incomplete"


def test_a_refusal_has_a_part_of_its_own() -> None:
    answer = ModelAnswer(content=None, refusal="I cannot.", finish_reason="stop")
    assert responses.read_answer(responses.write_document(answer, READ)).refusal == "I cannot."
    body = b"".join(responses.write_answer(answer, STREAMED))
    assert b"response.refusal.delta" in body
    assert read_stream(body).answer.refusal == "I cannot."
