"""Odd calls in streams."""

from __future__ import annotations

from support.odd_vendor import (
    COUNTED,
    DONE,
    SAID,
    broken_stream,
    call,
    chunk,
    pieced,
    pieces,
    stream,
    streamed,
    without_gaps,
)
from support.odd_vendor.streams import VALID, first, more

BROKEN = ((False, ("invalid_json",)),)

STREAMED_CALLS = [
    pieced("index as text", {**call(), "index": "0"}, found="call_index_missing", calls=VALID),
    pieced("index begins with 1", first(index=1), found="call_index_wrong", calls=VALID),
    pieced("index gap", first(), first(index=2, id="call_2"), found="call_index_wrong", calls=VALID * 2),
    pieced(
        "index always 0",
        first('{"city": "Oslo"}'),
        first('{"city": "Rome"}', id="call_2"),
        found="call_index_wrong",
        calls=VALID * 2,
    ),
    pieced("id changes", first('{"city": '), more('"Oslo"}', id="call_9"), found="call_id_changed", calls=VALID),
    pieced(
        "id comes late",
        without_gaps({**first('{"city": '), "id": ...}),
        more('"Oslo"}', id="call_1"),
        calls=VALID,
        absent="call_id_missing",
    ),
    pieced("id a number", first(id=7), found="call_id_not_text"),
    pieced("arguments null first", first(None), more('{"city": "Oslo"}'), calls=VALID),
    pieced("arguments as object in pieces", first({}), more('{"city": "Oslo"}'), found="arguments_not_text"),
    pieced("{} then the arguments", first("{}"), more('{"city": "Oslo"}'), calls=BROKEN),
    pieced("arguments so far in each", first('{"city"'), more('{"city": "Oslo"}'), calls=BROKEN),
    pieced("escape cut", first('{"city": "\\u00'), more('e6"}'), calls=VALID),
    pieced(
        "name null later",
        first('{"city": '),
        {"index": 0, "function": {"name": None, "arguments": '"Oslo"}'}},
        calls=VALID,
    ),
    pieced(
        "name empty later",
        first('{"city": '),
        {"index": 0, "function": {"name": "", "arguments": '"Oslo"}'}},
        calls=VALID,
    ),
    pieced(
        "name after the arguments",
        {"index": 0, "id": "1", "type": "function", "function": {"arguments": '{"city": "Oslo"}'}},
        {"index": 0, "function": {"name": "lookup"}},
        calls=VALID,
    ),
    pieced(
        "no name",
        {"index": 0, "id": "1", "type": "function", "function": {"arguments": '{"city": "Oslo"}'}},
        found="call_function_missing",
    ),
    pieced("unknown tool", {**first(), "function": {"name": "other", "arguments": "{}"}}, found="unknown_tool"),
    pieced("a piece is null", None, first(), found="call_not_object", calls=VALID),
    streamed(
        "null between",
        stream(
            chunk({"role": "assistant", "tool_calls": None}),
            chunk({"tool_calls": [first()]}),
            chunk({"tool_calls": []}),
            chunk({}, "tool_calls"),
            COUNTED,
            DONE,
        ),
        "tool_calls",
        calls=VALID,
    ),
    streamed(
        "text and then a call",
        stream(*SAID, chunk({"tool_calls": [first()]}), chunk({}, "tool_calls"), COUNTED, DONE),
        "tool_calls",
        calls=VALID,
    ),
    streamed(
        "after the reason",
        stream(
            chunk({"role": "assistant", "content": None}),
            chunk({}, "tool_calls"),
            chunk({"tool_calls": [first()]}),
            COUNTED,
            DONE,
        ),
        "tool_calls",
        found="tokens_after_finish",
        calls=VALID,
    ),
    streamed(
        "cut with length",
        pieces(first('{"city": "Os'), reason="length"),
        "other",
        calls=BROKEN,
        absent="calls_with_other_finish",
    ),
    broken_stream(
        "cut in the middle", stream(chunk({"role": "assistant", "tool_calls": [first('{"city": "O')]})), "cut_stream"
    ),
    streamed(
        "both forms",
        stream(
            chunk(
                {"role": "assistant", "tool_calls": [first()], "function_call": {"name": "lookup", "arguments": "{}"}}
            ),
            chunk({}, "tool_calls"),
            COUNTED,
            DONE,
        ),
        "tool_calls",
        found="legacy_function_call",
    ),
    pieced(
        "function a string",
        {"index": 0, "id": "1", "type": "function", "function": "lookup"},
        found="call_function_missing",
    ),
    pieced(
        "arguments that never come",
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "lookup"}},
        found="arguments_missing",
        calls=BROKEN,
    ),
    pieced("arguments that are null", first(None), found="arguments_missing", calls=BROKEN),
    pieced("arguments that are empty", first(""), absent="arguments_missing", calls=BROKEN),
    pieced(
        "name and id in every piece",
        first('{"city": '),
        first('"Oslo"}'),
        first(""),
        absent=("call_index_wrong", "call_id_changed"),
        calls=VALID,
    ),
]
