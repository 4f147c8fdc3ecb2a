"""Errors that come with a status of success, and what only looks like one."""

from __future__ import annotations

from support.odd_vendor import (
    COUNTED,
    DONE,
    ENDED,
    EVENTS,
    SAID,
    Odd,
    body,
    broken,
    broken_stream,
    reply,
    stream,
    streamed,
)
from support.odd_vendor.streams import WHOLE, whole

ERRORS = [
    broken("as object error", reply(body=b'{"object": "error", "message": "overloaded", "code": 503}'), "error_body"),
    broken("detail", reply(body=b'{"detail": "Not found"}'), "error_body"),
    broken_stream("envelope instead of stream", reply(body=b'{"code": 20012, "message": "busy"}'), "error_body"),
    broken("number", reply(body=b'{"error": 1}'), "error_body"),
    broken("true beside choices", body(error=True), "error_body"),
    Odd("empty object", body(error={})),
    Odd("false", body(error=False)),
    Odd("in a list", body(errors=[{"message": "x"}])),
    broken("code only", body(error={"code": 502}), "error_body"),
    broken_stream("event with words", stream(*SAID, b"event: error\ndata: overloaded\n\n", DONE), "error_event"),
    broken_stream("first event", stream({"error": {"message": "x"}}), "error_event"),
    broken_stream(
        "object error event", stream(*SAID, {"object": "error", "message": "x", "code": 500}, DONE), "error_event"
    ),
    broken_stream("after the reason", stream(*SAID, ENDED, {"error": {"message": "x"}}, DONE), "error_event"),
    streamed("after the end", stream(*WHOLE, {"error": {"message": "x"}}), found="events_after_done"),
    streamed("null in each chunk", stream(*({**p, "error": None} for p in (*SAID, ENDED, COUNTED)), DONE), also=whole),
    broken_stream(
        "JSON error as event stream",
        reply(body=b'{"error": {"message": "overloaded"}}', kind=EVENTS),
        "empty_stream",
        also=lambda row: "overloaded" in row["problem"]["message"],
    ),
    broken_stream("HTML as event stream", reply(body=b"<html><body>502</body></html>", kind=EVENTS), "empty_stream"),
    broken_stream(
        "JSON error instead of stream",
        reply(body=b'{"error": {"message": "overloaded"}}'),
        "error_body",
        also=lambda row: "overloaded" in row["problem"]["message"],
    ),
]
