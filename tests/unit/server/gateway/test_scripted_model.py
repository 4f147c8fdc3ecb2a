"""Completions, whole and streamed, and the usage they report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from trialbed.records import Usage
from trialbed.wire import DONE_EVENT, Call
from trialbed.wire.dialects import dialect
from trialbed.wire.dialects.chat_completions import Completion, usage_document
from trialbed_scripted import Turn
from trialbed_scripted.policies import estimate_usage
from trialbed_server.gateway.observation import observe
from trialbed_server.gateway.scripted_model import completion_of

USAGE = Usage(prompt_tokens=5, completion_tokens=7)
CALLS = Turn(calls=(Call("one", '{"city": "Zürich", "n": 12345}'), Call("two", "{")))
TEXT = Turn(text="A text of more than one piece, with ümlauts.")


def completion(turn: Turn, identity: str = "trial#0", usage: dict[str, int] | None = None) -> Completion:
    built = completion_of(turn, identity, created=1, model="scripted:gold")
    return replace(built, usage=usage)


@pytest.mark.parametrize("turn", [CALLS, TEXT])
def test_a_stream_says_the_same_as_the_document(turn: Turn) -> None:
    built = completion(turn, usage=usage_document(5, 7))
    whole = observe(dialect(), json.dumps(built.document()).encode(), {"one"}, stream=False)
    streamed = observe(dialect(), b"".join(built.events()), {"one"}, stream=True)
    assert whole == streamed
    assert whole.usage == USAGE


def test_a_stream_comes_in_small_chunks_and_ends_with_done() -> None:
    events = list(completion(TEXT).events())
    pieces = [json.loads(event[6:])["choices"][0]["delta"].get("content") or "" for event in events[:-1]]
    assert max(map(len, pieces)) <= 8
    assert "".join(pieces) == TEXT.text
    assert events[-1] == DONE_EVENT


def test_the_usage_chunk_comes_only_if_it_is_asked_for() -> None:
    built = completion(TEXT, usage=usage_document(5, 7))
    assert not any(b"usage" in event for event in built.events(with_usage=False))
    assert any(b"usage" in event for event in built.events(with_usage=True))


def test_ids_are_the_same_for_the_same_call_and_different_for_another() -> None:
    def ids(identity: str) -> set[str]:
        document: dict[str, Any] = completion(CALLS, identity).document()
        return {document["id"], *(call["id"] for call in document["choices"][0]["message"]["tool_calls"])}

    assert ids("t#0") == ids("t#0")
    assert len(ids("t#0") | ids("t#1")) == 6


def test_usage_is_a_token_per_four_bytes_rounded_up() -> None:
    message = {"content": "ü"}
    request = dialect().read_request({"messages": [], "tools": [], "model": "not counted"})
    assert estimate_usage(request, message) == Usage(
        prompt_tokens=-(-len('{"messages":[],"tools":[]}') // 4),
        completion_tokens=-(-len('{"content":"ü"}'.encode()) // 4),
    )


def test_the_bytes_of_a_scripted_model_are_fixed() -> None:
    """They are recorded, and their lengths are results."""
    built = completion(Turn(calls=(Call("look", '{"a": 1}'),)), usage=usage_document(5, 7))
    assert list(built.events())[1] == (
        b'data: {"id":"chatcmpl-64ecab330a39d3c5bc1aee80","object":"chat.completion.chunk","created":1,'
        b'"model":"scripted:gold","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,'
        b'"id":"call_11c8481a6c881b8274932466","type":"function","function":{"name":"look","arguments":""}}]},'
        b'"logprobs":null,"finish_reason":null}]}\n\n'
    )
    assert json.dumps(built.document()["choices"]) == (
        '[{"index": 0, "message": {"role": "assistant", "content": null, "refusal": null, "tool_calls": [{"id": '
        '"call_11c8481a6c881b8274932466", "type": "function", "function": {"name": "look", "arguments": '
        '"{\\"a\\": 1}"}}]}, "logprobs": null, "finish_reason": "tool_calls"}]'
    )
