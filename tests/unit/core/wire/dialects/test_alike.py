"""What is written is read again, whole and streamed, in the dialects whose events say their type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.dialects import ANSWERS, answer_to, odd_events, said
from support.examples import examples

from trialbed.wire import ModelAnswer, Reading, read_response, usage_counts
from trialbed.wire.dialects import CHAT, dialect

ITEMS = ["created", "output_item.added", "output_item.done", "output_text.delta", "completed", "incomplete", "failed"]
ITEMS += ["function_call_arguments.delta", "reasoning_summary_text.delta", "refusal.delta"]
BLOCKS = ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"]


class Spoken(NamedTuple):
    """A dialect in tests.

    Attributes:
        request: of its dialect.
        kinds: of its events.
        objects: whether arguments are objects, which keep no odd spelling.
    """

    request: dict[str, Any]
    kinds: list[str]
    objects: bool = False


DIALECTS = {
    "messages": Spoken({"model": "m", "max_tokens": 9, "messages": []}, BLOCKS, objects=True),
    "responses": Spoken({"model": "m", "input": []}, ["error", *(f"response.{kind}" for kind in ITEMS)]),
}


def written(name: str, answer: ModelAnswer, *, stream: bool, piece: int | None = 8) -> bytes:
    spoken = DIALECTS[name]
    request = dialect(name).read_request({**spoken.request, "stream": stream})
    return b"".join(dialect(name).write_answer(answer, request, piece=piece))


def read_stream(name: str, body: bytes) -> Reading:
    return read_response(name, body, stream=True)


@for_each("name", DIALECTS)
@given(ANSWERS, st.sampled_from([1, 8, None]))
@settings(max_examples=examples(0.5))
def test_what_is_written_is_read_again(name: str, answer: ModelAnswer, piece: int | None) -> None:
    spoken = DIALECTS[name]
    streamed = read_stream(name, written(name, answer, stream=True, piece=piece))
    whole = dialect(name).read_body(written(name, answer, stream=False))
    for reading, loosely in ((streamed, False), (whole, spoken.objects)):
        assert (reading.problem, reading.notes) == (None, ())
        assert said(reading.answer, loosely=loosely) == said(answer, loosely=loosely)


@for_each("name", ["chat_completions", *DIALECTS])
@given(ANSWERS, st.sampled_from([1, 8, None]), st.sampled_from(["chat_completions", *DIALECTS]))
@settings(max_examples=examples(0.5))
def test_an_answer_that_is_written_as_it_is_read_is_the_same(
    name: str, answer: ModelAnswer, piece: int | None, source: str
) -> None:
    asked = {"stream": True, "messages": [], "input": [], "stream_options": {"include_usage": True}}
    reader = dialect(source).open_stream(())
    reader.pieces = pieces = []
    head = ModelAnswer(model="m", id="1", usage=usage_counts(0, 0))
    writer = dialect(name).open_writer(head, dialect(name).read_request(asked))
    body = b""
    for part in dialect(source).write_answer(answer, dialect(source).read_request(asked), piece=piece):
        reader.feed(part)
        body += b"".join(writer.add(kind, text) for kind, text in pieces)
        pieces.clear()
    read = reader.end().answer
    body += writer.end(replace(read, id="1"))
    stream = dialect(name).open_stream(())
    stream.feed(body)
    reading = stream.end()
    assert (reading.problem, reading.notes) == (None, ())
    assert said(replace(reading.answer, id="1")) == said(replace(read, id="1"))


@for_each("name", ["chat_completions", *DIALECTS])
def test_an_answer_that_ends_as_another_is_not_written(name: str) -> None:
    asked = dialect(name).read_request({"stream": True, "messages": [], "input": []})
    writer = dialect(name).open_writer(ModelAnswer(model="m", id="1"), asked)
    body = writer.add("text", "Hot")
    with pytest.raises(ValueError, match="does not match its beginning"):
        writer.end(ModelAnswer(content="Cold"))
    stream = dialect(name).open_stream(())
    stream.feed(body + writer.fail("it changed its mind", "server_error"))
    problem = stream.end().problem
    assert problem is not None
    assert (problem.kind, "changed its mind" in problem.message) == ("error_event", True)


@for_each("name", DIALECTS)
@given(ANSWERS, st.data())
@settings(max_examples=examples(0.3))
def test_a_stream_may_be_cut_anywhere(name: str, answer: ModelAnswer, data: st.DataObject) -> None:
    body = written(name, answer, stream=True)
    place = data.draw(st.integers(0, len(body)))
    reader = dialect(name).open_stream(())
    reader.feed(body[:place])
    reader.feed(body[place:])
    assert reader.end() == read_stream(name, body)
    assert (read_stream(name, body[:place]).problem is None) == (place >= len(body.rstrip()))


@for_each(("name", "kinds"), [(CHAT, ["chunk"]), *((name, spoken.kinds) for name, spoken in DIALECTS.items())])
def test_odd_streams_end_in_one_outcome(name: str, kinds: list[str]) -> None:
    @given(odd_events(kinds))
    @settings(max_examples=examples(1))
    def read(body: bytes) -> None:
        stream = dialect(name).open_stream(())
        stream.feed(body)
        reading = stream.end()
        assert (reading.problem is None) == (reading.outcome != "protocol_error")

    read()


@for_each("name", DIALECTS)
def test_strays_after_the_end_are_those_of_chat_completions(name: str) -> None:
    body = written(name, answer_to("find"), stream=True)
    assert read_stream(name, body + b"junk\n").notes == ("bytes_after_done",)
    assert read_stream(name, b"junk\n" + body).notes == ("line_without_field",)
    assert read_stream(name, body + b"data: [DONE]\n\n").notes == ()
