"""Streamed answers of each dialect end in one outcome, and are put together whatever vendors send."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.wire import Reading, usage_counts
from trialbed.wire.dialects import CHAT, dialect

DONE = b"data: [DONE]\n\n"
NAMES = ("get_weather", "get_time")


def event(document: Any) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def typed(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields})


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def piece(**fields: Any) -> bytes:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return delta(tool_calls=[{**fields, "function": function}])


def reading(*chunks: bytes, name: str = CHAT, cut: str | None = None) -> Reading:
    stream = dialect(name).open_stream(NAMES)
    for number, chunk in enumerate(chunks, 1):
        stream.feed(chunk, float(number))
    return stream.end(99.0, cut)


HI, STOP = delta(content="a"), delta("stop")
START = typed("message_start", message={"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 5}})
BLOCK = typed("content_block_start", index=0, content_block={"type": "text", "text": ""})
TEXT = typed("content_block_delta", index=0, delta={"type": "text_delta", "text": "hi"})
LAST = typed("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
OVER = typed("message_stop")
OVERLOADED = typed("error", error={"type": "overloaded_error", "message": "no"})
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
CREATED = typed("response.created", response={"id": "resp_1", "status": "in_progress", "output": []})
ADDED = typed("response.output_item.added", output_index=0, item={**ITEM, "content": []})
SAID = typed("response.output_text.delta", output_index=0, content_index=0, delta="hi")
COMPLETED = typed("response.completed", response={"id": "resp_1", "status": "completed", "output": [ITEM]})
EMPTY = typed("response.completed", response={"id": "resp_1", "status": "completed", "output": []})
FAILED = typed("response.failed", response={"status": "failed", "error": {"code": "server_error", "message": "no"}})
NULL = event({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]})
STREAMS: list[tuple[str, list[bytes], str | None]] = [
    (CHAT, [HI, STOP, DONE], None),
    (CHAT, [STOP, DONE], None),
    (CHAT, [HI, delta("length"), DONE], None),
    (CHAT, [piece(index=0, id="1", name="get_time", arguments="{}"), delta("tool_calls"), DONE], None),
    (CHAT, [HI, STOP], "no_done"),
    (CHAT, [HI, DONE], "no_finish_reason"),
    (CHAT, [DONE], "no_finish_reason"),
    (CHAT, [HI], "cut_stream"),
    (CHAT, [b": ping\n\n"], "empty_stream"),
    (CHAT, [HI, b"data: {oops\n\n", STOP, DONE], "malformed_event"),
    (CHAT, [b"data: 7\n\n", STOP, DONE], "malformed_event"),
    (CHAT, [HI, event({"error": {"message": "no"}}), DONE], "error_event"),
    (CHAT, [HI, b'event: error\ndata: {"message": "no"}\n\n', DONE], "error_event"),
    (CHAT, [NULL, DONE], "null_message"),
    (CHAT, [event({"choices": []}), DONE], "no_finish_reason"),
    ("messages", [START, BLOCK, TEXT, LAST, OVER], None),
    ("messages", [START, typed("ping"), BLOCK, typed("new_event"), TEXT, LAST, OVER, DONE], None),
    ("messages", [START, BLOCK, TEXT, LAST], "no_done"),
    ("messages", [START, BLOCK, TEXT, OVER], "no_finish_reason"),
    ("messages", [START, BLOCK, TEXT], "cut_stream"),
    ("messages", [LAST, OVER], "null_message"),
    ("messages", [START, OVERLOADED], "error_event"),
    ("messages", [START, b"data: {oops\n\n", LAST, OVER], "malformed_event"),
    ("responses", [CREATED, ADDED, SAID, COMPLETED], None),
    ("responses", [COMPLETED], None),
    ("responses", [CREATED, ADDED, SAID, EMPTY], None),
    ("responses", [CREATED, ADDED, b"data: {}\n\n", SAID, COMPLETED, DONE], None),
    ("responses", [CREATED, ADDED, SAID], "cut_stream"),
    ("responses", [CREATED, ADDED, SAID, FAILED], "error_event"),
    ("responses", [CREATED, SAID, typed("error", code="server_error", message="no")], "error_event"),
    ("responses", [CREATED, b"data: {oops\n\n"], "malformed_event"),
    ("responses", [typed("response.completed", response={"status": "completed"})], "null_message"),
    ("responses", [typed("response.completed", response={"output": []})], "no_finish_reason"),
    *((name, [], "empty_stream") for name in (CHAT, "messages", "responses")),
]


@for_each(("name", "chunks", "problem"), STREAMS)
def test_a_stream_is_an_answer_or_has_a_problem(name: str, chunks: list[bytes], problem: str | None) -> None:
    found = reading(*chunks, name=name)
    assert (found.problem and found.problem.kind) == problem
    assert (found.outcome == "protocol_error") == (problem is not None)
    # What came before a break is kept.
    words = {HI: "a", TEXT: "hi", SAID: "hi", COMPLETED: "hi"}
    assert found.answer.text == next((text for chunk, text in words.items() if chunk in chunks), "")


def test_why_a_stream_was_cut_is_told() -> None:
    found = reading(delta(content="half an "), delta(content="answer"), cut="the wire broke")
    assert found.problem is not None
    assert (found.answer.text, "the wire broke" in found.problem.message) == ("half an answer", True)


NAMED = piece(index=0, id="1", name="get_time", arguments="")
ROLE = delta(role="assistant", content="")


@for_each(
    ("name", "chunks", "first"),
    [
        *(
            (CHAT, [ROLE, delta(**fields), STOP, DONE], 2)
            for fields in (
                {"content": "x"},
                {"reasoning_content": "hm"},
                {"reasoning": "hm"},
                {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
                {"content": [{"type": "text", "text": "a"}, {"type": "image"}, 7]},
            )
        ),
        (CHAT, [ROLE, NAMED, delta("tool_calls"), DONE], None),
        ("messages", [START, BLOCK, TEXT, LAST, OVER], 3),
        ("responses", [CREATED, ADDED, SAID, COMPLETED], 3),
    ],
)
def test_the_first_token_is_text_arguments_or_reasoning(name: str, chunks: list[bytes], first: int | None) -> None:
    assert reading(*chunks, name=name).first_token == first


LLAMA = {"prompt_n": 14, "cache_n": 259, "predicted_n": 26}


@for_each(
    ("usage", "counted"),
    [
        ([event({"choices": [], "usage": {"total_tokens": 7}})], {"total_tokens": 7}),
        ([event({"choices": [{"index": 0, "delta": {}, "usage": {"total_tokens": 7}}]})], {"total_tokens": 7}),
        ([event({"usage": {"total_tokens": 3}}), event({"usage": {"total_tokens": 7}})], {"total_tokens": 7}),
        ([event({"timings": LLAMA})], {**usage_counts(273, 26), "cached_tokens": 259}),
        ([event({"timings": {**LLAMA, "predicted_n": "26"}})], None),
        ([event({"timings": LLAMA}), event({"usage": {"total_tokens": 7}})], {"total_tokens": 7}),
    ],
)
def test_usage_is_taken_from_where_vendors_put_it_the_last_counts(usage: list[bytes], counted: Any) -> None:
    assert reading(HI, STOP, *usage, DONE).answer.usage == counted


def test_zeros_of_messages_stand_for_a_usage_that_is_not_known() -> None:
    start = typed("message_start", message={"content": [], "usage": {"input_tokens": 0, "output_tokens": 0}})
    assert reading(start, name="messages").answer.usage is None
    assert reading(start, BLOCK, TEXT, LAST, OVER, name="messages").answer.usage == usage_counts(0, 2)


A, B = ("get_weather", "{}"), ("get_time", '{"a": 1}')
NEW, REST, EMPTY_ONES = {"index": 0, "id": "a", "name": A[0]}, {"index": 0, "arguments": "{}"}, {"arguments": "{}"}


@for_each(
    ("pieces", "calls"),
    [
        # By index, in the order of arrival.
        (
            [{"index": 1, "id": "b", "name": B[0], "arguments": '{"a"'}, NEW, {"index": 1, "arguments": ": 1}"}, REST],
            [("b", *B), ("a", *A)],
        ),
        # Without an index, an id or a name after whole arguments begins a call.
        (
            [{"id": "a", "name": A[0], "arguments": "{"}, {"arguments": "}"}, {"id": "b", "name": A[0], **EMPTY_ONES}],
            [("a", *A), ("b", *A)],
        ),
        ([{"name": A[0], **EMPTY_ONES}, {"name": B[0], "arguments": B[1]}], [(None, *A), (None, *B)]),
        # An index that is used again, for another call or another tool.
        ([{**NEW, **EMPTY_ONES}, {"index": 0, "id": "b", "name": B[0], "arguments": B[1]}], [("a", *A), ("b", *B)]),
        ([NEW, {"index": 0, "id": "b", "name": B[0], "arguments": B[1]}], [("a", A[0], ""), ("b", *B)]),
        # An id that is new with every piece.
        (
            [{"index": 0, "id": "a", "name": A[0]}, {"index": 0, "id": "b", "name": A[0], "arguments": "{}"}],
            [("a", *A)],
        ),
        # A name in fragments, or again and again.
        *(
            ([*({"index": 0, "id": "a", "name": name} for name in names), REST], [("a", *A)])
            for names in (["get_", "weather"], ["get_weather"] * 2, ["get", "get_weather"])
        ),
        ([{"index": 0, "id": "a", "name": "un"}, {"index": 0, "name": "known"}], [("a", "unknown", "")]),
    ],
)
def test_calls_are_put_together(pieces: list[dict[str, Any]], calls: list[tuple[str | None, str, str]]) -> None:
    found = reading(*(piece(**fields) for fields in pieces), delta("tool_calls"), DONE)
    assert found.response is not None
    made = found.response["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in made] == calls


def test_every_choice_is_kept_and_the_first_decides_whatever_its_number() -> None:
    for first in (0, 1):
        ends = [{"index": n + first, "delta": {"content": str(n)}, "finish_reason": end} for n, end in enumerate("xy")]
        found = reading(event({"choices": ends}), DONE)
        assert found.response is not None
        assert [choice["message"]["content"] for choice in found.response["choices"]] == ["0", "1"]
        assert (found.finish_reason, found.answer.text) == ("x", "0")


def test_oddities_are_noted_and_no_failure() -> None:
    late = reading(delta("stop", content="a"), delta(content="b"), DONE, delta(content="c"))
    assert late.outcome == "stop"
    assert {"tokens_after_finish", "events_after_done"} <= set(late.notes)
    assert '"content": "b"' in late.excerpts["tokens_after_finish"]
    lost = typed("content_block_delta", index=4, delta={"type": "text_delta", "text": "hi"})
    stray = typed("content_block_delta", delta={"type": "text_delta", "text": " there"})
    found = reading(START, BLOCK, stray, lost, LAST, OVER, name="messages")
    assert (found.answer.text, found.notes) == (" therehi", ("call_index_missing", "call_index_wrong"))


@for_each(
    "keys",
    [
        (["reasoning"], ["reasoning", "reasoning_content"], ["reasoning", "reasoning_content"]),
        (["reasoning"], ["reasoning_content"], ["reasoning"]),
        (["reasoning_content", "reasoning"], ["reasoning_content", "reasoning"], ["reasoning"]),
    ],
)
def test_reasoning_comes_once_and_whole_under_whatever_keys(keys: tuple[list[str], ...]) -> None:
    stream = dialect().open_stream(NAMES)
    stream.pieces = []
    for text, names in zip(("one ", "two ", "three"), keys, strict=True):
        stream.feed(delta(**dict.fromkeys(names, text)))
    assert stream.pieces == [("reasoning", "one "), ("reasoning", "two "), ("reasoning", "three")]


WORDS = st.text(max_size=20)


@given(
    WORDS,
    WORDS,
    st.lists(st.tuples(st.sampled_from(NAMES), st.dictionaries(WORDS, WORDS, max_size=3)), max_size=4),
    st.integers(1, 7),
    st.data(),
)
def test_any_message_cut_anywhere_comes_back_whole(
    content: str, thought: str, made: list[Any], step: int, data: st.DataObject
) -> None:
    def parts(text: str) -> list[str]:
        return [text[start : start + step] for start in range(0, len(text), step)]

    events = [ROLE, *(delta(reasoning_content=part) for part in parts(thought))]
    events += [delta(content=part) for part in parts(content)]
    for number, (name, arguments) in enumerate(made):
        events.append(piece(index=number, id=f"c{number}", type="function", name=name, arguments=""))
        events += [piece(index=number, arguments=part) for part in parts(json.dumps(arguments))]
    body = b"".join([*events, delta("tool_calls" if made else "stop"), DONE])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    found = reading(*(body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)))
    assert found.outcome == ("tool_calls" if made else "stop")
    assert (found.answer.text, found.answer.reasoning) == (content, thought)
    assert [(call.name, json.loads(call.arguments)) for call in found.answer.calls] == made
