"""Odd calls in streams."""

from __future__ import annotations

from support.odd_vendor import COUNTED, DONE, SAID, call, chunk, pieces, stream, streamed, without_gaps
from support.odd_vendor.streams import VALID, first, more

BROKEN = ((False, ("invalid_json",)),)

STREAMED_CALLS = [
    streamed(
        "index as text", pieces({**call(), "index": "0"}), "tool_calls", found=("call_index_missing",), calls=VALID
    ),
    streamed("index begins with 1", pieces(first(index=1)), "tool_calls", found=("call_index_wrong",), calls=VALID),
    streamed(
        "index gap",
        pieces(first(), first(index=2, id="call_2")),
        "tool_calls",
        found=("call_index_wrong",),
        calls=VALID * 2,
    ),
    streamed(
        "index always 0",
        pieces(first('{"city": "Oslo"}'), first('{"city": "Rome"}', id="call_2")),
        "tool_calls",
        found=("call_index_wrong",),
        calls=VALID * 2,
    ),
    streamed(
        "id changes",
        pieces(first('{"city": '), more('"Oslo"}', id="call_9")),
        "tool_calls",
        found=("call_id_changed",),
        calls=VALID,
    ),
    streamed(
        "id comes late",
        pieces(without_gaps({**first('{"city": '), "id": ...}), more('"Oslo"}', id="call_1")),
        "tool_calls",
        calls=VALID,
        absent=("call_id_missing",),
    ),
    streamed("id a number", pieces(first(id=7)), "tool_calls", found=("call_id_not_text",)),
    streamed("arguments null first", pieces(first(None), more('{"city": "Oslo"}')), "tool_calls", calls=VALID),
    streamed(
        "arguments as object in pieces",
        pieces(first({}), more('{"city": "Oslo"}')),
        "tool_calls",
        found=("arguments_not_text",),
    ),
    streamed("{} then the arguments", pieces(first("{}"), more('{"city": "Oslo"}')), "tool_calls", calls=BROKEN),
    streamed(
        "arguments so far in each", pieces(first('{"city"'), more('{"city": "Oslo"}')), "tool_calls", calls=BROKEN
    ),
    streamed("escape cut", pieces(first('{"city": "\\u00'), more('e6"}')), "tool_calls", calls=VALID),
    streamed(
        "name null later",
        pieces(first('{"city": '), {"index": 0, "function": {"name": None, "arguments": '"Oslo"}'}}),
        "tool_calls",
        calls=VALID,
    ),
    streamed(
        "name empty later",
        pieces(first('{"city": '), {"index": 0, "function": {"name": "", "arguments": '"Oslo"}'}}),
        "tool_calls",
        calls=VALID,
    ),
    streamed(
        "name after the arguments",
        pieces(
            {"index": 0, "id": "1", "type": "function", "function": {"arguments": '{"city": "Oslo"}'}},
            {"index": 0, "function": {"name": "lookup"}},
        ),
        "tool_calls",
        calls=VALID,
    ),
    streamed(
        "no name",
        pieces({"index": 0, "id": "1", "type": "function", "function": {"arguments": '{"city": "Oslo"}'}}),
        "tool_calls",
        found=("call_function_missing",),
    ),
    streamed(
        "unknown tool",
        pieces({**first(), "function": {"name": "other", "arguments": "{}"}}),
        "tool_calls",
        found=("unknown_tool",),
    ),
    streamed("a piece is null", pieces(None, first()), "tool_calls", found=("call_not_object",), calls=VALID),
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
        found=("tokens_after_finish",),
        calls=VALID,
    ),
    streamed(
        "cut with length",
        pieces(first('{"city": "Os'), reason="length"),
        "other",
        calls=BROKEN,
        absent=("calls_with_other_finish",),
    ),
    streamed(
        "cut in the middle",
        stream(chunk({"role": "assistant", "tool_calls": [first('{"city": "O')]})),
        "protocol_error",
        "cut_stream",
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
        found=("legacy_function_call",),
    ),
    streamed(
        "function a string",
        pieces({"index": 0, "id": "1", "type": "function", "function": "lookup"}),
        "tool_calls",
        found=("call_function_missing",),
    ),
    streamed(
        "arguments that never come",
        pieces({"index": 0, "id": "call_1", "type": "function", "function": {"name": "lookup"}}),
        "tool_calls",
        found=("arguments_missing",),
        calls=BROKEN,
    ),
    streamed("arguments that are null", pieces(first(None)), "tool_calls", found=("arguments_missing",), calls=BROKEN),
    streamed("arguments that are empty", pieces(first("")), "tool_calls", absent=("arguments_missing",), calls=BROKEN),
    streamed(
        "name and id in every piece",
        pieces(first('{"city": '), first('"Oslo"}'), first("")),
        "tool_calls",
        absent=("call_index_wrong", "call_id_changed"),
        calls=VALID,
    ),
]
