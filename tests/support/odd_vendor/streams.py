"""Odd streams."""

from __future__ import annotations

import json
from typing import Any

from support.odd_vendor import (
    COUNTED,
    DONE,
    ENDED,
    RIGHT,
    SAID,
    TEXT,
    USAGE,
    broken_stream,
    call,
    chunk,
    content,
    events,
    pieced,
    pieces,
    reply,
    stream,
    streamed,
    unfit,
)

WHOLE = (*SAID, ENDED, COUNTED, DONE)
BODY = events(*WHOLE)
ERROR = {"error": {"message": "Provider returned error", "code": 502}}
VALID = ((True, ()),)
DETAILS = chunk(
    {"role": "assistant", "content": "", "reasoning_details": [{"type": "reasoning.text", "text": "Let me see."}]}
)


def first(arguments: Any = '{"city": "Oslo"}', **fields: Any) -> dict[str, Any]:
    return {**call(arguments), "index": 0, **fields}


def more(arguments: Any, **fields: Any) -> dict[str, Any]:
    return {"index": 0, "function": {"arguments": arguments}, **fields}


def whole(row: dict[str, Any]) -> bool:
    return bool(content(row) == TEXT)


def as_events(body: bytes) -> bytes:
    return reply(body=body, kind="text/event-stream")


