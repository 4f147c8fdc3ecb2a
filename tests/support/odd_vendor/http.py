"""Odd ways to send an answer over HTTP."""

from __future__ import annotations

import gzip
import json
import zlib

from support.odd_vendor import (
    COUNTED,
    DONE,
    ENDED,
    EVENTS,
    RIGHT,
    SAID,
    TEXT,
    Odd,
    broken,
    broken_stream,
    content,
    document,
    events,
    reply,
    streamed,
)

BODY = json.dumps(document()).encode()
STREAM = events(*SAID, ENDED, COUNTED, DONE)
PACKED = gzip.compress(BODY)
# Random bytes in a comment keep the packed stream long, so that half of it is half of the events.
LONG = events(*SAID * 400, ENDED, COUNTED, DONE)
FOUR_HUNDRED = [f"X-Policy-{number}: on" for number in range(400)]
BYTES = "application/json"


def chunked(*parts: bytes, last: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + last


HTTP = [
    Odd(f"{RIGHT}: gzip", reply("Content-Encoding: gzip", body=PACKED)),
    Odd(f"{RIGHT}: deflate", reply("Content-Encoding: deflate", body=zlib.compress(BODY))),
    Odd(f"{RIGHT}: HTTP chunks", reply("Transfer-Encoding: chunked", body=chunked(BODY[:9], BODY[9:]))),
    Odd(f"{RIGHT}: 400 headers", reply(*FOUR_HUNDRED, body=BODY)),
    Odd(f"{RIGHT}: a header of 20 kB", reply(f"X-Policy: {'x' * 20_000}", body=BODY)),
    Odd(f"{RIGHT}: blank lines around the body", reply(body=b"\n\n " + BODY + b"\n\n")),
    Odd(f"{RIGHT}: a charset", reply(body=BODY, kind="application/json; charset=utf-8")),
    Odd(f"{RIGHT}: HTTP 201", reply(body=BODY, status="201 Created")),
    Odd(f"{RIGHT}: early hints", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply(body=BODY)),
    broken("NaN in the body", reply(body=BODY.replace(b"1767225600", b"NaN")), "malformed_body"),
    broken("an error that is a text", reply(body=b'{"error": "overloaded"}'), "error_body"),
    streamed(
        f"{RIGHT}: a stream in gzip",
        reply("Content-Encoding: gzip", body=gzip.compress(STREAM), kind=EVENTS),
        also=lambda row: content(row) == TEXT,
    ),
    streamed(
        f"{RIGHT}: a stream in odd chunks",
        reply(
            "Transfer-Encoding: chunked",
            body=chunked(*(STREAM[at : at + 7] for at in range(0, len(STREAM), 7))),
            kind=EVENTS,
        ),
        also=lambda row: content(row) == TEXT,
    ),
    streamed(f"{RIGHT}: a stream with 400 headers", reply(*FOUR_HUNDRED, body=STREAM, kind=EVENTS)),
    Odd("a byte-order mark", reply(body=b"\xef\xbb\xbf" + BODY), found="byte_order_mark"),
    Odd("a body in UTF-16", reply(body=BODY.decode().encode("utf-16")), found="body_not_utf8"),
    Odd("JSON that calls itself text", reply(body=BODY, kind="text/plain"), found="content_type_wrong"),
    Odd("JSON without a type", reply(body=BODY, kind=""), found="content_type_wrong"),
    broken("a byte that is not UTF-8", reply(body=BODY.replace(b"Oslo", b"Oslo\xff")), "malformed_body"),
    broken("a text behind the JSON", reply(body=BODY + b" thanks"), "malformed_body"),
    broken("half of the JSON", reply(body=BODY[:60]), "malformed_body"),
    broken("less than its length", reply(f"Content-Length: {len(BODY) + 5}", body=BODY), "cut_body"),
    broken("gzip that is cut", reply("Content-Encoding: gzip", body=PACKED[: len(PACKED) // 2]), "cut_body"),
    broken("gzip that is none", reply("Content-Encoding: gzip", body=BODY), "undecodable_body"),
    broken("brotli, which was not asked for", reply("Content-Encoding: br", body=BODY), "undecodable_body"),
    broken("chunks that are cut", reply("Transfer-Encoding: chunked", body=chunked(BODY[:50], last=b"")), "cut_body"),
    broken_stream(
        "a stream in gzip that is cut",
        reply("Content-Encoding: gzip", body=gzip.compress(LONG)[:200], kind=EVENTS),
        "cut_stream",
    ),
    broken_stream(
        "a stream in chunks that are cut",
        reply("Transfer-Encoding: chunked", body=chunked(STREAM[:300], last=b""), kind=EVENTS),
        "cut_stream",
    ),
    broken("a web page", reply(body=b"<!DOCTYPE html><h1>502</h1>", kind="text/html"), "html"),
    broken("a web page that calls itself JSON", reply(body=b"<html></html>"), "html"),
    broken("an empty body", reply(body=b""), "empty_body"),
    broken("no content", reply("Content-Length: 0", body=b"", status="204 No Content"), "empty_body"),
    broken("an error as the body", reply(body=b'{"error": {"message": "overloaded"}}'), "error_body"),
    broken("a list as the body", reply(body=b"[]"), "malformed_body"),
    broken("a stream that was not asked for", reply(body=STREAM, kind=EVENTS), "malformed_body"),
    Odd(
        "a redirection",
        reply("Location: http://127.0.0.1:1/", "Content-Length: 0", body=b"", status="302 Found"),
        "transport_error",
        "http_302",
    ),
    Odd(
        "HTTP 400", reply(body=b'{"error": {"message": "no"}}', status="400 Bad Request"), "transport_error", "http_400"
    ),
    Odd("HTTP 401", reply(body=b"{}", status="401 Unauthorized"), "transport_error", "http_401"),
    Odd(
        "HTTP 429",
        reply("retry-after-ms: 700", body=b"{}", status="429 Too Many Requests"),
        "transport_error",
        "http_429",
        also=lambda row: row["attempts"][0]["retry_after_s"] == 0.7,
    ),
    Odd(
        "HTTP 503 with a date",
        reply("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", body=b"{}", status="503 Service Unavailable"),
        "transport_error",
        "http_503",
        also=lambda row: row["attempts"][0]["retry_after_s"] == 0,
    ),
    Odd("what is not HTTP", b"GARBAGE\r\n\r\n", "transport_error", "malformed_http"),
    Odd("nothing", b"", "transport_error", "disconnected"),
]
