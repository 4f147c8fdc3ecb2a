"""Bodies of answers that are not streamed, and of errors, as far as dialects read them alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from trialbed.wire._exchange import Document
from trialbed.wire._json import parse_json
from trialbed.wire._readings import Reading, failed

SHOWN = 300
"""Bytes of a broken body that its message shows."""

JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json\b")


def read_object(body: bytes, content_type: str) -> Document | Reading:
    """The JSON object that a body is, or the reading of one that is none.

    Args:
        body: of a response with an HTTP status of 2xx.
        content_type: as the response gives it, in lower case.
    """
    if is_html(body, content_type):
        return failed("html", f"the body is HTML: {excerpt(body)}")
    if not body.strip():
        return failed("empty_body", "the body is empty")
    try:
        document = parse_json(body)
    except ValueError as error:
        return failed("malformed_body", f"the body is not JSON ({error}): {excerpt(body)}")
    if not isinstance(document, dict):
        return failed("malformed_body", f"the body is not a JSON object: {excerpt(body)}")
    return document


def body_reader(read: Callable[[Document, bytes], Reading]) -> Callable[..., Reading]:
    """Return a dialect's reader of answers that were not streamed, from its reader of their documents."""

    def read_body(body: bytes, content_type: str = "application/json") -> Reading:
        """Read an answer that was not streamed; its document is kept as it came, unknown fields too.

        Args:
            body: of a response with an HTTP status of 2xx.
            content_type: as the response gives it, in lower case.
        """
        document = read_object(body, content_type)
        if isinstance(document, Reading):
            return document
        reading, notes = read(document, body), oddities(body, content_type)
        return replace(reading, notes=tuple(notes), excerpts=notes) if notes else reading

    return read_body


def read_error(body: str) -> str:
    """Return the words of an error that came with a status of failure; the body where it says nothing else."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, LookupError, TypeError, RecursionError):
        return body


def is_html(body: bytes, content_type: str) -> bool:
    """Return whether a body is a web page; an object that is only called one is not."""
    first = body.lstrip()[:1]
    return first == b"<" or (content_type.startswith("text/html") and first != b"{")


def oddities(body: bytes, content_type: str) -> dict[str, str]:
    """Peculiarities of the bytes of a body, with their beginning."""
    found: dict[str, str] = {}
    encoding = json.detect_encoding(body)
    if encoding == "utf-8-sig":
        found["byte_order_mark"] = r"\xef\xbb\xbf"
    elif encoding != "utf-8":
        found["body_not_utf8"] = repr(body[:40])
    if not JSON_TYPE.match(content_type):
        found["content_type_wrong"] = content_type or "no content type"
    return found


def excerpt(body: bytes) -> str:
    """The beginning of a body or an event, for a message about it."""
    return body[:SHOWN].decode("utf-8", "replace")