STREAMS = [
    streamed(f"{RIGHT}: a stream", stream(*WHOLE), also=lambda row: whole(row) and row["ttft_ms"] is not None),
    pieced(f"{RIGHT}: a streamed call", first('{"city'), more('": "Oslo"}'), calls=VALID),
    streamed(
        f"{RIGHT}: the reason with the last text",
        stream(SAID[0], chunk({"content": "sunny in Oslo today."}, "stop"), COUNTED, DONE),
        also=whole,
    ),
    streamed(
        f"{RIGHT}: usage all along",
        stream(
            *({**part, "usage": {**USAGE, "completion_tokens": 1, "total_tokens": 31}} for part in SAID),
            ENDED,
            COUNTED,
            DONE,
        ),
        also=lambda row: whole(row) and row["completion_tokens"] == 9,
    ),
    streamed(f"{RIGHT}: lines that end in CRLF", as_events(BODY.replace(b"\n", b"\r\n")), also=whole),
    streamed(f"{RIGHT}: lines that end in CR", as_events(BODY.replace(b"\n", b"\r")), also=whole),
    streamed(
        f"{RIGHT}: comments to stay connected",
        stream(b": ping\n\n", SAID[0], b":\n\n: OPENROUTER PROCESSING\n\n", *WHOLE[1:]),
        also=whole,
    ),
    streamed(f"{RIGHT}: no space after the colon", as_events(BODY.replace(b"data: ", b"data:")), also=whole),
    streamed(
        f"{RIGHT}: fields beside the data",
        as_events(BODY.replace(b"data: ", b"id: 1\nretry: 100\nevent: message\ndata: ")),
        also=whole,
    ),
    streamed(
        f"{RIGHT}: data in two lines",
        stream(
            *SAID,
            b"data: " + json.dumps(ENDED).encode().replace(b', "choices"', b',\ndata: "choices"') + b"\n\n",
            COUNTED,
            DONE,
        ),
    ),
    streamed(f"{RIGHT}: events with no text", stream(chunk({"role": "assistant", "content": ""}), *WHOLE)),
    streamed(
        f"{RIGHT}: usage that is null until the end",
        stream(*({**part, "usage": None} for part in (*SAID, ENDED)), COUNTED, DONE),
        also=lambda row: row["total_tokens"] == 39,
    ),
    pieced(
        f"{RIGHT}: two calls in turn",
        first('{"city": "Oslo"}'),
        first('{"city": "Rome"}', index=1, id="call_2"),
        calls=VALID * 2,
    ),
    pieced(
        f"{RIGHT}: calls in pieces that alternate",
        first('{"city": '),
        first('{"city": ', index=1, id="call_2"),
        more('"Oslo"}'),
        more('"Rome"}', index=1),
        calls=VALID * 2,
    ),
    streamed(
        f"{RIGHT}: reasoning first",
        stream(chunk({"role": "assistant", "reasoning_content": "Let me see."}), *WHOLE),
        also=lambda row: row["response"]["choices"][0]["message"]["reasoning_content"] == "Let me see.",
    ),
    streamed(
        f"{RIGHT}: a refusal",
        stream(chunk({"role": "assistant", "refusal": "I cannot "}), chunk({"refusal": "help."}), ENDED, COUNTED, DONE),
        also=lambda row: row["response"]["choices"][0]["message"]["refusal"] == "I cannot help.",
    ),
    # The bytes.
    streamed("a byte-order mark", as_events(b"\xef\xbb\xbf" + BODY), found="byte_order_mark", also=whole),
    streamed(
        "a byte-order mark before a call",
        as_events(b"\xef\xbb\xbf" + events(chunk({"tool_calls": [first()]}), chunk({}, "tool_calls"), COUNTED, DONE)),
        "tool_calls",
        calls=VALID,
    ),
    streamed("bytes after the end", stream(*WHOLE, b"garbage\n\x00\x01"), found="bytes_after_done", also=whole),
    streamed("events after the end", stream(*WHOLE, SAID[0]), found="events_after_done", also=whole),
    streamed("the end twice", stream(*WHOLE, DONE), found="events_after_done"),
    streamed(
        "a line that is no field", stream(SAID[0], b"hello\n\n", *WHOLE[1:]), found="line_without_field", also=whole
    ),
    streamed(
        "the end without a blank line", stream(*WHOLE[:-1], b"data: [DONE]"), found="last_event_unfinished", also=whole
    ),
    broken_stream("no end", stream(*WHOLE[:-1]), "no_done"),
    broken_stream("an end without a reason", stream(*SAID, DONE), "no_finish_reason"),
    broken_stream(
        "a stop in the middle",
        stream(*SAID),
        "cut_stream",
        also=lambda row: row["response"]["partial"]["choices"][0]["message"]["content"] == TEXT,
    ),
    broken_stream("a stop in the middle of an event", as_events(BODY[:-260]), "cut_stream"),
    broken_stream("no events", as_events(b""), "empty_stream"),
    broken_stream("comments only", as_events(b": ping\n\n: ping\n\n"), "empty_stream"),
    broken_stream(
        "an event that is not JSON", stream(SAID[0], b'data: {"choices": [\n\n', ENDED, DONE), "malformed_event"
    ),
    broken_stream("an event that is a number", stream(SAID[0], b"data: 7\n\n", ENDED, DONE), "malformed_event"),
    streamed(
        "a character cut by chunks",
        as_events(BODY.replace(b"sunny", "søñ☀".encode())),
        also=lambda row: "søñ☀" in content(row),
    ),
    streamed(
        "one line of a megabyte",
        stream(chunk({"role": "assistant", "content": "sunny day. " * 95_000}), *WHOLE[1:]),
        found="completion_tokens_too_few",
    ),
    broken_stream("a stream without its type", reply(body=BODY, kind=""), "wrong_content_type"),
    broken_stream("a stream that calls itself text", reply(body=BODY, kind="text/plain"), "wrong_content_type"),
    broken_stream("a whole body instead", reply(body=json.dumps({"choices": []}).encode()), "wrong_content_type"),
    # Errors.
    broken_stream("an error in the middle", stream(*SAID, ERROR, DONE), "error_event"),
    broken_stream(
        "an error beside choices",
        stream(*SAID, {**chunk({}, "error"), **ERROR}, DONE),
        "error_event",
        found="error_event",
    ),
    broken_stream("the finish reason error", stream(*SAID, chunk({}, "error"), COUNTED, DONE), "error_event"),
    broken_stream(
        "an event called error",
        stream(*SAID, b'event: error\ndata: {"message": "overloaded"}\n\n', DONE),
        "error_event",
    ),
    # The chunks.
    streamed(
        "reasoning_details",
        stream(DETAILS, *WHOLE),
        also=lambda row: row["response"]["choices"][0]["message"]["reasoning_details"][0]["text"] == "Let me see.",
    ),
    streamed(
        "reasoning_details alone",
        stream(DETAILS, ENDED, COUNTED, DONE),
        found="empty_answer",
        also=lambda row: row["ttft_ms"] is not None,
    ),
    streamed(
        "text after the reason", stream(SAID[0], ENDED, SAID[1], COUNTED, DONE), found="tokens_after_finish", also=whole
    ),
    streamed(
        "two reasons", stream(*SAID, ENDED, chunk({}, "length"), COUNTED, DONE), "other", found="finish_reason_changed"
    ),
    streamed(
        "an id that changes", stream(SAID[0], {**SAID[1], "id": "chatcmpl-2"}, ENDED, COUNTED, DONE), found="id_changed"
    ),
    streamed(
        "a model that changes",
        stream(SAID[0], {**SAID[1], "model": "other"}, ENDED, COUNTED, DONE),
        found="model_changed",
    ),
    streamed(
        "an object that is another",
        stream(*({**part, "object": "chat.completion"} for part in WHOLE[:-1]), DONE),
        found="object_wrong",
    ),
    streamed(
        "a choice without an index",
        stream(
            *({**part, "choices": [{"delta": part["choices"][0]["delta"], "finish_reason": None}]} for part in SAID),
            ENDED,
            COUNTED,
            DONE,
        ),
        found="choice_index_missing",
        also=whole,
    ),
    streamed(
        "a text in parts",
        stream(chunk({"role": "assistant", "content": [{"type": "text", "text": TEXT}]}), ENDED, COUNTED, DONE),
        found="content_not_text",
        also=whole,
    ),
    broken_stream(
        "deltas that are null",
        stream({**ENDED, "choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}, DONE),
        "null_message",
    ),
    streamed(
        "chunks without choices",
        stream(SAID[0], {**chunk(), "choices": None}, *WHOLE[1:]),
        found="choices_not_list",
        also=whole,
    ),
    streamed(
        "no text at all",
        stream(chunk({"role": "assistant", "content": ""}), ENDED, COUNTED, DONE),
        found="empty_answer",
    ),
    streamed("no usage", stream(*SAID, ENDED, DONE), found="usage_missing"),
    streamed(
        "usage of another place",
        stream(*SAID, {**ENDED, "x_groq": {"usage": USAGE}}, DONE),
        also=lambda row: row["total_tokens"] == 39,
    ),
    streamed(
        "two choices, one asked for",
        stream(
            *(
                {**part, "choices": [{**part["choices"][0], "index": index} for index in (0, 1)]}
                for part in (*SAID, ENDED)
            ),
            COUNTED,
            DONE,
        ),
        found="wrong_number_of_choices",
        also=whole,
    ),
    streamed("another model", stream(*({**part, "model": "other"} for part in WHOLE[:-1]), DONE), found="other_model"),
    # Calls.
    pieced("arguments as an object", first({"city": "Oslo"}), found="arguments_not_text"),
    pieced("a call without an id", first(id=None), found="call_id_missing", calls=VALID),
    pieced("two calls with one id", first(), first(index=1), found="call_id_duplicate"),
    pieced("calls without an index", call(), call(id="call_2"), found="call_index_missing", calls=VALID * 2),
    pieced("calls in the wrong order", first(index=1, id="call_2"), first(), calls=VALID * 2),
    pieced(
        "a call without a type",
        {"index": 0, "id": "1", "function": {"name": "lookup", "arguments": '{"city": "Oslo"}'}},
        found="call_type_missing",
        calls=VALID,
    ),
    pieced(
        "the name again in each piece",
        first('{"city": '),
        {"index": 0, "function": {"name": "lookup", "arguments": '"Oslo"}'}},
        calls=VALID,
    ),
    pieced(
        "the name in two pieces",
        {"index": 0, "id": "1", "type": "function", "function": {"name": "look", "arguments": ""}},
        {"index": 0, "function": {"name": "up", "arguments": '{"city": "Oslo"}'}},
        calls=VALID,
    ),
    pieced("the id again in each piece", first('{"city": '), more('"Oslo"}', id="call_1"), calls=VALID),
    streamed(
        "a legacy function_call",
        stream(
            chunk({"role": "assistant", "function_call": {"name": "lookup", "arguments": '{"city'}}),
            chunk({"function_call": {"arguments": '": "Oslo"}'}}),
            chunk({}, "function_call"),
            COUNTED,
            DONE,
        ),
        "tool_calls",
        found="legacy_function_call",
        calls=VALID,
    ),
    streamed(
        "tool_calls as an object",
        stream(chunk({"role": "assistant", "tool_calls": first()}), chunk({}, "tool_calls"), COUNTED, DONE),
        "tool_calls",
        found=("tool_calls_not_list", "tool_calls_without_calls"),
    ),
    streamed("calls with stop", pieces(first(), reason="stop"), found="calls_with_other_finish", calls=VALID),
    streamed(
        "the reason without calls",
        stream(*SAID, chunk({}, "tool_calls"), COUNTED, DONE),
        "tool_calls",
        found="tool_calls_without_calls",
    ),
    pieced("arguments that are cut", first('{"city": "Os'), calls=unfit("invalid_json")),
    pieced("a call that has no arguments", first(""), calls=unfit("invalid_json")),
    streamed(
        "a leaked call",
        stream(
            chunk({"role": "assistant", "content": "<tool_"}),
            chunk({"content": 'call>{"name": "lookup"}'}),
            ENDED,
            COUNTED,
            DONE,
        ),
        found="leaked_tool_call",
    ),
]
