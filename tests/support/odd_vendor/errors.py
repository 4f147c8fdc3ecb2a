"""Errors that come with a status of success, and what only looks like one."""

from __future__ import annotations

from support.odd_vendor import COUNTED, DONE, ENDED, EVENTS, SAID, Odd, body, reply, stream, streamed
from support.odd_vendor.streams import WHOLE, whole

ERRORS = [
    Odd(
        "as object error",
        reply(body=b'{"object": "error", "message": "overloaded", "code": 503}'),
        "protocol_error",
        "error_body",
    ),
    Odd("detail", reply(body=b'{"detail": "Not found"}'), "protocol_error", "no_choices"),
    Odd("number", reply(body=b'{"error": 1}'), "protocol_error", "error_body"),
    Odd("true beside choices", body(error=True), "protocol_error", "error_body"),
    Odd("empty object", body(error={})),
    Odd("false", body(error=False)),
    Odd("in a list", body(errors=[{"message": "x"}])),
    Odd("code only", body(error={"code": 502}), "protocol_error", "error_body"),
    streamed(
        "event with words", stream(*SAID, b"event: error\ndata: overloaded\n\n", DONE), "protocol_error", "error_event"
    ),
    streamed("first event", stream({"error": {"message": "x"}}), "protocol_error", "error_event"),
    streamed(
        "object error event",
        stream(*SAID, {"object": "error", "message": "x", "code": 500}, DONE),
        "protocol_error",
        "error_event",
    ),
    streamed(
        "after the reason", stream(*SAID, ENDED, {"error": {"message": "x"}}, DONE), "protocol_error", "error_event"
    ),
    streamed("after the end", stream(*WHOLE, {"error": {"message": "x"}}), found=("events_after_done",)),
    streamed("null in each chunk", stream(*({**p, "error": None} for p in (*SAID, ENDED, COUNTED)), DONE), also=whole),
    streamed(
        "JSON error as event stream",
        reply(body=b'{"error": {"message": "overloaded"}}', kind=EVENTS),
        "protocol_error",
        "empty_stream",
        also=lambda row: "overloaded" in row["problem"]["message"],
    ),
    streamed(
        "HTML as event stream",
        reply(body=b"<html><body>502</body></html>", kind=EVENTS),
        "protocol_error",
        "empty_stream",
    ),
    streamed(
        "JSON error instead of stream",
        reply(body=b'{"error": {"message": "overloaded"}}'),
        "protocol_error",
        "wrong_content_type",
    ),
]
