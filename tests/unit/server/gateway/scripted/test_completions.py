"""Completions, whole and streamed, and the usage they report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.records import Usage
from trialbed_server.gateway.observation import observe
from trialbed_server.gateway.scripted.completions import DONE, Completion
from trialbed_server.gateway.scripted.turns import Call, Turn
from trialbed_server.gateway.scripted.usage import estimated_usage

USAGE = Usage(prompt_tokens=5, completion_tokens=7)
CALLS = Turn((Call("one", '{"city": "Zürich", "n": 12345}'), Call("two", "{")))
TEXT = Turn(text="A text of more than one piece, with ümlauts.")


def completion(turn: Turn, identity: str = "trial#0") -> Completion:
    return Completion(identity=identity, created=1, model="scripted:gold", turn=turn)


@pytest.mark.parametrize("turn", [CALLS, TEXT])
def test_a_stream_says_the_same_as_the_document(turn: Turn) -> None:
    whole = observe(json.dumps(completion(turn).document(USAGE)).encode(), {"one"}, stream=False)
    streamed = observe(b"".join(completion(turn).events(USAGE)), {"one"}, stream=True)
    assert whole == streamed
    assert whole.usage == USAGE


def test_a_stream_comes_in_small_chunks_and_ends_with_done() -> None:
    events = list(completion(TEXT).events(None))
    pieces = [json.loads(event[6:])["choices"][0]["delta"].get("content") or "" for event in events[:-1]]
    assert max(map(len, pieces)) <= 8
    assert "".join(pieces) == TEXT.text
    assert events[-1] == DONE


def test_the_usage_chunk_comes_only_if_it_is_asked_for() -> None:
    assert not any(b"usage" in event for event in completion(TEXT).events(None))


def test_ids_are_the_same_for_the_same_call_and_different_for_another() -> None:
    def ids(identity: str) -> set[str]:
        document: dict[str, Any] = completion(CALLS, identity).document(USAGE)
        return {document["id"], *(call["id"] for call in document["choices"][0]["message"]["tool_calls"])}

    assert ids("t#0") == ids("t#0")
    assert len(ids("t#0") | ids("t#1")) == 6


def test_usage_is_a_token_per_four_bytes_rounded_up() -> None:
    message = {"content": "ü"}
    request = {"messages": [], "tools": [], "model": "not counted"}
    assert estimated_usage(request, message) == Usage(
        prompt_tokens=-(-len('{"messages":[],"tools":[]}') // 4),
        completion_tokens=-(-len('{"content":"ü"}'.encode()) // 4),
    )
