"""Completions that are built, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.wire import Call, dump_json
from trialbed.wire.dialects.chat_completions import (
    Completion,
    first_message,
    read_body,
    read_stream,
    usage_document,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
COMPLETIONS = st.builds(
    Completion,
    model=TEXTS,
    id=TEXTS,
    content=TEXTS,
    calls=st.lists(
        st.builds(Call, st.sampled_from(["look", "find"]), st.just("{}") | TEXTS.map(json.dumps), st.uuids().map(str)),
        max_size=3,
    ).map(tuple),
    finish_reason=st.sampled_from(["stop", "tool_calls", "length"]),
    usage=st.none() | st.just(usage_document(3, 4)),
    reasoning=TEXTS,
)


@given(COMPLETIONS, st.none() | st.integers(1, 9))
def test_a_stream_says_the_same_as_the_document(completion: Completion, piece: int | None) -> None:
    whole = read_body(dump_json(completion.document()))
    streamed = read_stream(b"".join(completion.events(piece=piece)), ["look", "find"])
    assert whole.problem is None
    assert streamed.problem is None
    assert whole.outcome == streamed.outcome
    assert first_message(whole.response)["content"] == first_message(streamed.response)["content"]
    assert whole.answer.calls == streamed.answer.calls == completion.calls
    assert (whole.response or {}).get("usage") == (streamed.response or {}).get("usage")


def test_a_raw_completion_is_a_text() -> None:
    completion = Completion(model="m", id="i", content="a text of some length", raw=True)
    assert completion.document()["choices"] == [{"index": 0, "text": "a text of some length", "finish_reason": "stop"}]
    for piece in (None, 3):
        streamed = read_stream(b"".join(completion.events(piece=piece)))
        assert first_message(streamed.response)["content"] == "a text of some length"


def test_calls_without_an_id_are_numbered() -> None:
    completion = Completion(model="m", id="i", calls=(Call("a", "{}"), Call("b", "{}", "own")))
    assert [call["id"] for call in completion.message()["tool_calls"]] == ["call_0", "own"]


@pytest.mark.parametrize("piece", [None, 8])
def test_further_fields_stand_where_they_belong(piece: int | None) -> None:
    more: dict[str, Any] = {"choice_fields": {"logprobs": None}, "fields": {"system_fingerprint": "fp"}}
    completion = Completion(model="m", id="i", content="hi", message_fields={"refusal": None}, **more)
    document = completion.document()
    assert document["system_fingerprint"] == "fp"
    assert document["choices"][0]["logprobs"] is None
    assert document["choices"][0]["message"]["refusal"] is None
    for chunk in completion.chunks(piece=piece):
        assert chunk["system_fingerprint"] == "fp"
        assert chunk["choices"][0]["logprobs"] is None


def test_usage_comes_in_a_last_chunk_if_it_is_wanted() -> None:
    completion = Completion(model="m", id="i", content="hi", usage=usage_document(3, 4))
    assert completion.chunks()[-1]["usage"]["total_tokens"] == 7
    assert not any("usage" in chunk for chunk in completion.chunks(with_usage=False))
