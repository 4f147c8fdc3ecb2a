"""Completions, whole and streamed, and the usage they report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from trialbed.wire import Call, ModelAnswer, usage_counts
from trialbed.wire.dialects import dialect
from trialbed.wire.dialects.chat_completions import write_answer, write_document, write_message
from trialbed_scripted import ModelTurn
from trialbed_scripted.policies import answer_of, estimate_usage

STREAMED = dialect().read_request({"stream": True, "stream_options": {"include_usage": True}})
CALLS = ModelTurn(calls=(Call("one", '{"city": "Zürich", "n": 12345}'), Call("two", "{")))
TEXT = ModelTurn(text="A text of more than one piece, with ümlauts.")


def answer(turn: ModelTurn, identity: str = "trial#0", usage: dict[str, int] | None = None) -> ModelAnswer:
    return replace(answer_of(turn, identity), model="scripted:gold", usage=usage)


def test_a_stream_comes_in_small_chunks_and_ends_with_done() -> None:
    *events, last = write_answer(answer(TEXT), STREAMED)
    pieces = [json.loads(event[6:])["choices"][0]["delta"].get("content") or "" for event in events]
    assert max(map(len, pieces)) <= 8
    assert "".join(pieces) == TEXT.text
    assert last.endswith(b"data: [DONE]\n\n")


def test_ids_are_the_same_for_the_same_call_and_different_for_another() -> None:
    def ids(identity: str) -> set[str]:
        document: dict[str, Any] = write_document(answer(CALLS, identity))
        return {document["id"], *(call["id"] for call in document["choices"][0]["message"]["tool_calls"])}

    assert ids("t#0") == ids("t#0")
    assert len(ids("t#0") | ids("t#1")) == 6


def test_usage_is_a_token_per_four_bytes_rounded_up() -> None:
    said = ModelAnswer(content="ü")
    request = dialect().read_request({"messages": [], "tools": [], "model": "not counted"})
    message = json.dumps(write_message(said), ensure_ascii=False, separators=(",", ":"))
    assert estimate_usage(request, said, dialect()) == usage_counts(
        -(-len('{"messages":[],"tools":[]}') // 4), -(-len(message.encode()) // 4)
    )


def test_the_bytes_of_a_scripted_model_are_fixed() -> None:
    """They are recorded, and their lengths are results."""
    built = answer(ModelTurn(calls=(Call("look", '{"a": 1}'),)), usage=usage_counts(5, 7))
    assert write_answer(built, STREAMED)[1] == (
        b'data: {"id":"chatcmpl-64ecab330a39d3c5bc1aee80","object":"chat.completion.chunk","created":1,'
        b'"model":"scripted:gold","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,'
        b'"id":"call_11c8481a6c881b8274932466","type":"function","function":{"name":"look","arguments":""}}]},'
        b'"logprobs":null,"finish_reason":null}]}\n\n'
    )
    assert json.dumps(write_document(built)["choices"]) == (
        '[{"index": 0, "message": {"role": "assistant", "content": null, "refusal": null, "tool_calls": [{"id": '
        '"call_11c8481a6c881b8274932466", "type": "function", "function": {"name": "look", "arguments": '
        '"{\\"a\\": 1}"}}]}, "logprobs": null, "finish_reason": "tool_calls"}]'
    )
