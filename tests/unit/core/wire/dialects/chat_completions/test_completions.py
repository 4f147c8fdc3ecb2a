"""Completions that are built, whole and streamed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.wire import Call, ModelAnswer, dump_json, usage_counts
from trialbed.wire.dialects.chat_completions import (
    first_message,
    read_body,
    read_request,
    read_stream,
    write_answer,
    write_chunks,
    write_document,
    write_message,
)

USAGE_ASKED = read_request({"stream": True, "stream_options": {"include_usage": True}})
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ANSWERS = st.builds(
    ModelAnswer,
    model=TEXTS,
    id=TEXTS,
    content=TEXTS,
    calls=st.lists(
        st.builds(Call, st.sampled_from(["look", "find"]), st.just("{}") | TEXTS.map(json.dumps), st.uuids().map(str)),
        max_size=3,
    ).map(tuple),
    finish_reason=st.sampled_from(["stop", "tool_calls", "length"]),
    usage=st.none() | st.just(usage_counts(3, 4)),
    reasoning=TEXTS,
    refusal=TEXTS,
)


@given(ANSWERS, st.none() | st.integers(1, 9))
def test_a_stream_says_the_same_as_the_document(answer: ModelAnswer, piece: int | None) -> None:
    whole = read_body(dump_json(write_document(answer)))
    streamed = read_stream(b"".join(write_answer(answer, USAGE_ASKED, piece=piece)), ["look", "find"])
    assert whole.problem is None
    assert streamed.problem is None
    assert whole.outcome == streamed.outcome
    assert first_message(whole.response)["content"] == first_message(streamed.response)["content"]
    assert whole.answer.calls == streamed.answer.calls == answer.calls
    assert whole.answer.refusal == streamed.answer.refusal == answer.refusal
    assert (whole.response or {}).get("usage") == (streamed.response or {}).get("usage")


def test_tokens_that_are_parts_of_others_stand_in_their_details() -> None:
    counts = {**usage_counts(9, 4), "cached_tokens": 5, "reasoning_tokens": 3}
    answer = ModelAnswer(content="hi", usage=counts)
    details = {"prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 3}}
    for usage in (write_document(answer)["usage"], write_chunks(answer, USAGE_ASKED)[-1]["usage"]):
        assert usage == {**usage_counts(9, 4), **details}
    assert read_body(dump_json(write_document(answer))).answer.usage == counts


@pytest.mark.parametrize("piece", [None, 3])
def test_a_raw_prompt_is_answered_with_a_text(piece: int | None) -> None:
    answer = ModelAnswer(content="a text of some length")
    document = read_body(b"".join(write_answer(answer, read_request({"prompt": "p"})))).response
    assert document is not None
    assert document["choices"][0]["text"] == "a text of some length"
    streamed = read_stream(b"".join(write_answer(answer, read_request({"prompt": "p", "stream": True}), piece=piece)))
    assert first_message(streamed.response)["content"] == "a text of some length"


def test_calls_without_an_id_are_numbered() -> None:
    answer = ModelAnswer(calls=(Call("a", "{}"), Call("b", "{}", "own")))
    assert [call["id"] for call in write_message(answer)["tool_calls"]] == ["call_0", "own"]


@pytest.mark.parametrize("piece", [None, 8])
def test_further_fields_stand_where_they_belong(piece: int | None) -> None:
    tokens = (("hi", -0.5, (("ho", -1.5),)),)
    answer = ModelAnswer(content="hi", fields={"refusal": None}, fingerprint="fp", logprobs=tokens)
    document = write_document(answer)
    assert document["system_fingerprint"] == "fp"
    (token,) = document["choices"][0]["logprobs"]["content"]
    assert (token["token"], token["logprob"], token["top_logprobs"][0]["token"]) == ("hi", -0.5, "ho")
    assert document["choices"][0]["message"]["refusal"] is None
    for chunk in write_chunks(answer, read_request({}), piece=piece):
        assert chunk["system_fingerprint"] == "fp"
        assert chunk["choices"][0]["logprobs"] == document["choices"][0]["logprobs"]


def test_usage_comes_in_a_last_chunk_if_it_is_wanted() -> None:
    answer = ModelAnswer(content="hi", usage=usage_counts(3, 4))
    assert write_chunks(answer, USAGE_ASKED)[-1]["usage"]["total_tokens"] == 7
    assert not any("usage" in chunk for chunk in write_chunks(answer, read_request({})))


def test_as_many_choices_as_are_asked_for_are_written() -> None:
    (body,) = write_answer(ModelAnswer(content="hi"), read_request({"n": 3}))
    assert [choice["index"] for choice in json.loads(body)["choices"]] == [0, 1, 2]
