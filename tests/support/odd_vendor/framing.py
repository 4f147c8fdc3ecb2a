"""Odd events and chunks."""

from __future__ import annotations

import json
from typing import Any

from support.odd_vendor import (
    COUNTED,
    DONE,
    ENDED,
    EVENTS,
    HEAD,
    SAID,
    TEXT,
    USAGE,
    broken_stream,
    chunk,
    reply,
    stream,
    streamed,
    without_gaps,
)
from support.odd_vendor.http import chunked
from support.odd_vendor.messages import said
from support.odd_vendor.streams import BODY, WHOLE, as_events, whole

TWO = ("It is ", "sunny in Oslo today.")


def part(index: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "finish_reason": reason}


def several(*choices: dict[str, Any]) -> dict[str, Any]:
    return {**HEAD, "object": "chat.completion.chunk", "choices": list(choices)}


FRAMING = [
    broken_stream("data empty", stream(SAID[0], b"data\n\n", *WHOLE[1:]), "malformed_event"),
    broken_stream("[DONE] in quotes", stream(*WHOLE[:-1], b'data: "[DONE]"\n\n'), "malformed_event"),
    broken_stream("[done]", stream(*WHOLE[:-1], b"data: [done]\n\n"), "malformed_event"),
    streamed("[DONE] with spaces", stream(*WHOLE[:-1], b"data:   [DONE]  \n\n"), also=whole),
    streamed("[DONE] called done", stream(*WHOLE[:-1], b"event: done\ndata: [DONE]\n\n"), also=whole),
    broken_stream("[DONE] at once", stream(DONE), "no_finish_reason"),
    broken_stream("[DONE] without data:", stream(*WHOLE[:-1], b"[DONE]\n\n"), "no_done"),
    streamed("three blank lines", as_events(BODY.replace(b"\n\n", b"\n\n\n\n")), also=whole),
    streamed("mixed line ends", as_events(BODY.replace(b"\n\n", b"\r\n\n", 2)), also=whole),
    streamed("a tab after the colon", as_events(BODY.replace(b"data: ", b"data:\t")), also=whole),
    streamed("two spaces", as_events(BODY.replace(b"data: ", b"data:  ")), also=whole),
    broken_stream("Data in capitals", as_events(BODY.replace(b"data: ", b"Data: ")), "empty_stream"),
    broken_stream("space before the colon", as_events(BODY.replace(b"data: ", b"data : ")), "empty_stream"),
    streamed("comment within an event", as_events(BODY.replace(b"\n\n", b"\n: x\n\n")), also=whole),
    streamed("retry alone", stream(SAID[0], b"retry: 10\n\n", *WHOLE[1:]), also=whole),
    streamed("id with NUL", stream(SAID[0], b"id: \0\n\n", *WHOLE[1:]), also=whole),
    streamed(
        "ping event",
        stream(SAID[0], b'event: ping\ndata: {"type": "ping"}\n\n', *WHOLE[1:]),
        found="choices_not_list",
        also=whole,
    ),
    broken_stream("not UTF-8", as_events(BODY.replace(b"Oslo", b"Oslo\xff")), "malformed_event"),
    streamed("type in capitals", reply(body=BODY, kind="TEXT/EVENT-STREAM; charset=UTF-8"), also=whole),
    broken_stream(
        "ndjson",
        reply(body=b"".join(json.dumps(p).encode() + b"\n" for p in WHOLE[:-1]), kind="application/x-ndjson"),
        "wrong_content_type",
    ),
    streamed(
        "bytes one at a time",
        reply("Transfer-Encoding: chunked", body=chunked(*(BODY[i : i + 1] for i in range(len(BODY)))), kind=EVENTS),
        also=whole,
    ),
    streamed(
        "ends with the connection inside chunks after DONE",
        reply("Transfer-Encoding: chunked", body=chunked(BODY, last=b""), kind=EVENTS),
        also=whole,
    ),
    streamed("length too long", reply(f"Content-Length: {len(BODY) + 9}", body=BODY, kind=EVENTS), also=whole),
    broken_stream("a list of chunks in one event", stream([*SAID, ENDED], DONE), "malformed_event"),
    broken_stream(
        "two objects in one event",
        stream(b"data: " + json.dumps(SAID[0]).encode() + json.dumps(SAID[1]).encode() + b"\n\n", ENDED, DONE),
        "malformed_event",
    ),
    broken_stream("NaN", stream(*SAID, b'data: {"choices": [], "x": NaN}\n\n', ENDED, DONE), "malformed_event"),
    broken_stream("null event", stream(*SAID, b"data: null\n\n", ENDED, DONE), "malformed_event"),
    streamed(
        "whole message in one chunk",
        stream(chunk({"role": "assistant", "content": TEXT}, "stop", usage=USAGE), DONE),
        also=whole,
    ),
    broken_stream(
        "message instead of delta",
        stream({**chunk(), "choices": [{"index": 0, "message": said(TEXT), "finish_reason": "stop"}]}, DONE),
        "null_message",
    ),
    streamed(
        "azure's first chunk",
        stream({"id": "", "model": "", "object": "", "created": 0, "choices": [], "prompt_filter_results": []}, *WHOLE),
        absent=("id_changed", "model_changed"),
        also=whole,
    ),
    streamed(
        "role in each chunk",
        stream(*(chunk({"role": "assistant", "content": t}) for t in TWO), ENDED, COUNTED, DONE),
        also=whole,
    ),
    streamed(
        "another role later",
        stream(
            chunk({"role": "assistant", "content": "It is "}),
            chunk({"role": "user", "content": "sunny in Oslo today."}),
            ENDED,
            COUNTED,
            DONE,
        ),
        found="role_wrong",
    ),
    streamed(
        "time changes",
        stream(SAID[0], {**SAID[1], "created": 1767225609}, ENDED, COUNTED, DONE),
        found="created_changed",
    ),
    streamed(
        "id missing in one",
        stream(SAID[0], without_gaps({**SAID[1], "id": ...}), ENDED, COUNTED, DONE),
        found="chunk_field_missing",
    ),
    streamed(
        "all ids missing", stream(*(without_gaps({**p, "id": ...}) for p in WHOLE[:-1]), DONE), found="field_missing"
    ),
    broken_stream("finish reason a number", stream(*SAID, chunk({}, 1), COUNTED, DONE), "no_finish_reason"),
    streamed(
        "finish reason in each chunk",
        stream(*(chunk({"content": t}, "stop") for t in TWO), COUNTED, DONE),
        found="tokens_after_finish",
        also=whole,
    ),
    streamed("reason twice", stream(*SAID, ENDED, ENDED, COUNTED, DONE), also=whole),
    streamed(
        "reason of its own", stream(*SAID, chunk({}, "eos"), COUNTED, DONE), "other", found="finish_reason_unknown"
    ),
    broken_stream("reason empty", stream(*SAID, chunk({}, ""), COUNTED, DONE), "no_finish_reason"),
    streamed(
        "usage first",
        stream({**chunk({"role": "assistant", "content": ""}), "usage": USAGE}, *SAID, ENDED, DONE),
        also=lambda row: row["total_tokens"] == 39,
    ),
    streamed(
        "usage grows",
        stream(
            *(
                {**p, "usage": {**USAGE, "completion_tokens": n, "total_tokens": 30 + n}}
                for n, p in enumerate((*SAID, ENDED), 1)
            ),
            COUNTED,
            DONE,
        ),
        also=lambda row: row["completion_tokens"] == 9,
    ),
    streamed("usage after the end", stream(*SAID, ENDED, DONE, COUNTED), found=("events_after_done", "usage_missing")),
    streamed("usage as text", stream(*SAID, ENDED, {**COUNTED, "usage": "39"}, DONE), found="usage_missing"),
    streamed(
        "usage chunk without choices",
        stream(*SAID, ENDED, without_gaps({**COUNTED, "choices": ...}), DONE),
        found="choices_not_list",
        also=lambda row: row["total_tokens"] == 39,
    ),
    streamed(
        "a choice that is null", stream({**chunk(), "choices": [None]}, *WHOLE), found="choice_not_object", also=whole
    ),
    streamed(
        "content a number",
        stream(chunk({"role": "assistant", "content": 7}), *WHOLE),
        found="content_not_text",
        also=whole,
    ),
    streamed(
        "content an object",
        stream(chunk({"role": "assistant", "content": {"text": "x"}}), *WHOLE),
        found="content_not_text",
    ),
    streamed(
        "delta a list",
        stream({**chunk(), "choices": [{"index": 0, "delta": [], "finish_reason": None}]}, *WHOLE),
        also=whole,
    ),
    streamed(
        "two choices asked for, alternating",
        stream(
            *(several(part(i, {"content": t})) for t in TWO for i in (0, 1)),
            several(part(0, {}, "stop")),
            several(part(1, {}, "stop")),
            COUNTED,
            DONE,
        ),
        request={"n": 2},
        also=whole,
    ),
    streamed(
        "two choices, one without a reason",
        stream(
            *(several(part(0, {"content": t}), part(1, {"content": t})) for t in TWO),
            several(part(0, {}, "stop")),
            COUNTED,
            DONE,
        ),
        request={"n": 2},
        found="choice_incomplete",
    ),
    streamed("one choice of two", stream(*WHOLE), request={"n": 2}, found="wrong_number_of_choices"),
    streamed(
        "begins with choice 1",
        stream(*(several(part(1, {"content": t})) for t in TWO), several(part(1, {}, "stop")), COUNTED, DONE),
        found="choice_index_wrong",
    ),
    streamed(
        "logprobs a list",
        stream({**chunk(), "choices": [{**part(0, {"content": "x"}), "logprobs": [1]}]}, *WHOLE),
        found="logprobs_wrong",
    ),
    broken_stream("no blank lines", as_events(BODY.replace(b"\n\n", b"\n")), "malformed_event"),
    streamed(
        "a byte-order mark in the data",
        stream(SAID[0], b"data: \xef\xbb\xbf" + json.dumps(SAID[1]).encode() + b"\n\n", *WHOLE[2:]),
        found="byte_order_mark",
        also=whole,
    ),
    streamed(
        "a finish reason that is empty",
        stream(*(chunk({"role": "assistant", "content": t}, "") for t in TWO), ENDED, COUNTED, DONE),
        found="finish_reason_unknown",
        also=whole,
    ),
    streamed(
        "text instead of delta",
        stream(*(several({"index": 0, "text": t, "finish_reason": None}) for t in TWO), ENDED, COUNTED, DONE),
        found="delta_missing",
        also=whole,
    ),
    streamed(
        "a choice without delta",
        stream(*SAID, several({"index": 0, "finish_reason": "stop"}), COUNTED, DONE),
        found="delta_missing",
        also=whole,
    ),
]
