"""More odd ways of HTTP: what servers and proxies may send, and what they may not."""

from __future__ import annotations

import gzip
import json
import zlib

from support.odd_vendor import EVENTS, RIGHT, TEXT, Odd, broken, content, document, events, reply, streamed
from support.odd_vendor.streams import WHOLE

BODY = json.dumps(document()).encode()
STREAM = events(*WHOLE)

TRANSPORT = [
    Odd("100 Continue first", b"HTTP/1.1 100 Continue\r\n\r\n" + reply(body=BODY)),
    Odd("102 Processing first", b"HTTP/1.1 102 Processing\r\n\r\n" + reply(body=BODY)),
    Odd("HTTP/1.0", reply(body=BODY).replace(b"HTTP/1.1", b"HTTP/1.0")),
    Odd("no reason phrase", reply(body=BODY, status="200 ")),
    Odd("no reason phrase nor space", reply(body=BODY, status="200")),
    Odd("lower-case header names", reply(f"content-length: {len(BODY)}", body=BODY)),
    Odd(
        "chunk extension and trailer",
        reply("Transfer-Encoding: chunked", body=b"%x;x=y\r\n%s\r\n0\r\nX-Trailer: a\r\n\r\n" % (len(BODY), BODY)),
    ),
    Odd("header twice", reply("X-A: 1", "X-A: 2", "Set-Cookie: a=b", "Set-Cookie: c=d", body=BODY)),
    Odd("Content-Type twice", reply("Content-Type: application/json", body=BODY)),
    Odd("header with bytes", reply("X-A: søk", body=BODY)),
    Odd("type in capitals", reply(body=BODY, kind="APPLICATION/JSON; Charset=UTF-8")),
    Odd("problem+json", reply(body=BODY, kind="application/problem+json")),
    Odd("identity encoding", reply("Content-Encoding: identity", body=BODY)),
    Odd("GZIP in capitals", reply("Content-Encoding: GZIP", body=gzip.compress(BODY))),
    Odd(
        "gzip of two members", reply("Content-Encoding: gzip", body=gzip.compress(BODY[:40]) + gzip.compress(BODY[40:]))
    ),
    Odd("raw deflate", reply("Content-Encoding: deflate", body=zlib.compress(BODY)[2:-4])),
    broken(
        "gzip checksum wrong",
        reply("Content-Encoding: gzip", body=gzip.compress(BODY)[:-8] + b"\0" * 8),
        "undecodable_body",
    ),
    Odd("202", reply(body=BODY, status="202 Accepted")),
    Odd("206", reply(body=BODY, status="206 Partial")),
    Odd("304", reply("Content-Length: 0", body=b"", status="304 Not Modified"), "transport_error", "http_304"),
    Odd(
        "307 elsewhere",
        reply("Location: http://127.0.0.1:1/", "Content-Length: 0", body=b"", status="307 T"),
        "transport_error",
        "http_307",
    ),
    Odd("404 page", reply(body=b"<html>", kind="text/html", status="404 N"), "transport_error", "http_404"),
    Odd("413", reply(body=b"{}", status="413 N"), "transport_error", "http_413"),
    Odd("418", reply(body=b"{}", status="418 N"), "transport_error", "http_418"),
    Odd("500 with a whole answer", reply(body=BODY, status="500 N"), "transport_error", "http_500"),
    Odd("529", reply(body=b"{}", status="529 N"), "transport_error", "http_529"),
    Odd(
        "429 seconds",
        reply("Retry-After: 7", body=b"{}", status="429 N"),
        "transport_error",
        "http_429",
        also=lambda row: row["attempts"][0]["retry_after_s"] == 7,
    ),
    Odd(
        "429 negative",
        reply("Retry-After: -7", body=b"{}", status="429 N"),
        "transport_error",
        "http_429",
        also=lambda row: row["attempts"][0]["retry_after_s"] in (0, None),
    ),
    Odd(
        "429 words",
        reply("Retry-After: soon", body=b"{}", status="429 N"),
        "transport_error",
        "http_429",
        also=lambda row: row["attempts"][0]["retry_after_s"] is None,
    ),
    Odd(
        "429 in a stream body",
        reply("Retry-After: 2", body=STREAM, kind=EVENTS, status="429 N"),
        "transport_error",
        "http_429",
        request={"stream": True},
    ),
    Odd("799", reply("Content-Length: 0", body=b"", status="799 Odd"), "transport_error", "http_799"),
    Odd("429 that is cut", reply("Content-Length: 500", body=BODY, status="429 N"), "transport_error", "http_429"),
    Odd(
        "503 that cannot be unpacked",
        reply("Content-Encoding: br", body=BODY, status="503 N"),
        "transport_error",
        "http_503",
    ),
    Odd(
        "TLS",
        bytes([0x15, 3, 1, 0, 2, 2, 70]),
        "transport_error",
        "malformed_http",
        also=lambda row: "this looks like TLS: use https://" in row["problem"]["message"],
    ),
    Odd(
        "HTTP/2 alone",
        bytes([0, 0, 18, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100, 0, 4, 0, 1, 0, 0, 0, 5, 0, 255, 255, 255]),
        "transport_error",
        "malformed_http",
        also=lambda row: "this looks like a server of HTTP/2 alone" in row["problem"]["message"],
    ),
    Odd("a header that is none", b"HTTP/1.1 200 OK\r\nFoo bar\r\n\r\n", "transport_error", "malformed_http"),
    Odd(
        "a header without end",
        b"HTTP/1.1 200 OK\r\nFoo: " + b"x" * 100_000 + b"\r\n\r\n",
        "transport_error",
        "malformed_http",
    ),
    Odd(
        "a chunk that is none",
        reply("Transfer-Encoding: chunked", body=b"zz\r\nabc\r\n"),
        "transport_error",
        "malformed_http",
    ),
    broken("deep nesting", reply(body=b"[" * 4000), "malformed_body"),
    Odd("only headers", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", "transport_error", "disconnected"),
    broken("length without a body", reply(f"Content-Length: {len(BODY)}", body=b""), "cut_body"),
    Odd("a stream type for JSON", reply(body=BODY, kind=EVENTS), found="content_type_wrong"),
    broken("JSON lines", reply(body=BODY + b"\n" + BODY), "malformed_body"),
    broken("JSON in a prefix", reply(body=b")]}'," + BODY), "malformed_body"),
    broken("null", reply(body=b"null"), "malformed_body"),
    broken("JSON as a string", reply(body=json.dumps(BODY.decode()).encode()), "malformed_body"),
    broken("NUL bytes", reply(body=BODY + b"\0\0"), "malformed_body"),
    broken("xml", reply(body=b"<?xml version='1.0'?><error/>", kind="application/xml"), "html"),
    Odd("duplicate key in the completion", reply(body=BODY[:-1] + b', "model": "m"}')),
    Odd(f"{RIGHT}: x-gzip", reply("Content-Encoding: x-gzip", body=gzip.compress(BODY))),
    Odd(f"{RIGHT}: gzip in gzip", reply("Content-Encoding: gzip, gzip", body=gzip.compress(gzip.compress(BODY)))),
    Odd(
        f"{RIGHT}: deflate in gzip",
        reply("Content-Encoding: deflate", "Content-Encoding: gzip", body=gzip.compress(zlib.compress(BODY))),
    ),
    Odd(f"{RIGHT}: zeros behind gzip", reply("Content-Encoding: gzip", body=gzip.compress(BODY) + bytes(9))),
    Odd(
        "bytes behind gzip",
        reply("Content-Encoding: gzip", body=gzip.compress(BODY) + b"surplus"),
        found="bytes_after_body",
    ),
    broken("gzip without its end", reply("Content-Encoding: gzip", body=gzip.compress(BODY)[:-4]), "cut_body"),
    broken("deflate that is cut", reply("Content-Encoding: deflate", body=zlib.compress(BODY)[:60]), "cut_body"),
    broken("an encoding that is unknown", reply("Content-Encoding: compress", body=BODY), "undecodable_body"),
    streamed(
        "a stream in gzip without its end",
        reply("Content-Encoding: gzip", body=gzip.compress(STREAM)[:-4], kind=EVENTS),
        found="encoding_unfinished",
        also=lambda row: content(row) == TEXT,
    ),
    streamed(
        f"{RIGHT}: a stream by HTTP/1.0",
        reply(body=STREAM, kind=EVENTS).replace(b"HTTP/1.1", b"HTTP/1.0"),
        also=lambda row: content(row) == TEXT and row["ttft_ms"] is not None,
    ),
    streamed(
        f"{RIGHT}: a stream in x-gzip",
        reply("Content-Encoding: x-gzip", body=gzip.compress(STREAM), kind=EVENTS),
        also=lambda row: content(row) == TEXT,
    ),
]
